//! From an identity back to its row, and from the keys of a call to the rows that it asks for.

use crate::rows_common::{column, made, table, telemetry};
use inrush_rows::plan::TablePlan;
use inrush_rows::rows::asked::AskedRows;
use inrush_rows::rows::{SeriesIndex, Value};
use serde_json::json;

#[test]
fn identities_lead_back_to_their_rows() {
    for plan in telemetry() {
        let gen = made(&plan, 3);
        let index = SeriesIndex::new(&gen, &plan).unwrap();
        for row in [0, 1, 49_999, 50_000, 448_447, 448_448, 123_456_789] {
            let values = gen.row(row);
            assert_eq!(index.number_of(|column| values.get(column)), Some(row), "{}", plan.name);
        }
    }
}

#[test]
fn identities_of_numbered_rows_and_own_periods_lead_back_too() {
    let numbered = |columns: Vec<serde_json::Value>, identity: &str, series| {
        let mut plan = table(series, 1_000_000_000, columns);
        plan.identity = identity.split(' ').map(String::from).collect();
        plan
    };
    let key = || {
        column(
            "k",
            "text",
            json!({"kind": "format", "pattern": "s%03d", "fields": [{"kind": "cycle", "from": 0, "to": 999}]}),
        )
    };
    let plans = [
        numbered(vec![column("n", "i64", json!({"kind": "sequence", "start": 7, "step": 3}))], "n", 1),
        numbered(
            vec![column("t", "time_us", json!({"kind": "time", "period_us": 250, "jitter_us": 249}))],
            "t",
            1,
        ),
        numbered(
            vec![key(), column("t", "time_ms", json!({"kind": "sweep_time", "jitter_ms": 50}))],
            "k t",
            1000,
        ),
        numbered(
            vec![
                key(),
                column(
                    "t",
                    "time_us",
                    json!({"kind": "series_time", "median_period_ms": 1200.0, "sigma": 1.0, "jitter_ms": 1}),
                ),
            ],
            "k t",
            1000,
        ),
    ];
    for plan in plans {
        let gen = made(&plan, 5);
        let index = SeriesIndex::new(&gen, &plan).unwrap();
        for row in [0, 5, 999, 1000, 987_654] {
            let values = gen.row(row);
            assert_eq!(index.number_of(|column| values.get(column)), Some(row), "{:?}", plan.identity);
        }
    }
}

#[test]
fn an_identity_that_names_two_rows_is_refused() {
    let mut plan = table(
        100,
        1_000_000_000,
        vec![
            column("k", "i32", json!({"kind": "cycle", "from": 1, "to": 40})),
            column("t", "time_ms", json!({"kind": "sweep_time"})),
        ],
    );
    plan.identity = vec!["k".into(), "t".into()];
    let error = SeriesIndex::new(&made(&plan, 1), &plan).err().unwrap().to_string();
    assert!(error.contains("two of its series have the same identity"), "{error}");
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
fn a_key_that_no_row_has_asks_for_no_row() {
    let numbered = |ty: &str, start: i64, step: i64| {
        let mut plan = table(
            1,
            1_000_000_000,
            vec![
                column("n", ty, json!({"kind": "sequence", "start": start, "step": step})),
                column("v", "i64", json!({"kind": "uniform", "from": 0, "to": 1_000_000_000})),
            ],
        );
        plan.identity = vec!["n".into()];
        plan
    };
    let of = |plan: &TablePlan, n: i64| asked(plan, &["n"], &[Value::I64(n)]);
    for (of_three, of_down) in [("i64", "i64"), ("u32", "i32")] {
        let (three, down) = (numbered(of_three, 7, 3), numbered(of_down, -7, -3));
        assert_eq!(
            [of(&three, 7), of(&three, 10), of(&three, 7 + 3 * 4_999)],
            [vec![0], vec![1], vec![4_999]]
        );
        assert_eq!([of(&down, -7), of(&down, -10)], [vec![0], vec![1]]);
        for none in [6, 5, 4, 8, 9, 11, 7 + 3 * 5_000, i64::MIN, i64::MAX] {
            assert!(of(&three, none).is_empty(), "{none}");
            assert!(of(&down, -none.max(-i64::MAX)).is_empty(), "-{none}");
        }
        // A key of more than what numbers the rows: the whole of it counts.
        let whole = made(&three, 5).row(12);
        assert_eq!(asked(&three, &["n", "v"], &whole), [12]);
        assert!(asked(&three, &["n", "v"], &[whole[0].clone(), Value::I64(-1)]).is_empty());
    }
}

#[test]
fn a_time_that_no_row_has_asks_for_no_row() {
    let key =
        json!({"kind": "format", "pattern": "s%03d", "fields": [{"kind": "cycle", "from": 0, "to": 999}]});
    let sweeps = |gen: serde_json::Value| {
        let mut plan =
            table(100, 1_000_000_000, vec![column("k", "text", key.clone()), column("t", "time_ms", gen)]);
        plan.identity = vec!["k".into(), "t".into()];
        plan
    };
    for gen in [
        json!({"kind": "sweep_time"}),
        json!({"kind": "sweep_time", "jitter_ms": 50}),
        json!({"kind": "series_time", "median_period_ms": 1200.0, "sigma": 1.0, "jitter_ms": 10}),
    ] {
        let plan = sweeps(gen.clone());
        let row = made(&plan, 5).row(1_234);
        assert_eq!(asked(&plan, &["k", "t"], &row), [1_234], "{gen}");
        let Value::TimeMs(at) = row[1] else { panic!("{row:?}") };
        for beside in [-1, 1] {
            let params = [row[0].clone(), Value::TimeMs(at + beside)];
            assert!(asked(&plan, &["k", "t"], &params).is_empty(), "{gen}, {beside} ms beside");
        }
        let sweeps_of_one = asked(&plan, &["k"], &row[..1]);
        assert_eq!(sweeps_of_one, (34..5_000).step_by(100).collect::<Vec<u64>>(), "{gen}");
    }
}
