//! Laws of UUIDs: unique, of their series, and each leads back to the rows that have it and to no other.

use std::collections::BTreeSet;

use crate::rows_common::{column, draws, made, table, EPOCH_NS};
use inrush_rows::plan::TablePlan;
use inrush_rows::rows::asked::AskedRows;
use inrush_rows::rows::{Columns, RowGen, SeriesIndex, Value, Values};
use serde_json::json;

#[test]
fn no_two_uuids_of_a_table_are_equal_and_they_stay_with_their_series() {
    let uuid = json!({"kind": "uuid"});
    let texts = |columns: &Columns| match &columns.columns[0].values {
        Values::Text(texts) => (0..columns.rows).map(|i| texts.get(i).to_vec()).collect::<Vec<_>>(),
        _ => panic!("UUIDs travel as text"),
    };
    let rows = texts(&draws(1, "uuid", uuid.clone(), 100_000));
    assert_eq!(rows.iter().collect::<BTreeSet<_>>().len(), 100_000);
    assert!(rows.iter().all(|text| text.len() == 36 && text[14] == b'4' && b"89ab".contains(&text[19])));
    let series = texts(&draws(7, "uuid", uuid.clone(), 21));
    assert_eq!(series[..7], series[7..14]);
    assert_eq!(texts(&draws(1, "text", uuid, 50)), rows[..50], "a text column has the same");
}

#[test]
fn a_column_of_uuids_refers_to_uuids_alone() {
    let of = json!({"kind": "text", "min_bytes": 4, "max_bytes": 4, "per": "series"});
    let foreign = json!({"kind": "foreign", "stream": "o", "column": "k", "series": 5, "of": of});
    let plan = table(1, 1_000_000_000, vec![column("c", "uuid", foreign)]);
    let refused = RowGen::new(&plan, 1, EPOCH_NS).err().expect("texts are no UUIDs").to_string();
    assert!(refused.contains("refers to one of UUIDs"), "{refused}");
}

/// The rows, of the first 5,000, that a call with these keys asks for.
fn asked(plan: &TablePlan, by_param: &[&str], params: &[Value]) -> Vec<u64> {
    let generator = made(plan, 5);
    let index = SeriesIndex::new(&generator, plan).unwrap();
    let by_param: Vec<String> = by_param.iter().map(|name| (*name).to_owned()).collect();
    let mut asked = AskedRows::new(plan, &generator, &index, &by_param).unwrap();
    let mut found = vec![7];
    asked.fill(&generator, &index, params, 5_000, &mut found);
    found
}

#[test]
fn a_uuid_that_no_row_has_asks_for_no_row() {
    let uuids = |ty: &str, series, identity: &[&str]| {
        let mut plan = table(
            series,
            1_000_000_000,
            vec![
                column("id", ty, json!({"kind": "uuid"})),
                column("t", "time_ms", json!({"kind": "sweep_time"})),
                column("v", "i64", json!({"kind": "uniform", "from": 0, "to": 1_000_000_000})),
            ],
        );
        plan.identity = identity.iter().map(|name| (*name).to_owned()).collect();
        plan
    };
    let other = |id: &Value, change: &dyn Fn(&str) -> String| match id {
        Value::Text(text) => Value::Text(change(text)),
        _ => panic!("UUIDs travel as text"),
    };
    let last_bit = |text: &str| {
        let digit = u8::from_str_radix(&text[35..], 16).unwrap() ^ 1;
        format!("{}{digit:x}", &text[..35])
    };
    for ty in ["uuid", "text"] {
        let each = uuids(ty, 1, &["id"]);
        let rows: Vec<_> = [0, 1_234, 4_999, 5_000].map(|row| made(&each, 5).row(row)).into();
        let found: Vec<_> = rows.iter().map(|row| asked(&each, &["id"], &row[..1])).collect();
        assert_eq!(found, [vec![0], vec![1_234], vec![4_999], vec![]], "{ty}");
        let two = [rows[1][0].clone(), rows[0][0].clone(), rows[1][0].clone()];
        assert_eq!(asked(&each, &["id", "id", "id"], &two), [0, 1_234], "{ty}");
        let of_other = other(&rows[1][0], &last_bit);
        assert!(asked(&each, &["id"], std::slice::from_ref(&of_other)).is_empty(), "{ty}");
        // A UUID is the same in capital letters; a text is another one.
        let capital = asked(&each, &["id"], &[other(&rows[1][0], &str::to_uppercase)]);
        assert_eq!(capital, if ty == "uuid" { vec![1_234] } else { vec![] }, "{ty}");
        // A key of more than the UUID: the whole of it counts.
        assert_eq!(asked(&each, &["id", "t", "v"], &rows[1]), [1_234], "{ty}");
        assert!(asked(&each, &["id", "v"], &[rows[1][0].clone(), Value::I64(-1)]).is_empty(), "{ty}");

        let series = uuids(ty, 100, &["id", "t"]);
        let row = made(&series, 5).row(1_234);
        assert_eq!(asked(&series, &["id", "t"], &row[..2]), [1_234], "{ty}");
        let all: Vec<u64> = (34..5_000).step_by(100).collect();
        assert_eq!(asked(&series, &["id"], &row[..1]), all, "{ty}");
        assert!(asked(&series, &["id"], &[other(&row[0], &last_bit)]).is_empty(), "{ty}");
    }
}
