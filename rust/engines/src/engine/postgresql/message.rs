//! Messages to the server (protocol 3.0). Pure: each appends to a buffer.

use inrush_rows::encode::pgcopy::{numeric, PgType, POSTGRES_EPOCH_US};
use inrush_rows::plan::LogicalType;
use inrush_rows::rows::Value;
use inrush_rows::types::hex::hex_bytes;
use inrush_rows::types::{Holds, Spelled, Visitor};

/// One message: tag, length (its own four bytes included), body.
fn message(out: &mut Vec<u8>, tag: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    sized(out, 4, body);
}

/// A body behind its length; `own` of the length's own bytes count.
fn sized(out: &mut Vec<u8>, own: usize, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = (out.len() - start - 4 + own) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

fn text(out: &mut Vec<u8>, text: &str) {
    // A NUL would end the text early for the server, and change the statement.
    match text.as_bytes().contains(&0) {
        true => out.extend(text.bytes().filter(|&byte| byte != 0)),
        false => out.extend_from_slice(text.as_bytes()),
    }
    out.push(0);
}

fn count(out: &mut Vec<u8>, n: usize) {
    out.extend_from_slice(&(n as u16).to_be_bytes());
}

/// asked: settings that an address asks for, before ours of the same name.
pub fn startup(out: &mut Vec<u8>, user: &str, database: &str, asked: &[(&'static str, String)]) {
    const PROTOCOL_3_0: u32 = 3 << 16;
    let settings = [
        ("user", user),
        ("database", database),
        ("application_name", "inrush"),
        ("client_encoding", "UTF8"),
        ("DateStyle", "ISO"),
        ("TimeZone", "UTC"),
    ];
    sized(out, 4, |out| {
        out.extend_from_slice(&PROTOCOL_3_0.to_be_bytes());
        let asked = asked.iter().map(|(name, value)| (*name, value.as_str()));
        let ours = settings.into_iter().filter(|(name, _)| !asked.clone().any(|(asked, _)| asked == *name));
        for (name, value) in ours.chain(asked.clone()) {
            text(out, name);
            text(out, value);
        }
        out.push(0);
    });
}

/// Before everything else, if at all; the answer is one byte, `S` or `N`.
pub fn ask_for_tls(out: &mut Vec<u8>) {
    const TLS: u32 = 80_877_103;
    for word in [8, TLS] {
        out.extend_from_slice(&word.to_be_bytes());
    }
}

/// On a connection of its own: ends what the session with this key is doing.
pub fn cancel(out: &mut Vec<u8>, process: u32, secret: u32) {
    const CANCEL: u32 = 80_877_102;
    for word in [16, CANCEL, process, secret] {
        out.extend_from_slice(&word.to_be_bytes());
    }
}

pub fn password(out: &mut Vec<u8>, password: &str) {
    message(out, b'p', |out| text(out, password));
}

pub fn sasl_first(out: &mut Vec<u8>, mechanism: &str, data: &[u8]) {
    message(out, b'p', |out| {
        text(out, mechanism);
        sized(out, 0, |out| out.extend_from_slice(data));
    });
}

pub fn sasl_next(out: &mut Vec<u8>, data: &[u8]) {
    message(out, b'p', |out| out.extend_from_slice(data));
}

/// Simple protocol: statements as text, answers as text.
pub fn query(out: &mut Vec<u8>, statement: &str) {
    message(out, b'Q', |out| text(out, statement));
}

pub fn parse(out: &mut Vec<u8>, name: &str, statement: &str, types: &[PgType]) {
    message(out, b'P', |out| {
        text(out, name);
        text(out, statement);
        count(out, types.len());
        for ty in types {
            out.extend_from_slice(&ty.oid().to_be_bytes());
        }
    });
}

/// A query without parameters, whose rows come in binary.
pub fn binary_query(out: &mut Vec<u8>, statement: &str) {
    parse(out, "", statement, &[]);
    let nothing: Result<(), std::convert::Infallible> = bind(out, "", 0, &[Format::Binary], |_| Ok(()));
    let Ok(()) = nothing;
    execute(out);
    sync(out);
}

pub fn describe(out: &mut Vec<u8>, name: &str) {
    message(out, b'D', |out| {
        out.push(b'S');
        text(out, name);
    });
}

/// Binary parameters written by `cells`; results in `formats` (empty: there are none).
pub fn bind<E>(
    out: &mut Vec<u8>,
    name: &str,
    params: usize,
    formats: &[Format],
    cells: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let mut outcome = Ok(());
    message(out, b'B', |out| {
        text(out, ""); // unnamed portal
        text(out, name);
        count(out, 1);
        count(out, Format::Binary as usize); // for all parameters
        count(out, params);
        outcome = cells(out);
        count(out, formats.len());
        for format in formats {
            count(out, *format as usize);
        }
    });
    outcome
}

/// Bind and Execute of a prepared statement, as every call of it sends them but for its parameters.
pub struct Call {
    /// Bind, up to its parameters, and what is sent before it.
    head: Vec<u8>,
    /// Bytes before Bind.
    before: usize,
    /// The formats of results, and Execute.
    tail: Vec<u8>,
    /// Of `tail`, those of Bind.
    formats: usize,
}

impl Call {
    /// parse: what each call sends first; nothing where the session keeps the statement.
    pub fn new(parse: &[u8], name: &str, params: usize, formats: &[Format]) -> Call {
        let (mut head, mut at) = (parse.to_vec(), 0);
        let bound: Result<(), std::convert::Infallible> = bind(&mut head, name, params, formats, |out| {
            at = out.len();
            Ok(())
        });
        let Ok(()) = bound;
        let mut tail = head.split_off(at);
        let formats = tail.len();
        execute(&mut tail);
        Call { head, before: parse.len(), tail, formats }
    }

    /// With the parameters that `cells` writes; nothing is written where it fails.
    #[inline]
    pub fn write<E>(
        &self,
        out: &mut Vec<u8>,
        cells: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = out.len();
        out.extend_from_slice(&self.head);
        if let Err(why) = cells(out) {
            out.truncate(start);
            return Err(why);
        }
        let bound = start + self.before + 1;
        let length = (out.len() - bound + self.formats) as u32;
        out[bound..bound + 4].copy_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&self.tail);
        Ok(())
    }
}

pub fn execute(out: &mut Vec<u8>) {
    execute_rows(out, 0);
}

/// The next `rows` of the portal; 0: all that are left.
pub fn execute_rows(out: &mut Vec<u8>, rows: u32) {
    message(out, b'E', |out| {
        text(out, ""); // unnamed portal
        out.extend_from_slice(&rows.to_be_bytes());
    });
}

/// What the server has is sent; the transaction goes on.
pub fn flush(out: &mut Vec<u8>) {
    message(out, b'H', |_| ());
}

pub fn sync(out: &mut Vec<u8>) {
    message(out, b'S', |_| ());
}

pub fn terminate(out: &mut Vec<u8>) {
    message(out, b'X', |_| ());
}

pub const COPY_DONE: [u8; 5] = [b'c', 0, 0, 0, 4];

/// What precedes `bytes` of COPY data.
pub fn copy_data_head(bytes: usize) -> [u8; 5] {
    let length = (bytes as u32 + 4).to_be_bytes();
    [b'd', length[0], length[1], length[2], length[3]]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text = 0,
    Binary = 1,
}

/// A parameter as `ty`, length word first; an error says what does not fit.
pub fn param(out: &mut Vec<u8>, value: &Value, ty: LogicalType) -> Result<(), String> {
    if *value == Value::Null {
        out.extend_from_slice(&(-1i32).to_be_bytes());
        return Ok(());
    }
    let unfit = || format!("parameter {value:?} is not a {ty:?}");
    let whole = || whole(value).ok_or_else(unfit);
    if !ty.entry().bound && ty != LogicalType::Blob {
        return Err(format!("parameter {value:?}: {} are not bound as parameters", ty.entry().many));
    }
    let text = || match value {
        Value::Text(v) => Ok(v.as_bytes()),
        _ => Err(unfit()),
    };
    match (ty, ty.holds()) {
        (_, Holds::Truth) => match value {
            Value::Bool(v) => cell(out, &[u8::from(*v)]),
            _ => return Err(unfit()),
        },
        (_, Holds::Signed(16) | Holds::Unsigned(8)) => {
            cell(out, &i16::try_from(whole()?).map_err(|_| unfit())?.to_be_bytes())
        }
        (_, Holds::Signed(32) | Holds::Unsigned(16)) => {
            cell(out, &i32::try_from(whole()?).map_err(|_| unfit())?.to_be_bytes())
        }
        (_, Holds::Signed(_) | Holds::Unsigned(_)) => cell(out, &whole()?.to_be_bytes()),
        (_, Holds::Float(32)) => cell(out, &(float(value).ok_or_else(unfit)? as f32).to_be_bytes()),
        (_, Holds::Float(_)) => cell(out, &float(value).ok_or_else(unfit)?.to_be_bytes()),
        (_, Holds::Time(_)) => {
            let us = time_us(value, ty).and_then(|us| us.checked_sub(POSTGRES_EPOCH_US)).ok_or_else(unfit)?;
            cell(out, &us.to_be_bytes());
        }
        (_, Holds::Bytes) => cell(out, &hex_bytes(text()?).ok_or_else(unfit)?),
        (LogicalType::Decimal, _) => cell(out, &numeric(text()?).ok_or_else(unfit)?),
        (_, Holds::Text) => cell(out, text()?),
        (_, Holds::Spelled) => ty.visit(Param { text: text()?, out }).ok_or_else(unfit)?,
        (_, Holds::Bits | Holds::List(_)) => unreachable!("they are not bound"),
    }
    Ok(())
}

/// A parameter of a spelled type; `None`, and nothing, where the text says no value of it.
struct Param<'a> {
    text: &'a [u8],
    out: &'a mut Vec<u8>,
}

impl Visitor for Param<'_> {
    type Out = Option<()>;

    fn of<T: Spelled>(self) -> Option<()> {
        cell(self.out, T::cell(self.text)?.as_ref());
        Some(())
    }
}

