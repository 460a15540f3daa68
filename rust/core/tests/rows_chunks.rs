//! Tables whose rows lie in files of chunks: the same rows in both orders, each found by its key and made alone.

use crate::rows_common::{chunked, column, filled, integers, made, table, EPOCH_NS};
use inrush_rows::plan::TablePlan;
use inrush_rows::rows::{digest, problems, RowGen, SeriesIndex, Value};
use proptest::prelude::*;
use serde_json::{json, Value as Json};

fn all_rows(gen: &RowGen, rows: u64) -> Vec<Vec<Value>> {
    let columns = filled(gen, 0, rows as usize);
    (0..rows as usize).map(|i| columns.columns.iter().map(|c| c.value(i)).collect()).collect()
}

fn identified_by(plan: &TablePlan, column: &str) -> TablePlan {
    TablePlan { identity: vec![column.into()], ..plan.clone() }
}

proptest! {
    #[test]
    fn both_orders_have_the_same_rows_and_every_key_leads_to_its_row(
        files in prop_oneof![Just(1u64), Just(7), Just(100), Just(1_000)], rows in 1u64..4_000,
        run_rows in prop_oneof![Just(1u64), 1u64..50, Just(1 << 40)], survey: bool, seed: u64,
    ) {
        let profile = if survey { "survey" } else { "equal" };
        let of = |order| chunked(files, profile, run_rows, rows, order);
        let (by_key, random) = (made(&of("key"), seed), made(&of("random"), seed));
        prop_assert_eq!(digest(&by_key, 0, rows), digest(&random, 0, rows));
        for (order, gen) in [("key", &by_key), ("random", &random)] {
            let all = all_rows(gen, rows);
            let indexes = ["source_id", "packed"].map(|name| {
                SeriesIndex::new(gen, &identified_by(&of(order), name)).expect("a key")
            });
            for (row, values) in all.iter().enumerate() {
                for index in &indexes {
                    let number = index.number_of(|column| values.get(column)).expect("a row of the table");
                    prop_assert_eq!(gen.row_of(number), row as u64);
                    prop_assert!(index.is_below(number, row as u64 + 1) && !index.is_below(number, row as u64));
                }
            }
            for row in [0, rows / 2, rows - 1] {
                prop_assert_eq!(&gen.row(row), &all[row as usize]);
            }
            let mut ids: Vec<String> = all.iter().map(|row| format!("{:?}", row[0])).collect();
            ids.sort_unstable();
            ids.dedup();
            prop_assert_eq!(ids.len() as u64, rows);
        }
    }
}

#[test]
fn files_have_one_chunk_each_in_the_order_of_their_names() {
    let gen = made(&chunked(200, "survey", 5, 10_000, "key"), 7);
    let (all, first) = (filled(&gen, 0, 10_000), gen.files().expect("files").to_vec());
    let (chunks, files) = (integers(&all, "chunk_id"), integers(&all, "file"));
    assert_eq!((first.len(), first[0], first[200]), (201, 0, 10_000));
    let mut names = Vec::new();
    for (file, pair) in first.windows(2).enumerate() {
        let rows = pair[0] as usize..pair[1] as usize;
        assert!(files[rows.clone()].iter().all(|&found| found == file as i64));
        assert!(chunks[rows.clone()].windows(2).all(|pair| pair[0] == pair[1]), "file {file}");
        names.push(chunks[rows.start].to_string());
    }
    assert!(names.windows(2).all(|pair| pair[0] < pair[1]));
    // At random the files are as large, and have rows from all over.
    let random = made(&chunked(200, "survey", 5, 10_000, "random"), 7);
    assert_eq!(random.files().expect("files"), first);
    assert!(
        gen.runs_in(3).is_some_and(|runs| runs > 0) && random.runs_in(3).is_none(),
        "keys at random have no runs"
    );
    assert!(integers(&filled(&random, 0, 100), "file").windows(2).any(|pair| pair[0] != pair[1]));
    assert!(made(&table(1, 1, vec![]), 7).files().is_none());
}

