//! Numbers that several servers have together. Pure.

use crate::engine::Answer;
use inrush_rows::rows::{value_text, Value};

/// Rows of (name, value): values of one name are added where all are numbers; else the first stands.
pub fn by_name(answers: Vec<Answer>) -> Answer {
    let mut together = Answer::default();
    for answer in answers {
        together.names = answer.names;
        for row in answer.rows {
            let known = together.rows.iter_mut().find(|known| known.first() == row.first());
            match (known, row.get(1)) {
                (Some(known), Some(value)) => {
                    if let Some(sum) = known.get(1).and_then(|so_far| added(so_far, value)) {
                        known[1] = sum;
                    }
                }
                (Some(_), None) => {}
                (None, _) => together.rows.push(row),
            }
        }
    }
    together
}

/// `None`: one of them is no number.
fn added(a: &Value, b: &Value) -> Option<Value> {
    let (a, b) = (value_text(a), value_text(b));
    if let (Ok(a), Ok(b)) = (a.parse::<i128>(), b.parse::<i128>()) {
        return Some(Value::Text((a + b).to_string()));
    }
    Some(Value::F64(a.parse::<f64>().ok()? + b.parse::<f64>().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_one_name_are_added_and_what_is_no_number_stands() {
        let text = |text: &str| Value::Text(text.to_owned());
        let answer = |rows: Vec<Vec<Value>>| Answer { names: ["name".into(), "value".into()].into(), rows };
        let one = answer(vec![
            vec![text("bytes"), Value::I64(8192)],
            vec![text("blks"), text("7")],
            vec![text("since"), text("2026-01-01")],
            vec![text("share"), Value::F64(0.5)],
        ]);
        let mut other = one.clone();
        other.rows[1][1] = text("9223372036854775807");
        other.rows.push(vec![text("alone"), Value::Null]);
        let found = by_name(vec![one, other]);
        let shown: Vec<_> = found.rows.iter().map(|row| (value_text(&row[0]), value_text(&row[1]))).collect();
        let expected = [
            ("bytes", "16384"),
            ("blks", "9223372036854775814"),
            ("since", "2026-01-01"),
            ("share", "1"),
            ("alone", "null"),
        ];
        assert_eq!(shown, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
