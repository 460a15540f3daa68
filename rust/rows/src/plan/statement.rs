//! A statement of a plan: its text, and what is done with the rows that it gives.
//!
//! In JSON a statement that is run once and as it is written is its text alone; another one is an object.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::directives::Directives;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statement {
    pub text: String,
    /// `None`: once, and its rows are not looked at.
    pub repeat: Option<Repeat>,
    pub directives: Option<Directives>,
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
struct Detailed {
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repeat: Option<Repeat>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    directives: Option<Directives>,
}

impl Statement {
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

impl From<&str> for Statement {
    fn from(text: &str) -> Statement {
        Statement { text: text.to_owned(), ..Statement::default() }
    }
}

impl Serialize for Statement {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.repeat.is_none() && self.directives.is_none() {
            return to.serialize_str(&self.text);
        }
        let Statement { text, repeat, directives } = self.clone();
        Detailed { text, repeat, directives }.serialize(to)
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
        f.write_str("a statement: a text, or an object of `text`, `repeat` and `directives`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Statement, E> {
        Ok(Statement::from(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Statement, A::Error> {
        let Detailed { text, repeat, directives } = Detailed::deserialize(MapAccessDeserializer::new(map))?;
        if repeat.is_none() && directives.is_none() {
            return Err(de::Error::custom(
                "a statement with neither `repeat` nor `directives` is a text alone",
            ));
        }
        Ok(Statement { text, repeat, directives })
    }
}
