//! Reading a table back: the keys of its rows, then their values.

use std::io;

use super::ValkeySession;
use crate::engine::messages::{self, Messages};
use crate::engine::resp::{put_command, Kind, Reply};
use crate::engine::shared::{lost, ReadBack};
use crate::engine::valkey::template::Template;
use inrush_rows::encode::resp::unpack;
use inrush_rows::error::Error;
use inrush_rows::plan::Statement;
use inrush_rows::rows::{Columns, Value};

/// Keys of a scan that are asked for at once.
const SCAN_KEYS: usize = 512;

impl ValkeySession {
    pub(super) fn read_back(
        &mut self,
        statement: &Statement,
        like: &Columns,
        each: &mut dyn FnMut(&Columns),
    ) -> Result<u64, Error> {
        let text = statement.text.as_str();
        let keys = self.keys(text)?;
        let address = self.address.to_string();
        let lost = |e: io::Error| lost(&address, &e);
        let failed = |message: &str| Error::Statement {
            target: address.clone(),
            statement: text.into(),
            message: message.into(),
        };
        let (mut read, mut out) = (ReadBack::new(like, each), Vec::new());
        for some in keys.chunks(SCAN_KEYS) {
            out.clear();
            some.iter().for_each(|key| put_command(&mut out, &["HVALS", key]));
            self.connection.send(&out).map_err(lost)?;
            let mut left = some.len() as u64;
            while left > 0 {
                let token = self.connection.token(None).map_err(lost)?;
                left -= 1;
                match token.kind {
                    Kind::Array(count) => left = left.saturating_add(count as u64),
                    Kind::Text => unpack(token.bytes, &mut read.batch)
                        .ok_or_else(|| failed("a row could not be unpacked"))?,
                    Kind::Error => return Err(failed(&String::from_utf8_lossy(token.bytes))),
                    _ => return Err(failed("a row came that is no text")),
                }
                read.added();
            }
        }
        Ok(read.end())
    }

    /// The keys that a statement of one command returns.
    fn keys(&mut self, text: &str) -> Result<Vec<String>, Error> {
        let address = self.address.to_string();
        let failed =
            |message: String| Error::Statement { target: address.clone(), statement: text.into(), message };
        let mut out = Vec::new();
        Template::parse(text)
            .and_then(|commands| commands.bound(&[], &mut out, &mut self.scratch))
            .map_err(failed)?;
        messages::drain(self).and_then(|()| self.connection.send(&out)).map_err(|e| lost(&address, &e))?;
        let key = |row: Vec<Value>| match row.into_iter().next() {
            Some(Value::Text(key)) => Ok(key),
            other => Err(failed(format!("a key is no text: {other:?}"))),
        };
        match self.connection.reply(None).map_err(|e| lost(&address, &e))? {
            Reply::Error(message) => Err(failed(message)),
            reply => reply.answer().rows.into_iter().map(key).collect(),
        }
    }
}
