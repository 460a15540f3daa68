//! What stands around the rows of an answer: that a statement was done, how many columns follow, what each of them is.

use super::{AnswerColumn, Bytes, BIT, DECIMAL, NEWDECIMAL};

/// The server has done what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Okay {
    /// Rows stored, changed or deleted.
    pub affected: u64,
    pub warnings: u16,
    /// Another answer follows to the same statement.
    pub more: bool,
    /// A cursor is open, whose rows are fetched.
    pub cursor: bool,
    /// They have all been fetched.
    pub last_fetched: bool,
}

/// An OK packet, or the one that ends the rows of an answer.
pub fn okay(packet: &[u8]) -> Option<Okay> {
    const MORE_RESULTS: u16 = 8;
    const CURSOR_EXISTS: u16 = 64;
    const LAST_ROW_SENT: u16 = 128;
    let mut bytes = Bytes(packet);
    if !matches!(bytes.u8()?, 0x00 | 0xfe) {
        return None;
    }
    let affected = bytes.length()?;
    bytes.length()?; // last number of an AUTO_INCREMENT
    let status = bytes.u16()?;
    Some(Okay {
        affected,
        warnings: bytes.u16()?,
        more: status & MORE_RESULTS != 0,
        cursor: status & CURSOR_EXISTS != 0,
        last_fetched: status & LAST_ROW_SENT != 0,
    })
}

/// Whether a packet in the place of a row ends the rows.
pub fn ends_rows(packet: &[u8]) -> bool {
    packet.first() == Some(&0xfe) && packet.len() < 0xff_ffff
}

/// What follows a statement that gives rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub columns: u64,
    /// Their definitions follow.
    pub described: bool,
}

/// leaves_out: both sides have agreed that definitions may be left out, and each head says whether they are.
pub fn head(packet: &[u8], leaves_out: bool) -> Option<Head> {
    let mut bytes = Bytes(packet);
    let columns = bytes.length()?;
    let described = match leaves_out {
        false => true,
        true => match bytes.u8()? {
            0 => false,
            1 => true,
            _ => return None,
        },
    };
    Some(Head { columns, described })
}

/// Of an answer whose columns must be described: nothing else says what they are.
pub fn described_head(packet: &[u8], leaves_out: bool) -> Option<u64> {
    head(packet, leaves_out).filter(|head| head.described).map(|head| head.columns)
}

pub fn column(packet: &[u8]) -> Option<AnswerColumn> {
    const UNSIGNED: u16 = 32;
    let mut bytes = Bytes(packet);
    for _ in 0..3 {
        bytes.text()?; // catalogue, schema, table
    }
    let stored = !bytes.text()?.is_empty(); // the table's own name
    let name = String::from_utf8_lossy(bytes.text()?).into_owned();
    let named = !bytes.text()?.is_empty(); // the column's own name
    bytes.take(1 + 2 + 4)?; // length of what follows, character set, width
    let ty = bytes.u8()?;
    let unsigned = bytes.u16()? & UNSIGNED != 0;
    // What a table has in a column is of one type in every answer; an expression's follows its parameters.
    let is_fixed = stored && named && ty != BIT;
    Some(AnswerColumn { name, ty, unsigned, scaled: stored && matches!(ty, DECIMAL | NEWDECIMAL), is_fixed })
}

/// A prepared statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreparedHead {
    pub id: u32,
    /// So many definitions follow, of parameters and then of columns.
    pub params: usize,
    pub columns: usize,
}

pub fn prepared(packet: &[u8]) -> Option<PreparedHead> {
    let mut bytes = Bytes(packet);
    if bytes.u8()? != 0 {
        return None;
    }
    let id = bytes.u32()?;
    let (columns, params) = (bytes.u16()? as usize, bytes.u16()? as usize);
    // Prepared while nothing was left out; what MySQL says about it behind the warnings is not looked at.
    Some(PreparedHead { id, params, columns })
}