fn cell(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Unsigned values keep their bits.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::I64(v) => Some(*v),
        Value::U64(v) => Some(*v as i64),
        _ => None,
    }
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::F64(v) => Some(*v),
        Value::I64(v) => Some(*v as f64),
        _ => None,
    }
}

/// A bare number is in the parameter's own unit.
fn time_us(value: &Value, ty: LogicalType) -> Option<i64> {
    match value {
        Value::TimeMs(v) => v.checked_mul(1000),
        Value::TimeUs(v) => Some(*v),
        Value::I64(v) if ty == LogicalType::TimeMs => v.checked_mul(1000),
        Value::I64(v) => Some(*v),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_carries_its_length() {
        let mut out = Vec::new();
        query(&mut out, "SELECT 1");
        assert_eq!(out, b"Q\0\0\0\x0dSELECT 1\0");
        out.clear();
        sync(&mut out);
        assert_eq!(out, b"S\0\0\0\x04");
        assert_eq!(copy_data_head(10), *b"d\0\0\0\x0e");
    }

    #[test]
    fn a_bind_holds_its_parameters_in_binary() {
        let mut out = Vec::new();
        let params = |out: &mut Vec<u8>| param(out, &Value::U64(u64::MAX), LogicalType::U64);
        bind(&mut out, "q", 1, &[Format::Binary], params).unwrap();
        let body = b"\0q\0\0\x01\0\x01\0\x01\0\0\0\x08\xff\xff\xff\xff\xff\xff\xff\xff\0\x01\0\x01";
        assert_eq!(out[5..], body[..]);
        assert_eq!(out[..5], [b'B', 0, 0, 0, body.len() as u8 + 4]);
    }

    #[test]
    fn a_call_is_what_bind_and_execute_are_and_one_that_fails_is_none_of_it() {
        for (parse, count, formats) in [
            (&b""[..], 0, vec![]),
            (b"", 1, vec![Format::Binary]),
            (b"a statement", 2, vec![Format::Text, Format::Binary]),
        ] {
            let cells = |out: &mut Vec<u8>| -> Result<(), String> {
                (0..count).try_for_each(|k| param(out, &Value::I64(k), LogicalType::I64))
            };
            let mut expected = [b"before", parse].concat();
            bind(&mut expected, "q7", count as usize, &formats, cells).unwrap();
            execute(&mut expected);
            let mut out = b"before".to_vec();
            let call = Call::new(parse, "q7", count as usize, &formats);
            call.write(&mut out, cells).unwrap();
            assert_eq!(out, expected);
            call.write(&mut out, |out| param(out, &Value::I64(1 << 40), LogicalType::I32)).unwrap_err();
            assert_eq!(out, expected, "nothing of a call that does not fit is sent");
        }
    }

    #[test]
    fn a_parameter_that_does_not_fit_is_refused() {
        let mut out = Vec::new();
        assert!(param(&mut out, &Value::I64(1 << 40), LogicalType::I32)
            .unwrap_err()
            .contains("is not a I32"));
        assert!(param(&mut out, &Value::TimeMs(i64::MAX), LogicalType::TimeMs).is_err());
        assert!(param(&mut out, &Value::Text("1".into()), LogicalType::I64).is_err());
        assert!(out.is_empty(), "nothing of a refused parameter is sent");
    }

    #[test]
    fn times_count_from_2000() {
        let mut out = Vec::new();
        param(&mut out, &Value::TimeMs(946_684_800_001), LogicalType::TimeMs).unwrap();
        assert_eq!(out, [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 3, 232]);
    }
}
