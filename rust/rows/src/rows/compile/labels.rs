//! Labels of an enum: what every engine keeps as it is.

use crate::plan::GenPlan;

/// Why a generator does not name the labels of an enum.
pub(super) fn labels_problem(plan: &GenPlan) -> Option<String> {
    let labels = plan.labels();
    let empty = labels.iter().find(|label| label.is_empty());
    let twice = labels.iter().enumerate().find(|(at, label)| labels[..*at].contains(label));
    let odd = |label: &&&str| label.chars().any(|c| matches!(c, '\'' | '\\') || c.is_control());
    if let Some(label) = labels.iter().find(odd) {
        return Some(format!(
            "label {label:?} has a quote, a backslash or a control character; leave it out"
        ));
    }
    if let Some(label) = labels.iter().find(|label| label.ends_with(' ')) {
        return Some(format!("label {label:?} ends with a blank, which MySQL drops; leave it out"));
    }
    match (empty, twice) {
        (Some(_), _) => {
            Some("one of its labels is empty; a label of an enum has a character at least".into())
        }
        (None, Some((_, label))) => Some(format!("label {label:?} stands twice; leave one out")),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_an_engine_would_change_are_refused() {
        let problem = |labels: &[&str]| {
            let plan = serde_json::json!({"kind": "categorical", "values": labels});
            labels_problem(&serde_json::from_value(plan).unwrap())
        };
        assert_eq!(problem(&["on", "On", " off", "not known"]), None);
        for (labels, why) in [
            (["on", "off "], "ends with a blank"),
            (["on", "on"], "stands twice"),
            (["on", ""], "is empty"),
            (["on", "o'n"], "has a quote"),
        ] {
            assert!(problem(&labels).is_some_and(|said| said.contains(why)), "{labels:?}");
        }
    }
}
