//! Laws of generated rows: each a function of (seed, stream, row), whatever the batch or the machine.

mod identities;

use std::collections::BTreeSet;

use crate::rows_common::{chunked, column, every_kind, filled, integers, made, table, telemetry, EPOCH_NS};
use inrush_rows::plan::{ChecksumItem, TablePlan};
use inrush_rows::rows::{
    digest, generators_json, problems, row_hashes, Checksums, Columns, Digest, Level, Picked, RowGen, Value,
    Values,
};
use proptest::prelude::*;
use serde_json::json;

fn values(columns: &Columns, row: usize) -> Vec<Value> {
    columns.columns.iter().map(|c| c.value(row)).collect()
}

fn hashes(columns: &Columns) -> Vec<u128> {
    let mut hashes = Vec::new();
    row_hashes(columns, &mut hashes);
    hashes
}

proptest! {
    #[test]
    fn a_cycle_counted_along_is_the_cycle_divided(
        series in prop::sample::select(vec![1u64, 2, 7, 1000, 3000]), to in 1i64..50,
        every in 1u64..9, first in 0u64..5_000_000, rows in 1usize..2600,
    ) {
        let gen = json!({"kind": "cycle", "from": 1, "to": to, "every": every});
        let plan = table(series, 1_000_000_000, vec![column("k", "i64", gen)]);
        let batch = filled(&made(&plan, 1), first, rows);
        let place = |row: u64| if series == 1 { row } else { row % series };
        let divided = (first..first + rows as u64).map(|row| 1 + (place(row) / every % to as u64) as i64);
        prop_assert_eq!(integers(&batch, "k"), divided.collect::<Vec<_>>());
    }

    #[test]
    fn any_row_made_alone_is_the_row_of_its_batch(
        seed: u64, series in prop::sample::select(vec![1u64, 2, 7, 1000, 3000]),
        first in 0u64..5_000_000, rows in 1usize..2600, at: prop::sample::Index,
    ) {
        let gen = RowGen::new(&every_kind(series), seed, EPOCH_NS).unwrap();
        let batch = filled(&gen, first, rows);
        for at in [0, at.index(rows), rows - 1] {
            prop_assert_eq!(gen.row(first + at as u64), values(&batch, at));
            prop_assert_eq!(gen.value(first + at as u64, 2), batch.columns[2].value(at));
        }
    }

    #[test]
    fn columns_used_before_leave_no_trace(seed: u64, first in 0u64..100_000, rows in 1usize..1500) {
        let gen = RowGen::new(&every_kind(5), seed, EPOCH_NS).unwrap();
        let fresh = filled(&gen, first, rows);
        let mut used = filled(&gen, 777, 2000);
        gen.fill(first, rows, &mut used);
        prop_assert_eq!(hashes(&fresh), hashes(&used));
    }

    #[test]
    fn every_instruction_set_makes_the_same_bits(seed: u64, first in 0u64..5_000_000, series in 1u64..5000) {
        let plan = every_kind(series);
        let digests: Vec<Digest> = Level::supported()
            .into_iter()
            .map(|level| digest(&RowGen::new(&plan, seed, EPOCH_NS).unwrap().with_level(level), first, 1500))
            .collect();
        prop_assert!(digests.windows(2).all(|pair| pair[0] == pair[1]), "{:?}", digests);
    }

    #[test]
    fn digests_of_parts_merge_to_the_digest_of_the_whole(seed: u64, cuts in prop::collection::btree_set(0u64..4_000, 0..6)) {
        let gen = RowGen::new(&every_kind(100), seed, EPOCH_NS).unwrap();
        let ends: Vec<u64> = cuts.into_iter().chain([4_000]).collect();
        let mut merged = Digest::default();
        let mut start = 0;
        for end in ends {
            merged.merge(&digest(&gen, start, end - start));
            start = end;
        }
        prop_assert_eq!(merged, digest(&gen, 0, 4_000));
    }

    #[test]
    fn two_values_swapped_between_rows_show(seed: u64, a in 0usize..500, b in 0usize..500, c in 0usize..13) {
        let gen = made(&telemetry()[0], seed);
        let mut columns = filled(&gen, 0, 500);
        let before = (hashes(&columns).iter().fold(0u128, |s, &h| s.wrapping_add(h)), product(&columns, c));
        let low = |c: usize, row: usize| match &columns.columns[c].values {
            Values::I32(v) => v[row] as i64 & 0xffff,
            Values::I64(v) => v[row] & 0xffff,
            _ => panic!("telemetry counters are integers"),
        };
        // The screen sees 16 bits of key and value; equal ones cannot show.
        prop_assume!(low(c, a) != low(c, b) && low(key_for(c), a) != low(key_for(c), b));
        match &mut columns.columns[c].values {
            Values::I32(v) => v.swap(a, b),
            Values::I64(v) => v.swap(a, b),
            _ => panic!("telemetry counters are integers"),
        }
        let after = (hashes(&columns).iter().fold(0u128, |s, &h| s.wrapping_add(h)), product(&columns, c));
        prop_assert_ne!(before.0, after.0);
        prop_assert_ne!(before.1, after.1);
    }

    #[test]
    fn screens_are_the_sums_of_their_definition(seed: u64, cut in 0usize..3000) {
        let gen = RowGen::new(&every_kind(11), seed, EPOCH_NS).unwrap();
        let columns = filled(&gen, 0, 3000);
        let items = vec![
            ChecksumItem::Rows {},
            ChecksumItem::NotNull { column: "nullable".into() },
            ChecksumItem::Sum { column: "uniform_signed".into(), signed: true },
            ChecksumItem::Sum { column: "pattern".into(), signed: false },
            ChecksumItem::SumLow { column: "uniform_signed".into() },
            ChecksumItem::SumHigh { column: "uniform_signed".into(), signed: true },
            ChecksumItem::SumHigh { column: "pattern".into(), signed: false },
            ChecksumItem::Product { key: "cycle".into(), value: "nullable".into() },
            ChecksumItem::SumScaled { column: "normal".into(), bits: 8 },
            ChecksumItem::SumLength { column: "text".into() },
        ];
        let mut whole = Checksums::new(&items, &columns).unwrap();
        whole.add(&columns);
        let mut parts = Checksums::new(&items, &columns).unwrap();
        let mut rest = parts.clone();
        parts.add(&filled(&gen, 0, cut));
        rest.add(&filled(&gen, cut as u64, 3000 - cut));
        parts.merge(&rest);
        prop_assert_eq!(whole.sums(), parts.sums());
        let of = |name: &str, term: &dyn Fn(&Value) -> i128| -> i128 {
            let column = columns.columns.iter().find(|c| c.name == name).unwrap();
            (0..3000).map(|i| column.value(i)).filter(|v| *v != Value::Null).map(|v| term(&v)).sum()
        };
        let int = |v: &Value| match v { Value::I64(v) => *v, Value::U64(v) => *v as i64, v => panic!("{v:?}") };
        let cycle = integers(&columns, "cycle");
        let nullable = columns.columns.iter().find(|c| c.name == "nullable").unwrap();
        let product = (0..3000).filter(|&i| nullable.is_present(i)).map(|i| (cycle[i] & 0xffff) as i128 * (int(&nullable.value(i)) & 0xffff) as i128).sum::<i128>();
        prop_assert_eq!(whole.sums(), &[
            3000,
            of("nullable", &|_| 1),
            of("uniform_signed", &|v| int(v) as i128),
            of("pattern", &|v| int(v) as u64 as i128),
            of("uniform_signed", &|v| (int(v) & 0xffff_ffff) as i128),
            of("uniform_signed", &|v| (int(v) >> 32) as i128),
            of("pattern", &|v| (int(v) as u64 >> 32) as i128),
            product,
            of("normal", &|v| match v { Value::F64(v) => (v * 256.0) as i128, v => panic!("{v:?}") }),
            of("text", &|v| match v { Value::Text(t) => t.len() as i128, v => panic!("{v:?}") }),
        ]);
    }
}

