use super::*;

const OF_V: i64 = 7;

/// Rows 0…: id = row, v = 7.
fn check(assertion: Assertion, params: serde_json::Value, torn: bool) -> Check {
    let table = serde_json::json!({"name": "t", "stream": "t", "identity": ["id"],
        "columns": [
            {"name": "id", "type": "i64", "wire": "", "gen": {"kind": "sequence", "start": 0, "step": 1}},
            {"name": "v", "type": "i64", "wire": "", "gen": {"kind": "constant", "value": OF_V}}],
        "source": {"kind": "generated", "series": 10, "period_ns": 1}});
    let operation = serde_json::json!(
        {"name": "q", "kind": "query", "table": 0, "holds": [assertion], "params": params});
    let plan = serde_json::json!({"version": 1, "run_id": "", "study": "", "seed": 1, "epoch_ns": 0,
        "target": {"engine": "null", "url": ""}, "tables": [table], "operations": [operation],
        "segments": [], "record": {"interval_ns": 1, "flush_ns": 1},
        "watch": {"every_ns": 0, "processes": {}}});
    let plan: RunPlan = serde_json::from_value(plan).expect("it is written here");
    let plan = std::sync::Arc::new(plan);
    let generators = Generators::new(plan.clone());
    Check::of(&generators, &plan.operations[0], torn, &[TableCount::default()])
        .expect("it is valid")
        .remove(0)
}

fn keys(count: usize) -> serde_json::Value {
    let key = |k| {
        serde_json::json!({"name": format!("k{k}"), "type": "i64",
        "gen": {"kind": "of_series", "table": 0, "column": "id"}})
    };
    (0..count).map(key).collect()
}

fn regenerate(count: usize, may_be_empty: bool) -> Check {
    let (columns, names) = (vec!["id".into(), "v".into()], vec!["id".into(); count]);
    check(Assertion::RowsRegenerate { table: 0, columns, keys: names, may_be_empty }, keys(count), false)
}

fn asked(count: usize) -> Check {
    let (columns, names) = (vec!["id".into(), "v".into()], vec!["id".into(); count]);
    check(Assertion::Asked { table: 0, columns, keys: names }, keys(count), false)
}

fn answer(rows: &[(i64, Value)]) -> Answer {
    let rows = rows.iter().map(|(id, v)| vec![Value::I64(*id), v.clone()]).collect();
    Answer { names: ["id".into(), "v".into()].into(), rows }
}

fn ids(ids: &[i64]) -> Answer {
    answer(&ids.iter().map(|&id| (id, Value::I64(OF_V))).collect::<Vec<_>>())
}

/// A table of which so many rows lay there before, and so many are written meanwhile.
fn counts(settled: u64, meanwhile: u64) -> [TableCount; 1] {
    let counts = [TableCount::default()];
    counts[0].issue(settled);
    counts[0].acknowledge(settled);
    counts[0].settle();
    counts[0].issue(meanwhile);
    counts
}

fn outcome(check: &mut Check, answer: &Answer, params: &[i64], counts: &[TableCount]) -> Option<Outcome> {
    let params: Vec<Value> = params.iter().map(|&id| Value::I64(id)).collect();
    let floor = check.floor(counts);
    check.broken(answer, floor, &Asked { params: &params, sent: 0, counts }).map(|(outcome, _)| outcome)
}

#[test]
fn an_engine_whose_reads_are_late_is_held_to_the_rows_that_lay_there_before() {
    let counts = counts(100, 50);
    counts[0].acknowledge(50);
    let count = check(Assertion::CountBounds { table: 0 }, keys(0), false);
    assert_eq!((count.floor(&counts), count.settled(&counts)), (150, 100));
    let outside = |found: i64, floor| {
        let answer = Answer { names: ["n".into()].into(), rows: vec![vec![Value::I64(found)]] };
        count_outside(&answer, floor, counts[0].issued()).is_some()
    };
    assert!(outside(120, count.floor(&counts)) && !outside(120, count.settled(&counts)));
    assert!(outside(99, count.settled(&counts)), "those that lay there are seen");
}

#[test]
fn asked_is_kept_by_the_rows_of_the_keys_alone() {
    let counts = counts(100, 0);
    let (mut one, mut three) = (asked(1), asked(3));
    assert_eq!(outcome(&mut one, &ids(&[5]), &[5], &counts), None);
    assert_eq!(outcome(&mut one, &ids(&[]), &[5], &counts), Some(Outcome::Missing));
    assert_eq!(outcome(&mut one, &ids(&[6]), &[5], &counts), Some(Outcome::Wrong), "another key");
    assert_eq!(outcome(&mut one, &ids(&[5, 5]), &[5], &counts), Some(Outcome::Wrong), "twice");
    assert_eq!(outcome(&mut one, &ids(&[5, 6]), &[5], &counts), Some(Outcome::Wrong), "one too many");
    assert_eq!(outcome(&mut one, &answer(&[(5, Value::I64(8))]), &[5], &counts), Some(Outcome::Wrong));
    assert_eq!(outcome(&mut one, &answer(&[(5, Value::Null)]), &[5], &counts), Some(Outcome::Wrong));
    let mut narrow = ids(&[5]);
    narrow.rows[0].pop();
    assert_eq!(outcome(&mut one, &narrow, &[5], &counts), Some(Outcome::Wrong), "a column short");
    assert_eq!(outcome(&mut one, &ids(&[]), &[500], &counts), None, "no such row");
    assert_eq!(outcome(&mut three, &ids(&[9, 5, 7]), &[5, 7, 9], &counts), None, "in any order");
    assert_eq!(outcome(&mut three, &ids(&[5, 9]), &[9, 5, 9], &counts), None, "an equal key counts once");
    assert_eq!(outcome(&mut three, &ids(&[5, 9]), &[5, 7, 9], &counts), Some(Outcome::Missing));
}

