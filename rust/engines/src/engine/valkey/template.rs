//! Statements: a command a line, written as `valkey-cli` takes them, with `$1` for the first parameter.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use inrush_rows::encode::resp::{bulk, head, key_text};
use inrush_rows::rows::Value;

/// The commands of a statement.
#[derive(Debug, PartialEq)]
pub struct Template {
    commands: Vec<Command>,
    params: usize,
}

/// Ready but for the words that have parameters.
type Command = Vec<Part>;

#[derive(Debug, PartialEq)]
enum Part {
    /// As it is sent: marks, lengths and words.
    Bytes(Vec<u8>),
    Word(Vec<Piece>),
}

/// What binding needs besides; its memory is kept.
#[derive(Default)]
pub struct Scratch {
    /// The word that is being made: its length stands in front of it.
    word: Vec<u8>,
    seen: Seen,
}

/// Commands of one call, by their hash: where each begins and ends.
#[derive(Default)]
struct Seen {
    hasher: RandomState,
    places: HashMap<u64, Range<usize>>,
}

impl Seen {
    /// Whether the command in `out[place]` is none of those before it; two of one hash count as different.
    fn is_new(&mut self, out: &[u8], place: Range<usize>) -> bool {
        let hash = self.hasher.hash_one(&out[place.clone()]);
        let before = self.places.entry(hash).or_insert_with(|| place.clone());
        *before == place || out[before.clone()] != out[place]
    }
}

/// Words are made of these.
#[derive(Debug, PartialEq)]
enum Piece {
    Text(Vec<u8>),
    /// Number of a parameter, from 0.
    Param(usize),
}

impl Template {
    /// Words are separated by blanks. A word in double quotes is taken as it is, but for `\"`, `\\` and `\n`; in all others
    /// `$1` is a parameter. Fails with what is wrong.
    pub fn parse(text: &str) -> Result<Template, String> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let commands = lines.map(words).collect::<Result<Vec<_>, _>>()?;
        match commands.is_empty() {
            true => Err("a statement has one command at least".into()),
            false => {
                let pieces = commands.iter().flatten().flatten();
                let numbers = pieces.map(|piece| if let Piece::Param(at) = piece { at + 1 } else { 0 });
                let params = numbers.max().unwrap_or(0);
                Ok(Template { commands: commands.into_iter().map(command).collect(), params })
            }
        }
    }

    pub fn commands(&self) -> usize {
        self.commands.len()
    }

    /// Parameters that a call must have.
    pub fn params(&self) -> usize {
        self.params
    }

    /// Appends the commands with these parameters. Fails, and appends nothing, where there are too few.
    pub fn bound(&self, params: &[Value], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<(), String> {
        self.suits(params)?;
        self.commands.iter().for_each(|command| put(command, params, out, &mut scratch.word));
        Ok(())
    }

    /// As `bound`, a command that stands there already left out: a key that a list has twice is looked up once, as by
    /// SQL's `IN`. The number of commands.
    pub fn bound_once(
        &self,
        params: &[Value],
        out: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<usize, String> {
        self.suits(params)?;
        let Scratch { word, seen } = scratch;
        if let [only] = self.commands.as_slice() {
            put(only, params, out, word);
            return Ok(1);
        }
        seen.places.clear();
        let mut commands = 0;
        for command in &self.commands {
            let start = out.len();
            put(command, params, out, word);
            match seen.is_new(out, start..out.len()) {
                true => commands += 1,
                false => out.truncate(start),
            }
        }
        Ok(commands)
    }

    fn suits(&self, params: &[Value]) -> Result<(), String> {
        match params.len() < self.params {
            true => Err(format!("{} parameters for {} places", params.len(), self.params)),
            false => Ok(()),
        }
    }
}

fn put(command: &[Part], params: &[Value], out: &mut Vec<u8>, word: &mut Vec<u8>) {
    for part in command {
        match part {
            Part::Bytes(bytes) => out.extend_from_slice(bytes),
            Part::Word(pieces) => {
                word.clear();
                for piece in pieces {
                    match piece {
                        Piece::Text(text) => word.extend_from_slice(text),
                        Piece::Param(at) => key_text(&params[*at], word),
                    }
                }
                bulk(out, word);
            }
        }
    }
}

fn command(words: Vec<Vec<Piece>>) -> Command {
    let (mut parts, mut bytes) = (Vec::new(), Vec::new());
    head(&mut bytes, b'*', words.len());
    for pieces in words {
        match pieces.as_slice() {
            [Piece::Text(text)] => bulk(&mut bytes, text),
            _ => parts.extend([Part::Bytes(std::mem::take(&mut bytes)), Part::Word(pieces)]),
        }
    }
    parts.push(Part::Bytes(bytes));
    parts.retain(|part| !matches!(part, Part::Bytes(bytes) if bytes.is_empty()));
    parts
}

fn words(line: &str) -> Result<Vec<Vec<Piece>>, String> {
    let (mut found, mut rest) = (Vec::new(), line);
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_word(quoted).ok_or_else(|| format!("a quote does not end: {line}"))?,
            None => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                (plain_word(&rest[..end]), &rest[end..])
            }
        };
        found.push(word);
        rest = after.trim_start();
    }
    Ok(found)
}

