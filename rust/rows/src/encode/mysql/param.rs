//! Parameters of prepared statements.

use super::{length, Day, LENGTH_BYTES, TIME_BYTES};
use crate::plan::LogicalType;
use crate::rows::Value;

/// A parameter as `ty`, appended; an error says what does not fit. NULL appends nothing.
pub fn param(out: &mut Vec<u8>, value: &Value, ty: LogicalType) -> Result<(), String> {
    let unfit = || format!("parameter {value:?} is not a {ty:?}");
    let whole = || match value {
        Value::I64(v) => Ok(*v),
        Value::U64(v) if ty == LogicalType::U64 => Ok(*v as i64),
        Value::U64(v) => i64::try_from(*v).map_err(|_| unfit()),
        _ => Err(unfit()),
    };
    let float = || match value {
        Value::F64(v) if v.is_finite() => Ok(*v),
        Value::I64(v) => Ok(*v as f64),
        _ => Err(unfit()),
    };
    match (ty, value) {
        (_, Value::Null) => {}
        (LogicalType::Bool, Value::Bool(v)) => out.push(u8::from(*v)),
        (LogicalType::I16, _) => {
            out.extend_from_slice(&i16::try_from(whole()?).map_err(|_| unfit())?.to_le_bytes());
        }
        (LogicalType::I32, _) => {
            out.extend_from_slice(&i32::try_from(whole()?).map_err(|_| unfit())?.to_le_bytes());
        }
        (LogicalType::U8, _) => out.push(u8::try_from(whole()?).map_err(|_| unfit())?),
        (LogicalType::U16, _) => {
            out.extend_from_slice(&u16::try_from(whole()?).map_err(|_| unfit())?.to_le_bytes());
        }
        (LogicalType::U32, _) => {
            out.extend_from_slice(&u32::try_from(whole()?).map_err(|_| unfit())?.to_le_bytes());
        }
        (LogicalType::I64 | LogicalType::U64, _) => out.extend_from_slice(&whole()?.to_le_bytes()),
        (LogicalType::F32, _) => out.extend_from_slice(&(float()? as f32).to_le_bytes()),
        (LogicalType::F64, _) => out.extend_from_slice(&float()?.to_le_bytes()),
        (LogicalType::TimeMs | LogicalType::TimeUs, _) => {
            // A bare number is in the parameter's own unit.
            let (time, per_s) = match value {
                Value::TimeMs(v) => (*v, 1_000),
                Value::TimeUs(v) => (*v, 1_000_000),
                Value::I64(v) if ty == LogicalType::TimeMs => (*v, 1_000),
                Value::I64(v) => (*v, 1_000_000),
                _ => return Err(unfit()),
            };
            let time = Day::default().time(time, per_s).ok_or_else(unfit)?;
            out.extend_from_slice(&time.to_le_bytes()[..TIME_BYTES]);
        }
        (ty, Value::Text(v)) if ty.is_text() && ty.entry().bound => {
            let (head, bytes) = length(v.len() as u64);
            out.extend_from_slice(&head.to_le_bytes()[..bytes.min(8)]);
            if bytes == LENGTH_BYTES {
                out.push((v.len() as u64 >> 56) as u8);
            }
            out.extend_from_slice(v.as_bytes());
        }
        (list, _) if list.is_list() => {
            return Err(format!("parameter {value:?}: lists are not bound as parameters"))
        }
        _ => return Err(unfit()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_what_the_server_reads() {
        let bytes = |value, ty| {
            let mut out = Vec::new();
            param(&mut out, &value, ty).map(|()| out)
        };
        assert_eq!(bytes(Value::U64(u64::MAX), LogicalType::U64).unwrap(), [0xff; 8]);
        assert_eq!(bytes(Value::I64(-2), LogicalType::I16).unwrap(), [0xfe, 0xff]);
        assert_eq!(bytes(Value::Text("é".into()), LogicalType::Text).unwrap(), [2, 0xc3, 0xa9]);
        let time = bytes(Value::TimeMs(1_767_225_600_123), LogicalType::TimeMs).unwrap();
        assert_eq!(time, [11, 0xea, 7, 1, 1, 0, 0, 0, 0x78, 0xe0, 1, 0], "2026-01-01 00:00:00.123000");
        assert!(bytes(Value::U64(1 << 63), LogicalType::I64).is_err(), "not reinterpreted");
        assert!(bytes(Value::I64(1 << 40), LogicalType::I32).unwrap_err().contains("is not a I32"));
        assert!(bytes(Value::TimeMs(i64::MAX), LogicalType::TimeMs).is_err());
        assert!(bytes(Value::F64(f64::NAN), LogicalType::F64).is_err());
        assert!(bytes(Value::Null, LogicalType::I64).unwrap().is_empty());
    }
}
