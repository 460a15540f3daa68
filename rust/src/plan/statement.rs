//! A statement of a plan: its text, and what is done with the rows that it gives.
//!
//! In JSON a statement that is run once is its text alone; another one is `{"text", "repeat"}`.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub text: String,
    /// `None`: once, and its rows are not looked at.
    pub repeat: Option<Repeat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeat {
    /// A query for statements: the text of every row is run.
    EachRow,
    /// Asked again until it gives no rows: what a server works on in the background is done.
    UntilNoRows,
}

/// As it is written where it is more than a text.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Repeated {
    text: String,
    repeat: Repeat,
}

/// How version 1 of a plan wrote what is `repeat` now: a comment in front of the text.
const VERSION_1: [(&str, Repeat); 2] =
    [("/* each */", Repeat::EachRow), ("/* until none */", Repeat::UntilNoRows)];

impl Statement {
    /// Takes the word of version 1 out of the text; true where there was one.
    pub(super) fn upgrade(&mut self) -> bool {
        let text = self.text.trim_start();
        let found = VERSION_1.iter().find_map(|(word, repeat)| Some((text.strip_prefix(word)?, *repeat)));
        let Some((rest, repeat)) = found else { return false };
        *self = Statement { text: rest.trim_start().to_owned(), repeat: Some(repeat) };
        true
    }
}

impl From<&str> for Statement {
    fn from(text: &str) -> Statement {
        Statement { text: text.to_owned(), repeat: None }
    }
}

impl Serialize for Statement {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.repeat {
            None => to.serialize_str(&self.text),
            Some(repeat) => Repeated { text: self.text.clone(), repeat }.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Statement {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Statement, D::Error> {
        from.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Statement;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a statement: a text, or an object of `text` and `repeat`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Statement, E> {
        Ok(Statement::from(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Statement, A::Error> {
        let Repeated { text, repeat } = Repeated::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Statement { text, repeat: Some(repeat) })
    }
}
