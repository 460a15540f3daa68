//! Numbers that several servers have together. Pure.

use std::collections::HashMap;

use crate::engine::Answer;
use inrush_rows::rows::{value_text, Value};

/// Rows of (name, value), in the order in which the names came.
///
/// Whole numbers of one name are added: they count something. Of numbers with a fraction, which may be ratios, neither the
/// sum nor one server's own is that of all together: they are in no row. Anything else is where all say the same.
pub fn by_name(answers: Vec<Answer>) -> Answer {
    let mut together = Answer::default();
    let (mut names, mut places): (Vec<(Value, Vec<Value>)>, _) = (Vec::new(), HashMap::new());
    for answer in answers {
        together.names = answer.names;
        for row in answer.rows {
            let [name, value, ..] = &row[..] else { continue };
            let place = *places.entry(value_text(name)).or_insert(names.len());
            if place == names.len() {
                names.push((name.clone(), Vec::new()));
            }
            names[place].1.push(value.clone());
        }
    }
    together.rows = names.into_iter().filter_map(|(name, each)| Some(vec![name, of_all(&each)?])).collect();
    together
}

/// `None`: there is no value that is all servers' together.
fn of_all(each: &[Value]) -> Option<Value> {
    let whole = |value: &Value| match value {
        Value::F64(_) => None,
        value => value_text(value).parse::<i128>().ok(),
    };
    if let Some(numbers) = each.iter().map(whole).collect::<Option<Vec<i128>>>() {
        let sum = numbers.iter().fold(0i128, |sum, number| sum.saturating_add(*number));
        return Some(Value::Text(sum.to_string()));
    }
    let (first, others) = each.split_first()?;
    let is_number = |value: &Value| value_text(value).parse::<f64>().is_ok();
    let alike = !each.iter().any(is_number) && others.iter().all(|other| other == first);
    alike.then(|| first.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_one_name_are_added_and_ratios_are_not() {
        let text = |text: &str| Value::Text(text.to_owned());
        let answer = |rows: Vec<Vec<Value>>| Answer { names: ["name".into(), "value".into()].into(), rows };
        let one = answer(vec![
            vec![text("bytes"), Value::I64(8192)],
            vec![text("blks"), text("7")],
            vec![text("since"), text("2026-01-01")],
            vec![text("share"), Value::F64(0.5)],
            vec![text("hit_ratio"), text("0.98")],
            vec![text("reset"), text("2026-01-01")],
        ]);
        let mut other = one.clone();
        other.rows[5][1] = text("2026-02-01");
        other.rows[1][1] = text("9223372036854775807");
        other.rows.push(vec![text("alone"), Value::Null]);
        let found = by_name(vec![one, other]);
        let shown: Vec<_> = found.rows.iter().map(|row| (value_text(&row[0]), value_text(&row[1]))).collect();
        let expected =
            [("bytes", "16384"), ("blks", "9223372036854775814"), ("since", "2026-01-01"), ("alone", "null")];
        assert_eq!(shown, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
