use super::*;
use proptest::prelude::*;
use std::sync::Arc;

fn plan(series: u64, rows: u64, length: serde_json::Value, source: serde_json::Value) -> RunPlan {
    let mut from = serde_json::json!({"kind": "generated", "series": series, "period_ns": 1_000_000_000});
    if !source.is_null() {
        from["events"] = source;
    }
    let mut range =
        serde_json::json!({"table": 0, "rows": rows, "columns": ["at", "v"], "time": "at", "length": length});
    if let Some(series) = length.get("of") {
        range["series"] = series.clone();
        range["length"].as_object_mut().expect("an object").remove("of");
    }
    let param = |name: &str, ty: &str, gen: serde_json::Value| serde_json::json!({"name": name, "type": ty, "gen": gen});
    serde_json::from_value(
        serde_json::json!({"version": 1, "run_id": "", "study": "", "seed": 1, "epoch_ns": 0,
        "target": {"engine": "null", "url": ""}, "segments": [], "record": {"interval_ns": 1, "flush_ns": 1},
        "watch": {"every_ns": 0, "processes": {}},
        "tables": [{"name": "t", "stream": "t", "source": from, "identity": ["k", "at"], "columns": [
            {"name": "k", "type": "i32", "wire": "", "gen": {"kind": "cycle", "from": 1, "to": series}},
            {"name": "at", "type": "time_ms", "wire": "", "gen": {"kind": "sweep_time"}},
            {"name": "v", "type": "i64", "wire": "", "gen": {"kind": "uniform", "from": 0, "to": 99}}]}],
        "operations": [{"name": "x", "kind": "extract", "table": 0, "range": range, "params": [
            param("k", "i32", serde_json::json!({"kind": "range_key", "column": "k"})),
            param("from", "time_ms", serde_json::json!({"kind": "range_from"})),
            param("to", "time_ms", serde_json::json!({"kind": "range_to"}))]}]}),
    )
    .expect("a plan")
}

fn ranges(plan: RunPlan) -> Result<Ranges, Error> {
    let plan = Arc::new(plan);
    Ranges::of(&Generators::new(plan.clone()), &plan.operations[0]).map(|found| found.expect("a range"))
}

fn refused(plan: RunPlan) -> String {
    ranges(plan).err().expect("it is refused").to_string()
}

fn rows_of(ranges: &Ranges, interval: &Interval) -> u64 {
    let mut room = ranges.rows().room(ranges.columns());
    ranges.rows().add_up(interval, ranges.columns(), &mut room).rows
}

proptest! {
    #[test]
    fn a_range_of_so_many_rows_has_so_many_whatever_series_was_drawn(
        (series, rows, wanted) in (1u64..9, 1u64..200, 1u64..40), ordered in any::<bool>(), ticket in 0u64..50,
    ) {
        let source = if ordered {
            serde_json::json!({"rows": rows, "order": {"by": "key"}, "rates": {"sigma": 1.5}})
        } else {
            serde_json::Value::Null
        };
        let length = serde_json::json!({"kind": "rows", "rows": wanted});
        let Ok(ranges) = ranges(plan(series, rows, length, source)) else { return Ok(()) };
        let interval = ranges.interval(7, ticket);
        prop_assert_eq!(interval, ranges.interval(7, ticket));
        prop_assert!(ranges.rows().count(interval.series) >= wanted);
        prop_assert_eq!(rows_of(&ranges, &interval), wanted);
    }
}

#[test]
fn a_share_is_of_the_series_that_was_drawn_and_all_of_it_is_all_its_rows() {
    let all =
        ranges(plan(3, 10, serde_json::json!({"kind": "share", "ppm": 1_000_000}), serde_json::Value::Null));
    let all = all.expect("a range");
    for ticket in 0..20 {
        let interval = all.interval(1, ticket);
        assert_eq!(rows_of(&all, &interval), if interval.series == 0 { 4 } else { 3 });
    }
    let series: std::collections::HashSet<u64> = (0..40).map(|t| all.interval(1, t).series).collect();
    assert_eq!(series.len(), 3, "every series is asked for");
}

