//! The border in: the plan that Python writes is the plan that we read. Both sides test the same files.

use inrush_rows::plan::{Directives, Repeat, RunPlan, Segment, Statement, PLAN_VERSION};
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
    for version in [0, 2, 8, 99] {
        other["version"] = version.into();
        let said = RunPlan::from_json(&other.to_string()).expect_err("it is not ours").to_string();
        assert!(said.contains(&format!("version {version} ")) && said.contains("start a new run"), "{said}");
    }
    other["version"] = PLAN_VERSION.into();
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
