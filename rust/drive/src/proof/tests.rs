mod held;

use super::*;

#[test]
fn figures_of_two_servers_are_added_or_stand_side_by_side() {
    let item = ChecksumItem::Rows {};
    assert_eq!(added(&item, "2", "3"), "5");
    assert_eq!(added(&item, "2", "many"), "2 and many");
    let most = i128::MAX.to_string();
    assert_eq!(added(&item, &most, "1"), format!("{most} and 1"), "no sum of 128 bits");
}

#[test]
fn a_proof_is_held_against_the_figures_of_its_own_items() {
    let table = serde_json::json!({"name": "t", "stream": "t", "source": {"kind": "generated", "series": 1, "period_ns": 1},
        "columns": [{"name": "k", "type": "i64", "wire": "", "gen": {"kind": "sequence", "start": 1, "step": 1}}]});
    let target = serde_json::from_value(serde_json::json!({"engine": "null", "url": ""})).expect("a target");
    let plan = RunPlan::of_target(target, vec![serde_json::from_value(table).expect("a table")]);
    let proof = |items: serde_json::Value| -> ProofPlan {
        let proof = serde_json::json!({"table": 0, "first_row": 0, "rows": 10, "screen": "", "read_back": "r", "items": items});
        serde_json::from_value(proof).expect("a proof")
    };
    let mut known = Expectations::default();
    let mut sums = |items: serde_json::Value| {
        known.generated(&plan, &proof(items), true).expect("figures").sums.sums().to_vec()
    };
    // The same rows every time: first only read back, then counted, then summed.
    assert!(sums(serde_json::json!([])).is_empty());
    assert_eq!(sums(serde_json::json!([{"kind": "rows"}])), [10]);
    assert_eq!(sums(serde_json::json!([{"kind": "sum_wrapped", "column": "k"}])), [55]);
    // Counted before, and then also read back.
    let of = proof(serde_json::json!([{"kind": "rows"}, {"kind": "sum_wrapped", "column": "k"}]));
    let mut digest = |read_back| known.generated(&plan, &of, read_back).expect("figures").digest;
    assert_eq!(digest(false).rows, 0);
    let read = digest(true);
    assert_eq!((read.rows, digest(true) == read, digest(false) == read), (10, true, true));
}

#[test]
fn figures_of_shards_are_added_as_the_engine_adds_them() {
    let column = || "k".to_owned();
    let wrapped = ChecksumItem::SumWrapped { column: column() };
    let hashed = ChecksumItem::SumHash { column: column(), hash: ValueHash::CityHash64, trimmed: false };
    let low = ChecksumItem::SumLow { column: column() };
    let most = i64::MAX.to_string();
    assert_eq!(added(&low, &most, "1"), "9223372036854775808");
    assert_eq!(added(&wrapped, &most, "1"), i64::MIN.to_string());
    assert_eq!(added(&hashed, &u64::MAX.to_string(), "3"), "2");
    assert_eq!(added(&low, "no answer", "1"), "no answer and 1");
}

#[test]
fn a_statement_over_many_rows_has_as_long_as_they_take() {
    let hours = |rows: u64| limit_ns(rows) as f64 / 3.6e12;
    assert!((hours(0) - 1.0).abs() < 1e-9 && hours(1_000_000) < 1.1);
    assert!(hours(1_000_000_000) > 24.0, "a day for 10^9 rows: {}", hours(1_000_000_000));
    assert_eq!(limit_ns(u64::MAX), u64::MAX);
    assert_eq!(read_back_limit_ns(10_000, 5_000_000_000), 11_000_000_000);
    assert_eq!(read_back_limit_ns(u64::MAX, u64::MAX), u64::MAX);
}

#[test]
fn a_figure_that_is_whole_has_no_fraction_and_another_one_keeps_it() {
    let text = |figure: &str| integer_text(&Value::Text(figure.into()));
    assert_eq!(["12", "12.0", "12.000", "12.5", "12.05"].map(text), ["12", "12", "12", "12.5", "12.05"]);
}
