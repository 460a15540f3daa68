//! The border in: the plan that Python writes is the plan that we read. Both sides test the same files.

use inrush_rows::plan::{Directives, DriveSegment, Pick, Repeat, RunPlan, Segment, Statement, Tag};
use serde_json::Value;

const GOLDEN: &str = include_str!("../../../python/tests/golden/plan.json");
/// Every field of every type of a plan; `python/tests/test_border.py` says that it is whole.
const WHOLE: &str = include_str!("../../../python/tests/golden/border.json");

#[test]
fn every_field_of_a_plan_is_written_back_as_it_was_read() {
    let plan = RunPlan::from_json(WHOLE).expect("the whole plan is a plan");
    let said: Value = serde_json::from_str(WHOLE).expect("the whole plan is JSON");
    let written = serde_json::to_value(&plan).expect("plans are JSON");
    assert_eq!(lost(&said, &written, "plan"), Vec::<String>::new());
    // A field that Rust alone knows is in no example, and is written out with its default.
    assert_eq!(lost(&written, &said, "plan"), Vec::<String>::new());
}

#[test]
fn a_statement_is_its_text_or_a_text_with_what_is_done_with_its_rows() {
    let repeated =
        |repeat| Statement { text: "SELECT 1".into(), repeat: Some(repeat), ..Statement::default() };
    let directives = Directives { columns: Some(vec!["a".into()]), ..Directives::default() };
    for (json, statement) in [
        (r#""SELECT 1""#, Statement::from("SELECT 1")),
        (r#"{"text":"SELECT 1","repeat":"each_row"}"#, repeated(Repeat::EachRow)),
        (r#"{"text":"SELECT 1","repeat":"until_no_rows"}"#, repeated(Repeat::UntilNoRows)),
        (
            r#"{"text":"SELECT 1","directives":{"columns":["a"]}}"#,
            Statement { directives: Some(directives), ..Statement::from("SELECT 1") },
        ),
    ] {
        assert_eq!(serde_json::from_str::<Statement>(json).expect("a statement"), statement);
        assert_eq!(serde_json::to_string(&statement).expect("statements are JSON"), json);
    }
    for refused in [r#"{"text": "SELECT 1"}"#, r#"{"text": "", "repeat": "each_row", "more": 1}"#, "7"] {
        assert!(serde_json::from_str::<Statement>(refused).is_err(), "{refused}");
    }
}

#[test]
fn version_1_wrote_what_is_done_with_rows_as_a_comment() {
    let mut old: Value = serde_json::from_str(WHOLE).expect("the whole plan is JSON");
    old["version"] = 1.into();
    old["segments"][0]["statements"][1] = "/* each */ SELECT 'DROP TABLE u'".into();
    old["segments"][0]["statements"][2] = " /* until none */ SELECT 1".into();
    old["segments"][1]["repeat"]["fresh"][1] = "/* each */ SELECT 'TRUNCATE u'".into();
    let read = RunPlan::from_json(&old.to_string()).expect("version 1 is read");
    // Steps and directives are of later versions, and no plan of version 1 had them: it is read as one of version 2.
    let whole = RunPlan::from_json(WHOLE).expect("the whole plan is a plan");
    assert_eq!((read.version, whole.version), (2, 8));
    assert_eq!(read, RunPlan { version: 2, ..whole });
}

/// A plan on InfluxDB with every kind of place that a statement stands in, each with the same directives.
fn of_influxdb(version: u32, statement: &Value, operation: &Value) -> Value {
    let mut plan: Value = serde_json::from_str(WHOLE).expect("the whole plan is JSON");
    plan["version"] = version.into();
    plan["target"]["engine"] = "influxdb".into();
    plan["operations"][1] = operation.clone();
    plan["segments"][0]["statements"] = vec![statement.clone(), "SHOW DATABASES".into()].into();
    for segment in plan["segments"].as_array_mut().expect("segments").iter_mut() {
        if segment["repeat"].is_object() {
            segment["repeat"]["fresh"] = vec![statement.clone()].into();
            segment["repeat"]["proofs"][0]["screen"] = statement.clone();
        }
        for (list, key) in [("proofs", "screen"), ("proofs", "read_back"), ("probes", "statement")] {
            if segment[list].is_array() {
                segment[list][0][key] = statement.clone();
            }
        }
        if segment["sample"].is_object() {
            segment["sample"]["probes"][0]["statement"] = statement.clone();
        }
    }
    plan
}

#[test]
fn versions_before_4_wrote_directives_as_lines_in_front_of_a_text() {
    let lines = "\n-- on: db\n-- if marked: db2\n-- columns: a, b c ,\n-- empty: 0\n\
        -- pairs: s.a as b, s.*, s.c\n-- only: t=v\n-- of its author: x\nSHOW STATS";
    let said = serde_json::json!({
        "on": "db", "if_marked": "db2", "columns": ["a", "b c"], "zero_when_empty": true,
        "pairs": [{"name": "s.a", "as": "b"}, {"name": "s.", "prefix": true}, {"name": "s.c"}],
        "only": {"tag": "t", "value": "v"},
    });
    let directives: Directives = serde_json::from_value(said.clone()).expect("directives");
    assert_eq!(directives.only, Some(Tag { tag: "t".into(), value: "v".into() }));
    assert_eq!(directives.pairs.expect("pairs")[2], Pick { name: "s.c".into(), prefix: false, shown: None });
    let text = "-- of its author: x\nSHOW STATS";
    let whole: Value = serde_json::from_str(WHOLE).expect("the whole plan is JSON");
    let mut before = whole["operations"][1].clone();
    before.as_object_mut().expect("an operation").remove("directives");
    before["text"] = lines.into();
    let mut after = whole["operations"][1].clone();
    (after["text"], after["directives"]) = (text.into(), said.clone());
    let new = of_influxdb(4, &serde_json::json!({"text": text, "directives": said}), &after);
    let new = RunPlan::from_json(&new.to_string()).expect("a plan");
    for version in [1, 2, 3] {
        let old = of_influxdb(version, &lines.into(), &before);
        assert_eq!(RunPlan::from_json(&old.to_string()).expect("an old plan is read"), new);
    }
    let mut of_another = of_influxdb(2, &lines.into(), &before);
    of_another["target"]["engine"] = "duckdb".into();
    let of_another = RunPlan::from_json(&of_another.to_string()).expect("a plan");
    assert_eq!(of_another.operations[1].text, lines, "other engines have comments");
}

#[test]
fn a_comment_of_version_2_is_a_comment() {
    let mut plan: Value = serde_json::from_str(WHOLE).expect("the whole plan is JSON");
    plan["segments"][0]["statements"] = ["/* each */ SELECT 1"].as_slice().into();
    let read = RunPlan::from_json(&plan.to_string()).expect("a plan");
    let Segment::Control { statements, .. } = &read.segments[0] else { panic!("it is a control segment") };
    assert_eq!(statements, &[Statement::from("/* each */ SELECT 1")]);
}

#[test]
fn a_plan_of_version_1_without_such_words_keeps_its_version() {
    let plan = RunPlan::from_json(GOLDEN).expect("the golden plan is a plan");
    assert_eq!(plan.version, 1);
    let repeats = plan.segments.iter().filter_map(|s| match s {
        Segment::Drive(DriveSegment { repeat: Some(repeat), .. }) => Some(repeat),
        _ => None,
    });
    assert!(repeats.flat_map(|r| &r.fresh).all(|s| s.repeat.is_none()));
}

#[test]
fn the_golden_plan_is_read_and_written_back_equal() {
    let plan = RunPlan::from_json(GOLDEN).expect("the golden plan is a plan");
    let written = serde_json::to_string(&plan).expect("plans are JSON");
    assert_eq!(RunPlan::from_json(&written).expect("what we write we read"), plan);
}

#[test]
fn nothing_that_python_says_is_lost() {
    let plan = RunPlan::from_json(GOLDEN).expect("the golden plan is a plan");
    let said: Value = serde_json::from_str(GOLDEN).expect("the golden plan is JSON");
    let kept = serde_json::to_value(&plan).expect("plans are JSON");
    assert_eq!(lost(&said, &kept, "plan"), Vec::<String>::new());
}

#[test]
fn the_golden_plan_shows_what_plans_are_made_of() {
    let plan = RunPlan::from_json(GOLDEN).expect("the golden plan is a plan");
    let drives = plan.segments.iter().filter_map(|s| match s {
        Segment::Drive(drive) => Some(drive),
        _ => None,
    });
    let roles: Vec<&str> = drives.flat_map(|d| d.roles.iter().map(|r| r.name.as_str())).collect();
    assert_eq!(roles, ["writers/port_data_counters", "writers/port_errors", "readers"]);
    assert!(plan.segments.iter().any(|s| matches!(s, Segment::Proof { proofs, .. } if proofs.len() == 2)));
    assert!(plan.operations.iter().any(|o| !o.members.is_empty()), "a page");
}

#[test]
fn a_plan_of_another_version_or_with_an_unknown_key_is_refused() {
    let mut other: Value = serde_json::from_str(GOLDEN).expect("the golden plan is JSON");
    other["version"] = 99.into();
    let refused = RunPlan::from_json(&other.to_string()).expect_err("version 99 is not ours");
    assert!(refused.to_string().contains("version 99"), "{refused}");
    other["version"] = 1.into();
    other["surprise"] = 1.into();
    let refused = RunPlan::from_json(&other.to_string()).expect_err("unknown keys are mistakes");
    assert!(refused.to_string().contains("surprise"), "{refused}");
}

/// Paths of values of `said` that are not in `kept`. Keys that only `kept` has are defaults written out.
fn lost(said: &Value, kept: &Value, path: &str) -> Vec<String> {
    match (said, kept) {
        (Value::Object(said), Value::Object(kept)) => said
            .iter()
            .flat_map(|(key, value)| {
                let path = format!("{path}.{key}");
                kept.get(key).map_or_else(|| vec![path.clone()], |found| lost(value, found, &path))
            })
            .collect(),
        (Value::Array(said), Value::Array(kept)) if said.len() == kept.len() => said
            .iter()
            .zip(kept)
            .enumerate()
            .flat_map(|(i, (a, b))| lost(a, b, &format!("{path}[{i}]")))
            .collect(),
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => Vec::new(),
        _ if said == kept => Vec::new(),
        _ => vec![format!("{path}: {said} became {kept}")],
    }
}