#[test]
fn a_row_that_is_written_meanwhile_may_be_in_the_answer_or_not() {
    let counts = counts(100, 10);
    let mut one = asked(1);
    assert_eq!(outcome(&mut one, &ids(&[105]), &[105], &counts), None);
    assert_eq!(outcome(&mut one, &ids(&[]), &[105], &counts), None);
    assert_eq!(outcome(&mut one, &ids(&[]), &[99], &counts), Some(Outcome::Missing));
    assert_eq!(outcome(&mut one, &ids(&[110]), &[110], &counts), Some(Outcome::Wrong), "never sent");
}

#[test]
fn rows_regenerate_is_broken_by_no_row_and_by_a_row_of_another_key() {
    let there = counts(100, 0);
    let mut keyed = regenerate(1, false);
    assert_eq!(outcome(&mut keyed, &ids(&[5]), &[5], &there), None);
    assert_eq!(outcome(&mut keyed, &ids(&[6]), &[5], &there), Some(Outcome::Wrong));
    assert_eq!(outcome(&mut keyed, &ids(&[]), &[5], &there), Some(Outcome::Missing));
    assert_eq!(outcome(&mut keyed, &ids(&[]), &[5], &counts(9, 91)), None, "not all series were there");
    let meanwhile = counts(9, 91);
    meanwhile[0].acknowledge(91);
    assert_eq!(outcome(&mut keyed, &ids(&[]), &[5], &meanwhile), None, "which were there is not known");
    assert_eq!(outcome(&mut regenerate(1, true), &ids(&[]), &[5], &there), None);
    let mut all = regenerate(0, false);
    assert_eq!(outcome(&mut all, &ids(&[9, 5, 7]), &[], &there), None);
    assert_eq!(outcome(&mut all, &ids(&[9, 5, 9]), &[], &there), Some(Outcome::Wrong), "one came twice");
    assert_eq!(outcome(&mut all, &ids(&[]), &[], &there), Some(Outcome::Missing));
    assert_eq!(outcome(&mut all, &ids(&[]), &[], &counts(0, 10)), None, "nothing was acknowledged");
}

#[test]
fn a_count_without_a_row_is_missing_and_one_outside_its_bounds_wrong() {
    let mut count = Check::Count { table: 0 };
    let counts = counts(10, 5);
    let found = |n| Answer { names: ["n".into()].into(), rows: vec![vec![n]] };
    assert_eq!(outcome(&mut count, &found(Value::I64(12)), &[], &counts), None);
    assert_eq!(outcome(&mut count, &found(Value::U64(9)), &[], &counts), Some(Outcome::Wrong));
    assert_eq!(outcome(&mut count, &found(Value::I64(16)), &[], &counts), Some(Outcome::Wrong));
    assert_eq!(outcome(&mut count, &found(Value::Null), &[], &counts), Some(Outcome::Wrong));
    assert_eq!(outcome(&mut count, &ids(&[]), &[], &counts), Some(Outcome::Missing));
}

#[test]
fn a_torn_row_breaks_its_promise_unless_rows_are_on_their_way() {
    for torn in [false, true] {
        let columns = vec!["id".into(), "v".into()];
        let assertion =
            Assertion::RowsRegenerate { table: 0, columns, keys: Vec::new(), may_be_empty: false };
        let mut check = check(assertion, serde_json::json!([]), torn);
        let (quiet, busy) = (counts(10, 0), counts(10, 5));
        let torn_row = |id| answer(&[(id, Value::Null)]);
        assert_eq!(outcome(&mut check, &ids(&[0]), &[], &quiet), None);
        assert_eq!(outcome(&mut check, &torn_row(0), &[], &quiet), Some(Outcome::Wrong));
        assert_eq!(outcome(&mut check, &torn_row(12), &[], &busy).is_none(), torn);
        let before = outcome(&mut check, &torn_row(9), &[], &busy);
        assert_eq!(before, Some(Outcome::Wrong), "it lay there before any was on its way");
        let other = outcome(&mut check, &answer(&[(12, Value::I64(8))]), &[], &busy);
        assert_eq!(other, Some(Outcome::Wrong), "another value is never right");
    }
}
