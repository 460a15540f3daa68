//! Every figure that a proof compares has a change of the rows that it sees, and the read-back sees each of them.

use crate::rows_common::{every_kind, filled, EPOCH_NS};
use inrush_rows::plan::{ChecksumItem, ValueHash};
use inrush_rows::rows::{row_hashes, Checksums, Columns, Digest, RowGen, Values};

fn rows() -> Columns {
    filled(&RowGen::new(&every_kind(11), 7, EPOCH_NS).unwrap(), 0, 1000)
}

fn items() -> Vec<ChecksumItem> {
    vec![
        ChecksumItem::Rows {},
        ChecksumItem::NotNull { column: "nullable".into() },
        ChecksumItem::Sum { column: "uniform_signed".into(), signed: true },
        ChecksumItem::SumLow { column: "uniform_signed".into() },
        ChecksumItem::SumHigh { column: "uniform_signed".into(), signed: true },
        ChecksumItem::SumHigh { column: "pattern".into(), signed: false },
        ChecksumItem::SumWrapped { column: "uniform_signed".into() },
        ChecksumItem::Product { key: "cycle".into(), value: "uniform_signed".into() },
        ChecksumItem::SumScaled { column: "normal".into(), bits: 8 },
        ChecksumItem::CountTrue { column: "flag".into() },
        ChecksumItem::SumHash { column: "text".into(), hash: ValueHash::Crc32, trimmed: false },
        ChecksumItem::SumHash { column: "normal".into(), hash: ValueHash::Postgresql, trimmed: false },
        rows_of(ValueHash::CityHash64),
        ChecksumItem::SumLength { column: "text".into() },
    ]
}

/// Of whole rows of these columns.
fn rows_of(hash: ValueHash) -> ChecksumItem {
    let columns = ["text", "cycle", "normal", "uniform_signed"].map(String::from).to_vec();
    ChecksumItem::SumRows { hash, columns, unsigned: vec![], trimmed: vec![] }
}

fn sum(item: &ChecksumItem, columns: &Columns) -> i128 {
    let mut sums = Checksums::new(std::slice::from_ref(item), columns).unwrap();
    sums.add(columns);
    sums.sums()[0]
}

fn digest(columns: &Columns) -> Digest {
    let (mut digest, mut hashes) = (Digest::default(), Vec::new());
    row_hashes(columns, &mut hashes);
    digest.add(&hashes);
    digest
}

fn values<'a>(columns: &'a mut Columns, name: &str) -> &'a mut Values {
    &mut columns.columns.iter_mut().find(|c| c.name == name).unwrap().values
}

fn integers<'a>(columns: &'a mut Columns, name: &str) -> &'a mut Vec<i64> {
    match values(columns, name) {
        Values::I64(values) => values,
        other => panic!("{name} is {other:?}"),
    }
}

/// What an engine could have done to the rows that this figure is there to see. A new kind of figure needs its own.
fn spoil(item: &ChecksumItem, columns: &mut Columns) {
    match item {
        ChecksumItem::Rows {} => {
            *columns = filled(&RowGen::new(&every_kind(11), 7, EPOCH_NS).unwrap(), 0, 999)
        }
        ChecksumItem::NotNull { column } => {
            let column = columns.columns.iter_mut().find(|c| c.name == *column).unwrap();
            let first = column.present.iter().position(|p| *p == 1).unwrap();
            column.present[first] = 0;
        }
        ChecksumItem::Sum { column, .. }
        | ChecksumItem::SumLow { column }
        | ChecksumItem::SumWrapped { column } => {
            integers(columns, column)[5] ^= 1;
        }
        ChecksumItem::SumHigh { column, .. } => integers(columns, column)[5] ^= 1 << 40,
        // Two values in each other's rows, whose keys differ: every sum of single columns stays.
        ChecksumItem::Product { key, value } => {
            let keys: Vec<i64> = match values(columns, key) {
                Values::I32(keys) => keys.iter().map(|k| i64::from(*k)).collect(),
                Values::I64(keys) => keys.clone(),
                other => panic!("{key} is {other:?}"),
            };
            let held = integers(columns, value);
            let differ = |v: &[i64], b: usize| v[b] & 0xffff != v[3] & 0xffff;
            let b = (4..held.len()).find(|b| differ(held, *b) && differ(&keys, *b)).unwrap();
            held.swap(3, b);
        }
        ChecksumItem::SumScaled { column, .. } => match values(columns, column) {
            Values::F64(values) => values[5] += 1.0,
            other => panic!("{other:?}"),
        },
        ChecksumItem::CountTrue { column } => match values(columns, column) {
            Values::I32(values) => values[5] ^= 1,
            other => panic!("{other:?}"),
        },
        ChecksumItem::SumHash { column, .. } => match values(columns, column) {
            Values::Text(text) => text.bytes[0] ^= 1,
            Values::F64(values) => values[5] = -values[5],
            other => panic!("{other:?}"),
        },
        // As of a product: sums of single columns stay.
        ChecksumItem::SumRows { columns: names, .. } => {
            let held = integers(columns, names.last().unwrap());
            let b = (4..held.len()).find(|b| held[*b] != held[3]).unwrap();
            held.swap(3, b);
        }
        ChecksumItem::SumLength { column } => match values(columns, column) {
            Values::Text(text) => {
                text.bytes.push(b'x');
                *text.ends.last_mut().unwrap() += 1;
            }
            other => panic!("{other:?}"),
        },
    }
}

#[test]
fn every_figure_of_a_checksum_query_sees_the_change_that_it_is_there_for_and_so_does_the_read_back() {
    for item in items() {
        let (whole, mut spoilt) = (rows(), rows());
        spoil(&item, &mut spoilt);
        assert_ne!(sum(&item, &whole), sum(&item, &spoilt), "{item:?}");
        assert_ne!(digest(&whole), digest(&spoilt), "{item:?}");
    }
}

#[test]
fn values_in_each_others_rows_are_seen_by_products_and_by_whole_rows_alone_of_the_sums() {
    let item = ChecksumItem::Product { key: "cycle".into(), value: "uniform_signed".into() };
    let (whole, mut spoilt) = (rows(), rows());
    spoil(&item, &mut spoilt);
    let seen: Vec<_> = items().into_iter().filter(|i| sum(i, &whole) != sum(i, &spoilt)).collect();
    assert_eq!(format!("{seen:?}"), format!("{:?}", [item, rows_of(ValueHash::CityHash64)]));
}

#[test]
fn rows_have_one_sum_whether_their_columns_have_sums_of_their_own_or_not() {
    for hash in [ValueHash::Postgresql, ValueHash::Crc32, ValueHash::CityHash64, ValueHash::ReadBack] {
        let own = |column: &str, trimmed| ChecksumItem::SumHash { column: column.into(), hash, trimmed };
        let alone = sum(&rows_of(hash), &rows());
        for others in [
            vec![own("text", false)],
            vec![own("normal", false), own("text", false)],
            vec![own("text", true)],
        ] {
            let items: Vec<ChecksumItem> = others.iter().cloned().chain([rows_of(hash)]).collect();
            let mut sums = Checksums::new(&items, &rows()).unwrap();
            sums.add(&rows());
            assert_eq!(*sums.sums().last().unwrap(), alone);
            for (other, sum_of_it) in others.iter().zip(sums.sums()) {
                assert_eq!(*sum_of_it, sum(other, &rows()));
            }
            // Memory of an earlier batch is none of the next one's.
            sums.clear();
            sums.add(&rows());
            assert_eq!(*sums.sums().last().unwrap(), alone);
        }
    }
}