/// A counter that is not column `value` itself: ports repeat too often to be the key.
fn key_for(value: usize) -> usize {
    if value == 3 {
        4
    } else {
        3
    }
}

fn product(columns: &Columns, value: usize) -> i128 {
    let name = |c: usize| columns.columns[c].name.clone();
    let item = ChecksumItem::Product { key: name(key_for(value)), value: name(value) };
    let mut sums = Checksums::new(&[item], columns).unwrap();
    sums.add(columns);
    sums.sums()[0]
}

#[test]
fn null_is_neither_zero_nor_empty() {
    let make = |null_ppm: u32, gen: serde_json::Value, ty: &str| {
        let mut column = column("c", ty, gen);
        column["null_ppm"] = json!(null_ppm);
        hashes(&filled(&made(&table(1, 1, vec![column]), 1), 0, 1))
    };
    for (ty, gen) in [
        ("i64", json!({"kind": "constant", "value": 0})),
        ("f64", json!({"kind": "constant", "value": 0.0})),
        ("text", json!({"kind": "constant", "value": ""})),
    ] {
        assert_ne!(make(0, gen.clone(), ty), make(1_000_000, gen, ty), "{ty}");
    }
}

#[test]
fn rows_of_other_seeds_and_streams_differ() {
    let plan = every_kind(3);
    let mut other = plan.clone();
    other.stream = "other".into();
    let digests = [
        digest(&made(&plan, 1), 0, 10),
        digest(&made(&plan, 2), 0, 10),
        digest(&made(&other, 1), 0, 10),
        digest(&made(&plan, 1), 1, 10),
    ];
    for i in 0..4 {
        for j in 0..i {
            assert_ne!(digests[i], digests[j]);
        }
    }
}

