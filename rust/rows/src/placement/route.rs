//! A batch of rows into one batch per shard, in row order. Pure.

use crate::rows::{Columns, ListValues, Values};

/// Appends every row of `rows` to the batch of its shard.
pub fn route(rows: &Columns, shard_of: &[u32], out: &mut [Columns]) {
    let mut chosen: Vec<Vec<u32>> = vec![Vec::with_capacity(2 * rows.rows / out.len() + 8); out.len()];
    shard_of.iter().enumerate().for_each(|(row, shard)| chosen[*shard as usize].push(row as u32));
    for (own, chosen) in out.iter_mut().zip(&chosen) {
        pick(rows, chosen, own);
    }
}

/// The rows `chosen` of `rows`.
pub fn picked(rows: &Columns, chosen: &[u32]) -> Columns {
    let mut out = Columns::empty_like(rows);
    pick(rows, chosen, &mut out);
    out
}

/// Appends the rows `chosen` of `rows`, column by column: one branch a column, not one a value.
fn pick(rows: &Columns, chosen: &[u32], out: &mut Columns) {
    for (from, to) in rows.columns.iter().zip(&mut out.columns) {
        if !from.present.is_empty() || !to.present.is_empty() {
            to.present.resize(out.rows, 1);
            to.present.extend(chosen.iter().map(|row| from.is_present(*row as usize) as u8));
        }
        match (&from.values, &mut to.values) {
            (Values::I32(from), Values::I32(to)) => pick_values(from, chosen, to),
            (Values::I64(from), Values::I64(to)) => pick_values(from, chosen, to),
            (Values::F32(from), Values::F32(to)) => pick_values(from, chosen, to),
            (Values::F64(from), Values::F64(to)) => pick_values(from, chosen, to),
            (Values::Text(from), Values::Text(to)) => {
                chosen.iter().for_each(|row| to.push(from.get(*row as usize)));
            }
            (Values::List(from), Values::List(to)) => {
                chosen.iter().for_each(|row| push_list(from, *row as usize, to));
            }
            _ => unreachable!("both are columns of one table"),
        }
    }
    out.rows += chosen.len();
}

fn pick_values<T: Copy>(from: &[T], chosen: &[u32], to: &mut Vec<T>) {
    to.extend(chosen.iter().map(|row| from[*row as usize]));
}

/// Appends all of `rows` to `out`, which has the same columns.
pub fn append(out: &mut Columns, rows: &Columns) {
    for (from, to) in rows.columns.iter().zip(&mut out.columns) {
        if !from.present.is_empty() || !to.present.is_empty() {
            to.present.resize(out.rows, 1);
            to.present.extend((0..rows.rows).map(|row| from.is_present(row) as u8));
        }
        match (&from.values, &mut to.values) {
            (Values::I32(from), Values::I32(to)) => to.extend_from_slice(from),
            (Values::I64(from), Values::I64(to)) => to.extend_from_slice(from),
            (Values::F32(from), Values::F32(to)) => to.extend_from_slice(from),
            (Values::F64(from), Values::F64(to)) => to.extend_from_slice(from),
            (Values::Text(from), Values::Text(to)) => (0..rows.rows).for_each(|row| to.push(from.get(row))),
            (Values::List(from), Values::List(to)) => (0..rows.rows).for_each(|row| push_list(from, row, to)),
            _ => unreachable!("both are columns of one table"),
        }
    }
    out.rows += rows.rows;
}

fn push_list(from: &ListValues, row: usize, to: &mut ListValues) {
    to.append(from, row);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::LogicalType;
    use crate::rows::Column;
    use proptest::prelude::*;

    fn table(values: &[Option<i64>], texts: &[String]) -> Columns {
        let mut number = Column::new("n", LogicalType::I64);
        number.values = Values::I64(values.iter().map(|v| v.unwrap_or(0)).collect());
        if values.iter().any(Option::is_none) {
            number.present = values.iter().map(|v| v.is_some() as u8).collect();
        }
        let mut text = Column::new("t", LogicalType::Text);
        if let Values::Text(t) = &mut text.values {
            texts.iter().for_each(|s| t.push(s.as_bytes()));
        }
        Columns::new(values.len(), vec![number, text])
    }

    fn rows_of(columns: &Columns) -> Vec<(Option<i64>, String)> {
        let Values::I64(numbers) = &columns.columns[0].values else { panic!("integers") };
        let Values::Text(texts) = &columns.columns[1].values else { panic!("texts") };
        (0..columns.rows)
            .map(|row| {
                let number = columns.columns[0].is_present(row).then(|| numbers[row]);
                (number, String::from_utf8(texts.get(row).to_vec()).unwrap())
            })
            .collect()
    }

    proptest! {
        #[test]
        fn every_row_goes_to_its_shard_once_and_in_order(
            rows in prop::collection::vec((prop::option::of(any::<i64>()), "[a-z]{0,5}", 0u32..3), 0..60),
            cut in 0usize..60,
        ) {
            let cut = cut.min(rows.len());
            let mut out: Vec<Columns> = (0..3).map(|_| table(&[], &[])).collect();
            for part in [&rows[..cut], &rows[cut..]] {
                let values: Vec<_> = part.iter().map(|r| r.0).collect();
                let texts: Vec<_> = part.iter().map(|r| r.1.clone()).collect();
                let shards: Vec<_> = part.iter().map(|r| r.2).collect();
                route(&table(&values, &texts), &shards, &mut out);
            }
            for shard in 0..3u32 {
                let expected: Vec<_> =
                    rows.iter().filter(|r| r.2 == shard).map(|r| (r.0, r.1.clone())).collect();
                prop_assert_eq!(rows_of(&out[shard as usize]), expected);
            }
        }
    }
}
