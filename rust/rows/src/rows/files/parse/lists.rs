//! Lists as JSON writes them.

use super::{clean_text, push_value, Reason};
use crate::plan::LogicalType;
use crate::rows::{ListValues, Values};

/// Whether a list may hold NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    Refused,
    Taken,
}

/// A JSON array as the next list; on an error `list` is unchanged.
pub fn push_list(list: &mut ListValues, item: LogicalType, text: &[u8], nulls: Nulls) -> Result<(), Reason> {
    let (items, marked) = (list.items.count(), list.present.len());
    let pushed = match item {
        LogicalType::Text => push_texts(list, text, nulls),
        _ => push_numbers(list, item, text, nulls),
    };
    match pushed {
        Ok(()) => list.end(),
        Err(_) => {
            list.items.truncate(items);
            list.present.truncate(marked);
        }
    }
    pushed
}

fn push_numbers(list: &mut ListValues, item: LogicalType, text: &[u8], nulls: Nulls) -> Result<(), Reason> {
    let inner = text.trim_ascii().strip_prefix(b"[").and_then(|t| t.strip_suffix(b"]"));
    let inner = inner.ok_or(Reason::NotList)?.trim_ascii();
    if inner.is_empty() {
        return Ok(());
    }
    for part in inner.split(|b| *b == b',') {
        if nulls == Nulls::Taken && part.trim_ascii() == b"null" {
            list.push_null_item();
            continue;
        }
        push_value(&mut list.items, item, part).map_err(|reason| match reason {
            Reason::OutOfRange(_) => reason,
            _ => Reason::NotList,
        })?;
    }
    Ok(())
}

/// Their escapes are JSON's.
fn push_texts(list: &mut ListValues, text: &[u8], nulls: Nulls) -> Result<(), Reason> {
    let texts: Vec<Option<String>> = serde_json::from_slice(text).map_err(|_| Reason::NotList)?;
    for text in texts {
        match (text, &mut *list.items) {
            (Some(text), Values::Text(items)) => items.push(clean_text(text.as_bytes())?),
            (None, _) if nulls == Nulls::Taken => list.push_null_item(),
            _ => return Err(Reason::NotList),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::parsed;
    use super::super::{push, push_list_with_nulls, Reason};
    use crate::plan::LogicalType;
    use crate::rows::columns::value_text;
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
    #[test]
    fn lists_of_every_other_type_are_read_as_a_dump_writes_them() {
        let of = |ty, text| parsed(ty, text).map(|value| value_text(&value));
        assert_eq!(of(LogicalType::ListBool, "[true,false]"), Ok("[true, false]".into()));
        assert_eq!(of(LogicalType::ListU64, "[18446744073709551615]"), Ok("[18446744073709551615]".into()));
        assert_eq!(of(LogicalType::ListF32, "[0.5,-3]"), Ok("[0.5, -3]".into()));
        assert_eq!(of(LogicalType::ListText, r#"["a, \"b\"",""]"#), Ok("[a, \"b\", ]".into()));
        assert_eq!(of(LogicalType::ListU8, "[256]"), Err(Reason::OutOfRange(LogicalType::U8)));
        for bad in ["[1]", "[null]", "[\"a\"", "a"] {
            assert_eq!(parsed(LogicalType::ListText, bad), Err(Reason::NotList), "{bad}");
        }
    }

    #[test]
    fn a_list_that_may_hold_null_holds_it_and_a_bad_one_leaves_no_trace() {
        for (ty, text, read) in [
            (LogicalType::ListI64, "[1,null]", "[1, null]"),
            (LogicalType::ListText, r#"[null,"null"]"#, "[null, null]"),
        ] {
            let mut column = Column::new("c", ty);
            push(&mut column, b"[]").unwrap();
            assert_eq!(push_list_with_nulls(&mut column, b"[null,x]"), Err(Reason::NotList));
            push_list_with_nulls(&mut column, text.as_bytes()).unwrap();
            push(&mut column, b"[]").unwrap();
            assert_eq!(value_text(&column.value(1)), read);
            assert_eq!(value_text(&column.value(0)), value_text(&column.value(2)));
        }
        let Value::List(items) = ({
            let mut column = Column::new("c", LogicalType::ListText);
            push_list_with_nulls(&mut column, br#"[null,"null"]"#).unwrap();
            column.value(0)
        }) else {
            panic!("a list of texts")
        };
        assert_eq!(items, [Value::Null, Value::Text("null".into())]);
    }
}
