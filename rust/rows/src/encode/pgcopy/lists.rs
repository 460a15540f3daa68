//! Lists as arrays of one dimension.

use super::super::lists::as_double;
use super::place::{put, Place};
use super::types::PgType;
use crate::rows::{ListValues, Values};

/// Dimensions, flags, element type, length, lower bound. An empty list has a dimension too: not every server that speaks
/// the protocol takes one without.
const LIST_HEAD_BYTES: usize = 20;
const LIST_ITEM_BYTES: usize = 12;

/// Bytes of list `row` without its length word.
pub(super) fn list_bytes(list: &ListValues, row: usize, ty: PgType) -> usize {
    let range = list.range(row);
    let nulls = match list.present.is_empty() {
        true => 0,
        false => list.present[range.clone()].iter().filter(|&&present| present == 0).count(),
    };
    let values = match (&*list.items, ty) {
        // Where NULL stands there is an empty text.
        (Values::Text(texts), _) => range.clone().map(|at| texts.get(at).len()).sum(),
        (_, ty) => (range.len() - nulls) * ty.element().and_then(PgType::width).expect("numbers are fixed"),
    };
    LIST_HEAD_BYTES + 4 * range.len() + values
}

/// False where an item has no value of the list's type. `unsigned`: items are u64, kept as i64 of the same bits.
pub(super) unsafe fn put_list(
    place: &mut impl Place,
    block_row: usize,
    list: &ListValues,
    row: usize,
    ty: PgType,
    unsigned: bool,
) -> bool {
    let wide = matches!(ty, PgType::Float8List | PgType::Int8List);
    let plain = matches!(*list.items, Values::F64(_) | Values::I64(_)) && list.present.is_empty();
    if !(wide && plain) {
        return put_any_list(place, block_row, list, row, ty, unsigned);
    }
    let range = list.range(row);
    let bytes = LIST_HEAD_BYTES + range.len() * LIST_ITEM_BYTES;
    let element = match ty {
        PgType::Float8List => PgType::Float8,
        _ => PgType::Int8,
    };
    let mut fits = true;
    let mut at = place.take(block_row, 4 + bytes);
    let mut word = |word: u32| {
        put(at, word.to_be_bytes());
        at = at.add(4);
    };
    // Behind the length: one dimension, no flags; at the end the lower bound.
    for head in [bytes as u32, 1, 0, element.oid(), range.len() as u32, 1] {
        word(head);
    }
    for item in range {
        let bits = match &*list.items {
            Values::F64(items) => items[item].to_bits(),
            Values::I64(items) if element == PgType::Float8 => {
                let (float, exact) = as_double(items[item], unsigned);
                fits &= exact;
                float.to_bits()
            }
            Values::I64(items) => items[item] as u64,
            _ => unreachable!("others are written by `put_any_list`"),
        };
        word(8);
        word((bits >> 32) as u32);
        word(bits as u32);
    }
    fits
}

unsafe fn put_any_list(
    place: &mut impl Place,
    block_row: usize,
    list: &ListValues,
    row: usize,
    ty: PgType,
    unsigned: bool,
) -> bool {
    let range = list.range(row);
    let bytes = list_bytes(list, row, ty);
    let element = ty.element().expect("this is a type of lists");
    let mut at = place.take(block_row, 4 + bytes);
    let mut fits = true;
    let has_null = u32::from(!list.present.is_empty());
    for head in [bytes as u32, 1, has_null, element.oid(), range.len() as u32, 1] {
        put(at, head.to_be_bytes());
        at = at.add(4);
    }
    for item in range {
        if !list.is_present(item) {
            put(at, (-1i32).to_be_bytes());
            at = at.add(4);
            continue;
        }
        let wide: [u8; 8];
        let value: &[u8] = match (&*list.items, element) {
            (Values::Text(texts), _) => texts.get(item),
            (items, element) => {
                let width = element.width().expect("numbers are fixed");
                let (bits, exact) = number(items, item, element, unsigned);
                fits &= exact;
                // The last bytes of a big-endian number are the number, where it fits.
                wide = bits.to_be_bytes();
                &wide[8 - width..]
            }
        };
        put(at, (value.len() as u32).to_be_bytes());
        std::ptr::copy_nonoverlapping(value.as_ptr(), at.add(4), value.len());
        at = at.add(4 + value.len());
    }
    fits
}

/// The bits of a number as an element, and whether it is the same number there.
fn number(items: &Values, at: usize, element: PgType, unsigned: bool) -> (u64, bool) {
    let whole = match items {
        Values::I32(v) => i64::from(v[at]),
        Values::I64(v) => v[at],
        Values::F32(v) if element == PgType::Float8 => return (f64::from(v[at]).to_bits(), true),
        Values::F32(v) => return (v[at].to_bits().into(), true),
        Values::F64(v) => return (v[at].to_bits(), true),
        Values::Text(_) | Values::List(_) => unreachable!("`check` let numbers through"),
    };
    match element {
        PgType::Float8 => {
            let (float, exact) = as_double(whole, unsigned);
            (float.to_bits(), exact)
        }
        PgType::Int2 => (whole as u64, i16::try_from(whole).is_ok()),
        PgType::Int4 => (whole as u64, i32::try_from(whole).is_ok()),
        _ => (whole as u64, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_u64_is_a_double_up_to_where_doubles_hold_every_whole_number() {
        let of = |whole: u64| number(&Values::I64(vec![whole as i64]), 0, PgType::Float8, true);
        assert_eq!(of(1 << 53), (9_007_199_254_740_992_f64.to_bits(), true));
        for beyond in [(1 << 53) + 1, u64::MAX] {
            assert!(!of(beyond).1, "{beyond}");
        }
        assert_eq!(number(&Values::I64(vec![-1]), 0, PgType::Float8, false), ((-1f64).to_bits(), true));
    }
}