/// Behind the first quote: the word, and what follows its last one.
fn quoted_word(text: &str) -> Option<(Vec<Piece>, &str)> {
    let (mut word, mut escaped) = (Vec::new(), false);
    for (at, byte) in text.bytes().enumerate() {
        match (byte, std::mem::take(&mut escaped)) {
            (b'n', true) => word.push(b'\n'),
            (byte, true) => word.push(byte),
            (b'\\', false) => escaped = true,
            (b'"', false) => return Some((vec![Piece::Text(word)], &text[at + 1..])),
            (byte, false) => word.push(byte),
        }
    }
    None
}

fn plain_word(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let digits = rest[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        let (before, after) = rest.split_at(at + 1 + digits);
        match before[at + 1..].parse::<usize>() {
            Ok(number @ 1..) => {
                text_piece(&mut pieces, &before[..at]);
                pieces.push(Piece::Param(number - 1));
            }
            _ => text_piece(&mut pieces, before),
        }
        rest = after;
    }
    text_piece(&mut pieces, rest);
    pieces
}

fn text_piece(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(Piece::Text(before)) => before.extend_from_slice(text.as_bytes()),
        _ => pieces.push(Piece::Text(text.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(text: &str, params: &[Value]) -> Result<String, String> {
        let mut out = Vec::new();
        Template::parse(text)?.bound(params, &mut out, &mut Scratch::default())?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_command_a_line_with_its_parameters() {
        let text = "HGET t/$1 $2,x\n  HVALS t/$1$2 \n";
        let params = [Value::U64(u64::MAX), Value::Text("é $1".into())];
        assert_eq!(
            bound(text, &params).unwrap(),
            "*3\r\n$4\r\nHGET\r\n$22\r\nt/18446744073709551615\r\n$7\r\né $1,x\r\n\
             *2\r\n$5\r\nHVALS\r\n$27\r\nt/18446744073709551615é $1\r\n"
        );
        assert_eq!(Template::parse(text).unwrap().params(), 2);
        assert!(bound(text, &params[..1]).unwrap_err().contains("1 parameters for 2"));
    }

    #[test]
    fn a_key_that_a_list_has_twice_is_looked_up_once() {
        let template = Template::parse("HVALS t/$1\nHVALS t/$2\nHVALS t/$3").unwrap();
        let (mut out, mut scratch) = (Vec::new(), Scratch::default());
        for (keys, left) in [([1, 2, 1], vec![1, 2]), ([3, 3, 3], vec![3]), ([1, 2, 3], vec![1, 2, 3])] {
            out.clear();
            let commands = template.bound_once(&keys.map(Value::I64), &mut out, &mut scratch).unwrap();
            let expected: String =
                left.iter().map(|k| format!("*2\r\n$5\r\nHVALS\r\n$3\r\nt/{k}\r\n")).collect();
            assert_eq!((commands, String::from_utf8(out.clone()).unwrap()), (left.len(), expected));
        }
    }

    #[test]
    fn a_quoted_word_is_taken_as_it_is() {
        assert_eq!(
            bound(r#"EVAL "return '\"$1\\\n'" 0 cost$ $0"#, &[]).unwrap(),
            "*5\r\n$4\r\nEVAL\r\n$14\r\nreturn '\"$1\\\n'\r\n$1\r\n0\r\n$5\r\ncost$\r\n$2\r\n$0\r\n"
        );
        assert_eq!(
            bound(r#"SET k/$1 "" EX 10"#, &[Value::I64(7)]).unwrap(),
            "*5\r\n$3\r\nSET\r\n$3\r\nk/7\r\n$0\r\n\r\n$2\r\nEX\r\n$2\r\n10\r\n"
        );
        assert!(bound("EVAL \"return", &[]).unwrap_err().contains("does not end"));
        assert!(bound(" \n", &[]).unwrap_err().contains("one command"));
    }
}
