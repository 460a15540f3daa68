//! A call by key that sets a whole row: its command, and what the answer says.
//!
//! The server itself judges whether the row was there, in the command that sets it: so no other session comes between. An
//! insert is `HSETNX`, a write `HSET`. No command changes a field only where there is one, so an update is a script, which
//! the server runs as one command.

use crate::engine::resp::{garbled, Connection, Reply};
use crate::engine::shared::lost;
use crate::engine::socket::CONNECT;
use inrush_rows::encode::resp::{bulk, head, RespCall};
use inrush_rows::error::Error;
use inrush_rows::plan::{RecordCall, RowCall, TablePlan};
use inrush_rows::rows::Value;

use std::time::Instant;

/// 1: the row was there, and is the new one; 0: it was not, and is not.
const UPDATE: &str = "if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end \
    redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) return 1";

pub struct Change {
    does: RowCall,
    /// The command up to its key.
    front: Vec<u8>,
    row: RespCall,
}

impl Change {
    pub fn of(record: &RecordCall, table: &TablePlan) -> Result<Change, Error> {
        let row = RespCall::new(table, &record.columns)?;
        let front = match record.does {
            RowCall::Insert => command(&["HSETNX"], 3),
            RowCall::Write => command(&["HSET"], 3),
            // Complete when the server has said how it names the script.
            RowCall::Update => Vec::new(),
            RowCall::Read | RowCall::Delete => {
                return Err(Error::Plan(format!(
                    "table {}: `record` sets whole rows, and {:?} sets none",
                    table.name, record.does
                )))
            }
        };
        Ok(Change { does: record.does, front, row })
    }

    /// Gives the server of this connection what the calls need: they end with `NOSCRIPT` where it has not got it.
    pub fn begin(&mut self, connection: &mut Connection, target: &str) -> Result<(), Error> {
        if self.does != RowCall::Update {
            return Ok(());
        }
        let failed = |message: String| Error::Statement {
            target: target.to_owned(),
            statement: format!("SCRIPT LOAD \"{UPDATE}\""),
            message,
        };
        match connection.ask(&["SCRIPT", "LOAD", UPDATE], Some(Instant::now() + CONNECT)) {
            Ok(Reply::Text(digest)) => self.front = command(&["EVALSHA", &digest, "1"], 3),
            Ok(Reply::Error(message)) => return Err(failed(message)),
            Ok(other) => return Err(failed(format!("the name of a script is no text: {other:?}"))),
            Err(error) => return Err(lost(target, &error)),
        }
        Ok(())
    }

    /// Appends the command. Fails, and appends nothing, where the parameters do not fit.
    #[inline]
    pub fn bound(&mut self, params: &[Value], out: &mut Vec<u8>) -> Result<(), String> {
        if params.len() != self.row.params() {
            return Err(format!("{} parameters for {} columns", params.len(), self.row.params()));
        }
        let before = out.len();
        out.extend_from_slice(&self.front);
        self.row.put(params, out).inspect_err(|_| out.truncate(before))
    }

    /// Rows that the call has set, of the number that answers it.
    #[inline]
    pub fn rows(&self, answer: i64) -> std::io::Result<u64> {
        match (answer, self.does) {
            // The number of new fields: 0 where a row has taken the place of one of equal identity.
            (0 | 1, RowCall::Write) => Ok(1),
            (0 | 1, _) => Ok(answer as u64),
            _ => Err(garbled("a call of one row was answered with more")),
        }
    }
}

/// The front of a command of fixed words and `more` others.
fn command(words: &[&str], more: usize) -> Vec<u8> {
    let mut front = Vec::new();
    head(&mut front, b'*', words.len() + more);
    words.iter().for_each(|word| bulk(&mut front, word.as_bytes()));
    front
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn table() -> TablePlan {
        let columns = ["k", "v"].map(|name| json!({"name": name, "type": "i64", "wire": ""}));
        serde_json::from_value(json!({
            "name": "t", "stream": "t", "columns": columns, "identity": ["k"],
            "source": {"kind": "generated", "series": 1, "period_ns": 1},
        }))
        .unwrap()
    }

    fn change(does: RowCall) -> Result<Change, Error> {
        let columns = ["v", "k"].map(String::from).to_vec();
        Change::of(&RecordCall { does, table: "t".into(), columns }, &table())
    }

    #[test]
    fn a_row_is_set_by_the_command_that_judges_whether_it_was_there() {
        for (does, says) in [
            (RowCall::Insert, "*4\r\n$6\r\nHSETNX\r\n$3\r\nt/7\r\n$0\r\n\r\n$17\r\n"),
            (RowCall::Write, "*4\r\n$4\r\nHSET\r\n$3\r\nt/7\r\n$0\r\n\r\n$17\r\n"),
        ] {
            let mut out = Vec::new();
            change(does).unwrap().bound(&[Value::I64(1), Value::I64(7)], &mut out).unwrap();
            let (front, row) = out.split_at(says.len());
            assert_eq!(std::str::from_utf8(front).unwrap(), says);
            assert_eq!(row, [&b"\0"[..], &7i64.to_le_bytes(), &1i64.to_le_bytes(), b"\r\n"].concat());
        }
        for does in [RowCall::Read, RowCall::Delete] {
            assert!(change(does).err().is_some_and(|e| e.to_string().contains("sets whole rows")));
        }
    }

    #[test]
    fn what_does_not_fit_leaves_no_part_of_a_command_behind() {
        let mut insert = change(RowCall::Insert).unwrap();
        for params in [vec![Value::I64(1)], vec![Value::F64(1.0), Value::I64(7)]] {
            let mut out = b"before".to_vec();
            insert.bound(&params, &mut out).unwrap_err();
            assert_eq!(out, b"before");
        }
    }

    #[test]
    fn only_a_write_has_set_a_row_whatever_was_there() {
        for (does, of_none, of_one) in
            [(RowCall::Insert, 0, 1), (RowCall::Update, 0, 1), (RowCall::Write, 1, 1)]
        {
            let change = change(does).unwrap();
            assert_eq!([change.rows(0).unwrap(), change.rows(1).unwrap()], [of_none, of_one], "{does:?}");
            assert!(change.rows(2).is_err() && change.rows(-1).is_err());
        }
    }
}
