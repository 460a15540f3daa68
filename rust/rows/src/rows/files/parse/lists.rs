//! Lists of numbers as JSON writes them.

use super::Reason;

/// A JSON array of numbers, appended to `items`; on an error `items` is unchanged.
pub fn list<T>(
    text: &[u8],
    items: &mut Vec<T>,
    item: impl Fn(&[u8]) -> Result<T, Reason>,
) -> Result<(), Reason> {
    let inner = text.trim_ascii().strip_prefix(b"[").and_then(|t| t.strip_suffix(b"]"));
    let inner = inner.ok_or(Reason::NotList)?.trim_ascii();
    if inner.is_empty() {
        return Ok(());
    }
    let before = items.len();
    for part in inner.split(|b| *b == b',') {
        match item(part) {
            Ok(value) => items.push(value),
            Err(reason) => {
                items.truncate(before);
                let range = matches!(reason, Reason::OutOfRange(_));
                return Err(if range { reason } else { Reason::NotList });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::parsed;
    use super::super::{push, Reason};
    use crate::plan::LogicalType;
    use crate::rows::{Column, Value};

    #[test]
    fn lists_are_json_arrays_of_numbers_and_all_or_nothing() {
        assert_eq!(parsed(LogicalType::ListI64, "[1, -2,3]"), Ok(Value::ListI64(vec![1, -2, 3])));
        assert_eq!(parsed(LogicalType::ListF64, "[]"), Ok(Value::ListF64(vec![])));
        let mut column = Column::new("c", LogicalType::ListF64);
        assert_eq!(push(&mut column, b"[1.5,2,x]"), Err(Reason::NotList));
        push(&mut column, b"[0.5]").unwrap();
        assert_eq!(column.value(0), Value::ListF64(vec![0.5]));
        for bad in ["", "1,2", "[1", "[1,]", "[null]", "[[1]]"] {
            assert_eq!(parsed(LogicalType::ListI64, bad), Err(Reason::NotList), "{bad}");
        }
    }
}