#[test]
fn the_name_in_the_database_does_not_change_rows() {
    let plan = every_kind(3);
    let renamed = TablePlan { name: "schema.renamed".into(), ..plan.clone() };
    assert_eq!(digest(&made(&plan, 1), 0, 500), digest(&made(&renamed, 1), 0, 500));
}

#[test]
fn every_kind_of_the_catalogue_is_tried_here() {
    let catalogue: serde_json::Value = serde_json::from_str(&generators_json()).unwrap();
    let listed: BTreeSet<String> = catalogue.as_object().unwrap().keys().cloned().collect();
    let kind = |gen: &inrush_rows::plan::GenPlan| {
        serde_json::to_value(gen).unwrap()["kind"].as_str().unwrap().to_string()
    };
    let tried: BTreeSet<String> = every_kind(7)
        .columns
        .iter()
        .chain(&every_kind(1).columns)
        .chain(&chunked(7, "survey", 3, 100, "key").columns)
        .map(|c| kind(c.gen.as_ref().unwrap()))
        // 0 in every row until calls change it, which `by_key` tries.
        .chain(["version".to_owned()])
        .collect();
    assert_eq!(listed, tried);
}

/// Study files are checked against the catalogue: what it says is what the core accepts.
#[test]
fn the_catalogue_names_the_parameters_that_are_read() {
    let catalogue: serde_json::Value = serde_json::from_str(&generators_json()).unwrap();
    let tables = [every_kind(7), chunked(7, "survey", 3, 100, "key")];
    for (table, column) in tables.iter().flat_map(|table| table.columns.iter().map(move |c| (table, c))) {
        let plan = serde_json::to_value(column.gen.as_ref().unwrap()).unwrap();
        let kind = plan["kind"].as_str().unwrap();
        let params = catalogue[kind]["params"].as_object().unwrap();
        let written: BTreeSet<&str> =
            plan.as_object().unwrap().keys().map(String::as_str).filter(|k| *k != "kind").collect();
        let named: BTreeSet<&str> = params.keys().map(String::as_str).collect();
        // Left out of a plan where they are 0: plans from before they came stay byte for byte as they were.
        const LEFT_OUT: [&str; 4] = ["null_ppm", "nan_ppm", "inf_ppm", "minus_inf_ppm"];
        let left_out = named.difference(&written).all(|name| kind == "array" && LEFT_OUT.contains(name));
        assert!(left_out && written.is_subset(&named), "{kind}: {written:?}, named {named:?}");
        for (name, param) in params {
            let mut without = plan.clone();
            without.as_object_mut().unwrap().remove(name);
            let read = serde_json::from_value::<inrush_rows::plan::GenPlan>(without);
            assert_eq!(read.is_err(), param["required"].as_bool().unwrap(), "{kind}.{name}");
            if let (Some(default), Ok(read)) = (param.get("default"), read) {
                let again = serde_json::to_value(read).unwrap();
                let zero = json!(0);
                let found = again.get(name).unwrap_or(&zero);
                assert_eq!(found, default, "{kind}.{name}");
            }
        }
        let types = catalogue[kind]["types"].as_array().unwrap();
        for ty in [
            "bool", "i16", "i32", "i64", "u64", "f32", "f64", "time_ms", "time_us", "text", "list_f64",
            "list_i64",
        ] {
            let mut other = table.clone();
            let at = other.columns.iter().position(|c| c.name == column.name).unwrap();
            other.columns[at].ty = serde_json::from_value(json!(ty)).unwrap();
            let refused = problems(&other, 1, EPOCH_NS).iter().any(|p| p.contains("cannot fill type"));
            assert_eq!(refused, !types.contains(&json!(ty)), "{kind} as {ty}");
        }
    }
}

#[test]
fn all_problems_are_told_at_once_with_column_and_remedy() {
    let plan = table(
        10,
        1,
        vec![
            column("a", "i64", json!({"kind": "uniform", "from": 9, "to": 3})),
            column("b", "text", json!({"kind": "uniform", "from": 0, "to": 3})),
            column("c", "i16", json!({"kind": "uniform", "from": 0, "to": 40_000})),
            column("d", "i64", json!({"kind": "ratio", "of": "nowhere", "numerator": 1, "denominator": 2})),
            column("e", "i64", json!({"kind": "sum", "of": ["f"]})),
            column("f", "i64", json!({"kind": "sum", "of": ["e"]})),
            column("a", "i64", json!({"kind": "sequence", "start": 0, "step": 1})),
        ],
    );
    let told = problems(&plan, 1, EPOCH_NS);
    let expected = [
        "t.a: two columns have this name",
        "t.a: from is 9 and to is 3; from is not above to",
        "t.b: `uniform` cannot fill type text; it fills i16, i32, i64, u8, u16, u32, u64, f32, f64",
        "t.c: values 0 … 40000 do not fit type i16 exactly; choose a wider type, a smaller range or fewer bits",
        "t.d: of names `nowhere`, which is not a column of the table",
        "t.e: derives from itself through other columns",
        "t.f: derives from itself through other columns",
    ];
    assert_eq!(told, expected);
}