#[test]
fn tables_with_equal_chunks_have_equal_keys_in_any_type_and_another_seed_has_others() {
    let plan = chunked(20, "survey", 50, 5_000, "key");
    let other = TablePlan { name: "variant".into(), stream: "variant".into(), ..plan.clone() };
    let ids = |plan: &TablePlan, seed| {
        let all = filled(&made(plan, seed), 0, 5_000);
        (0..5_000).map(|row| all.columns[0].value(row)).collect::<Vec<_>>()
    };
    assert_eq!(ids(&plan, 7), ids(&other, 7));
    assert_ne!(ids(&plan, 7), ids(&plan, 8));
    let all = filled(&made(&plan, 7), 0, 5_000);
    let mut both: Vec<(i64, String)> =
        integers(&all, "packed").into_iter().zip(ids(&plan, 7).iter().map(|id| format!("{id:?}"))).collect();
    both.sort_unstable();
    assert!(both.windows(2).all(|pair| pair[0].1 < pair[1].1), "numbers sort as texts");
}

#[test]
fn values_that_no_row_has_are_not_found() {
    let plan = chunked(20, "survey", 50, 5_000, "key");
    let gen = made(&plan, 7);
    let (by_text, by_number) = (
        SeriesIndex::new(&gen, &plan).unwrap(),
        SeriesIndex::new(&gen, &identified_by(&plan, "packed")).unwrap(),
    );
    let found =
        |index: &SeriesIndex, at: usize, value: Value| index.number_of(|c| (c == at).then_some(&value));
    let (id, packed) = (gen.row(9)[0].clone(), gen.row(9)[4].clone());
    let Value::Text(text) = id.clone() else { panic!("a text") };
    assert_eq!((found(&by_text, 0, id), found(&by_number, 4, packed)), (Some(9), Some(9)));
    let others =
        [format!("{text} "), text.to_uppercase(), text[1..].into(), text.replace('-', "+"), String::new()];
    for other in others {
        assert_eq!(found(&by_text, 0, Value::Text(other.clone())), None, "{other}");
    }
    assert_eq!(found(&by_text, 0, Value::Text(format!("{}999999", &text[..10]))), None, "no such source");
    for other in [Value::Null, Value::I64(-1), Value::I64(0), Value::I64(i64::MAX), Value::U64(u64::MAX)] {
        assert_eq!(found(&by_number, 4, other), None);
    }
}

#[test]
fn what_rows_in_files_of_chunks_cannot_have_is_refused() {
    let with = |change: &dyn Fn(&mut Json)| {
        let mut plan = serde_json::to_value(chunked(20, "survey", 50, 5_000, "key")).unwrap();
        change(&mut plan);
        problems(&serde_json::from_value(plan).unwrap(), 1, EPOCH_NS).join("\n")
    };
    assert_eq!(with(&|_| ()), "");
    assert!(with(&|p| p["source"]["events"]["order"] = json!({"by": "time"}))
        .contains("no time to be ordered by"));
    let by_time = json!({"by": "file", "files": 3});
    assert!(with(&|p| p["source"]["events"]["order"] = by_time.clone()).contains("no time to be ordered by"));
    assert!(with(&|p| p["source"]["series"] = json!(2)).contains("series is 2"));
    assert!(with(&|p| p["source"]["events"]["rates"] = json!({"sigma": 1.0})).contains("without rates"));
    assert!(with(&|p| p["source"]["events"]["chunks"]["files"] = json!(0)).contains("files is 0"));
    assert!(with(&|p| p["columns"][1]["type"] = json!("i16")).contains("do not fit"));
    let time = column("at", "time_ms", json!({"kind": "sweep_time"}));
    assert!(with(&|p| p["columns"][1] = time.clone()).contains("`sweep_time` needs times"));
    let part = column("c", "i64", json!({"kind": "chunk", "part": "file"}));
    let alone = problems(&table(1, 1, vec![part]), 1, EPOCH_NS).join("\n");
    assert!(alone.contains("write [tables.<name>.chunks]"), "{alone}");
    // A text that lacks a part of the key, or has one of any length, names no row.
    for pattern in ["%05d%c%03d-%d", "%04d%c%03d-%06d"] {
        let mut plan = serde_json::to_value(chunked(20, "survey", 50, 5_000, "key")).unwrap();
        plan["columns"][0]["gen"]["pattern"] = json!(pattern);
        let plan: TablePlan = serde_json::from_value(plan).unwrap();
        assert!(SeriesIndex::new(&made(&plan, 1), &plan).is_err(), "{pattern}");
    }
}