#[test]
fn a_length_of_time_is_kept_and_ends_with_the_table() {
    let length = serde_json::json!({"kind": "time", "ns": 4_000_000_000u64, "of": 1});
    let found = ranges(plan(2, 20, length, serde_json::Value::Null)).expect("a range");
    for ticket in 0..20 {
        let interval = found.interval(1, ticket);
        assert_eq!((interval.series, interval.to - interval.from), (1, 4_000));
        assert_eq!(rows_of(&found, &interval), 4);
    }
}

#[test]
fn parameters_are_those_of_the_series_and_of_the_interval() {
    let length = serde_json::json!({"kind": "rows", "rows": 2, "of": 1});
    let found = ranges(plan(2, 4, length, serde_json::Value::Null)).expect("a range");
    let mut out = vec![Value::Null; 3];
    found.fill(&found.interval(1, 0), &mut out);
    assert_eq!(out, [Value::I64(2), Value::TimeMs(0), Value::TimeMs(2_000)]);
}

#[test]
fn what_cannot_be_drawn_is_refused_with_what_there_is() {
    let rows = |n: u64| serde_json::json!({"kind": "rows", "rows": n});
    let said = refused(plan(3, 10, rows(5), serde_json::Value::Null));
    assert!(said.contains("no series has 5 rows, the longest has 4"), "{said}");
    let mut one = plan(3, 10, rows(4), serde_json::Value::Null);
    one.operations[0].range.as_mut().expect("a range").series = Some(2);
    assert!(refused(one).contains("series 2 of 3 has 3 rows"));
    let mut keyless = plan(3, 10, rows(1), serde_json::Value::Null);
    keyless.operations[0].params.remove(0);
    assert!(refused(keyless).contains("its parameters name no series"));
    let mut timeless = plan(3, 10, rows(1), serde_json::Value::Null);
    timeless.operations[0].range.as_mut().expect("a range").columns = vec!["v".into()];
    assert!(refused(timeless).contains("does not show at"));
    let mut none = plan(3, 10, rows(0), serde_json::Value::Null);
    none.operations[0].range.as_mut().expect("a range").time = "at".into();
    assert!(refused(none).contains("no length"));
    let mut bare = plan(3, 10, rows(1), serde_json::Value::Null);
    bare.operations[0].range = None;
    assert_eq!(range_problems(&bare, &bare.operations[0]).len(), 1);
}

#[test]
fn a_query_asks_for_as_much_of_a_range_as_it_likes() {
    let whole = plan(2, 8, serde_json::json!({"kind": "rows", "rows": 2}), serde_json::Value::Null);
    let mut part = whole.clone();
    part.operations[0].kind = OpKind::Query;
    part.operations[0].range.as_mut().expect("a range").columns.clear();
    part.operations[0].params.remove(0);
    let (of_extract, of_query) = (ranges(whole).expect("a range"), ranges(part.clone()).expect("a range"));
    let mut values = vec![Value::Null; 2];
    for ticket in 0..20 {
        let interval = of_query.interval(7, ticket);
        assert_eq!(interval, of_extract.interval(7, ticket));
        of_query.fill(&interval, &mut values);
        assert_eq!(values, [Value::TimeMs(interval.from), Value::TimeMs(interval.to)]);
    }
    assert_eq!(range_problems(&part, &part.operations[0]), Vec::<String>::new());
    let mut unasked = part.clone();
    unasked.operations[0].params.clear();
    assert!(range_problems(&unasked, &unasked.operations[0])[0].contains("no parameter asks for it"));
    part.operations[0].kind = OpKind::Insert;
    assert!(range_problems(&part, &part.operations[0])[0].contains("only an extract and a query"));
}