proptest! {
    #[test]
    fn rows_picked_anywhere_are_those_of_their_batches(
        seed: u64, series in prop::sample::select(vec![1u64, 2, 7, 1000, 3000]),
        rows in prop::collection::vec(0u64..1 << 40, 1..=Picked::ROWS),
    ) {
        let gen = RowGen::new(&every_kind(series), seed, EPOCH_NS).unwrap();
        let width = gen.columns(0).columns.len();
        let all: Vec<usize> = (0..width).collect();
        let mut picked = Picked::new(&gen, &all);
        // What was picked before leaves no trace.
        for rows in [&[5, 6, 7], rows.as_slice()] {
            picked.pick(&gen, rows);
            for (at, &row) in rows.iter().enumerate() {
                let found: Vec<Value> = all.iter().map(|&c| {
                    let mut value = Value::Text("before".into());
                    picked.write(c, at, &mut value);
                    value
                }).collect();
                for (c, value) in found.iter().enumerate() {
                    let Some(alone) = gen.alone(c) else { continue };
                    prop_assert_eq!(&alone.value(row), value, "{}", gen.name(c));
                    prop_assert!(alone.is(row, value) && !alone.is(row, &Value::Null), "{}", gen.name(c));
                    let other = match value {
                        Value::U64(v) => Value::U64(v ^ 1),
                        Value::TimeMs(v) => Value::TimeMs(v ^ 1),
                        Value::TimeUs(v) => Value::TimeUs(v ^ 1),
                        Value::I64(v) => Value::I64(v ^ 1),
                        _ => unreachable!("it is a number"),
                    };
                    prop_assert!(!alone.is(row, &other), "{}", gen.name(c));
                }
                prop_assert_eq!(found, gen.row(row));
            }
        }
    }
}

proptest! {
    #[test]
    fn numbers_of_every_width_are_alone_what_they_are_with_their_row(
        seed: u64, series in prop::sample::select(vec![1u64, 7, 1000]), row in 0u64..1 << 40,
    ) {
        let uniform = |from: i64, to: i64| json!({"kind": "uniform", "from": from, "to": to});
        let columns = vec![
            column("u64", "u64", uniform(0, i64::MAX)),
            column("u32", "u32", uniform(0, u32::MAX.into())),
            column("u16", "u16", uniform(0, u16::MAX.into())),
            column("u8", "u8", uniform(0, u8::MAX.into())),
            column("i64", "i64", uniform(i64::MIN, i64::MAX)),
            column("i16", "i16", uniform(i16::MIN.into(), i16::MAX.into())),
            column("constant", "i32", json!({"kind": "constant", "value": -5})),
            column("series", "i32", json!({"kind": "uniform", "from": 0, "to": 1 << 30, "per": "series"})),
            column("cycle", "u16", json!({"kind": "cycle", "from": 1, "to": 60_000})),
            column("sequence", "u64", json!({"kind": "sequence", "start": 3, "step": 5})),
        ];
        let gen = RowGen::new(&table(series, 1_000_000_000, columns), seed, EPOCH_NS).unwrap();
        for (c, value) in gen.row(row).iter().enumerate() {
            let alone = gen.alone(c).expect("a number of its row");
            prop_assert_eq!(&alone.value(row), value, "{}", gen.name(c));
            prop_assert!(alone.is(row, value), "{}", gen.name(c));
            // The same bits as another type are for the caller to look at.
            let other = match value {
                Value::U64(v) => Value::I64(*v as i64),
                Value::I64(v) => Value::U64(*v as u64),
                _ => unreachable!("they are numbers"),
            };
            prop_assert!(!alone.is(row, &other), "{}", gen.name(c));
        }
    }
}

#[test]
fn a_number_that_is_made_alone_is_of_a_column_that_needs_no_other() {
    let gen = RowGen::new(&every_kind(7), 1, EPOCH_NS).unwrap();
    let width = gen.columns(0).columns.len();
    let alone = (0..width).filter(|&c| gen.alone(c).is_some()).count();
    assert!((5..width).contains(&alone), "{alone} of {width}");
}
