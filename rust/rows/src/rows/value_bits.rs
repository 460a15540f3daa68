//! A value of an answer as 64 bits, by which rows are found and values compared.

use super::columns::Value;
use super::digest::hash_bytes;
use crate::plan::LogicalType;
use crate::types::hex::hex_bytes;

/// The value as 64 bits, whatever type the engine gave it back in; None for NULL and what has no such form.
///
/// Engines that keep times as numbers keep the column's own unit.
pub(super) fn bits_of(ty: LogicalType, value: &Value) -> Option<u64> {
    Some(match (value, ty) {
        (Value::TimeUs(us), LogicalType::TimeMs) => (us % 1000 == 0).then_some(us / 1000)? as u64,
        (Value::TimeMs(ms), LogicalType::TimeUs) => ms.checked_mul(1000)? as u64,
        (Value::Bool(b), _) => *b as u64,
        (Value::I64(v), LogicalType::Decimal) => hash_bytes(v.to_string().as_bytes()),
        (Value::I64(v) | Value::TimeMs(v) | Value::TimeUs(v), _) => *v as u64,
        (Value::U64(v), _) => *v,
        (Value::Text(text), LogicalType::Blob) => hash_bytes(&hex_bytes(text.as_bytes())?),
        (Value::Text(text), ty) => match ty.forms() {
            None => hash_bytes(text.as_bytes()),
            // Whichever spelling the engine gives.
            Some(forms) => {
                let mut form = Vec::with_capacity(forms.longest);
                (forms.push)(text.as_bytes(), &mut form)?;
                hash_bytes(&form)
            }
        },
        (Value::F64(v), _) => v.to_bits(),
        (Value::Null | Value::ListF64(_) | Value::ListI64(_) | Value::List(_), _) => return None,
    })
}

/// Whether both are the same value of a column of type `ty`, whatever types they came back in.
pub(super) fn same_value(ty: LogicalType, a: &Value, b: &Value) -> bool {
    bits_of(ty, a).is_some_and(|bits| bits_of(ty, b) == Some(bits))
}
