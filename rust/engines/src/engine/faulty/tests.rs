use super::calls::falsify;
use super::rows::null_to_zero;
use super::*;
use inrush_rows::plan::LogicalType;
use inrush_rows::rows::{Column, ListValues, TextValues, Values};
use inrush_rows::types::uuid::uuid_text;

#[test]
fn a_zero_is_a_value_of_the_columns_type() {
    let made = |ty| {
        let mut column = Column::new("c", ty);
        let (Values::Text(texts), there) = (&mut column.values, uuid_text([7; 16])) else {
            panic!("UUIDs travel as text")
        };
        texts.push(b"");
        texts.push(&there);
        column.present = vec![0, 1];
        null_to_zero(&mut column, 2);
        [column.value(0), column.value(1)]
    };
    let text = |text: &str| Value::Text(text.into());
    let there = text("07070707-0707-0707-0707-070707070707");
    let zero = text("00000000-0000-0000-0000-000000000000");
    assert_eq!(made(LogicalType::Uuid), [zero, there.clone()]);
    assert_eq!(made(LogicalType::Text), [text(""), there]);
}

fn faults(texts: &[&str]) -> Vec<Fault> {
    texts.iter().map(|text| parse(text).unwrap()).collect()
}

/// id 0…n, a time with milliseconds, a nullable float finer than f32, a text, a list.
fn rows(n: usize) -> Columns {
    let mut id = Column::new("id", LogicalType::I64);
    let mut at = Column::new("at", LogicalType::TimeMs);
    let mut load = Column::new("load", LogicalType::F64);
    let mut host = Column::new("host", LogicalType::Text);
    let mut past = Column::new("past", LogicalType::ListF64);
    id.values = Values::I64((0..n as i64).collect());
    at.values = Values::I64((0..n as i64).map(|k| k * 1000 + 7).collect());
    load.values = Values::F64((0..n).map(|k| if k % 2 == 0 { 0.0 } else { 0.1 + k as f64 }).collect());
    load.present = (0..n).map(|k| (k % 2) as u8).collect();
    let (mut texts, mut lists) = (TextValues::default(), Vec::new());
    let mut ends = Vec::new();
    for k in 0..n {
        texts.push(format!("host-{k}").as_bytes());
        lists.extend((0..k % 3).map(|x| x as f64 + 0.1));
        ends.push(lists.len() as u32);
    }
    host.values = Values::Text(texts);
    past.values = Values::List(ListValues { ends, items: Box::new(Values::F64(lists)), present: vec![] });
    Columns::new(n, vec![id, at, load, host, past])
}

fn table(columns: &Columns) -> Vec<Vec<Value>> {
    (0..columns.rows).map(|row| columns.columns.iter().map(|c| c.value(row)).collect()).collect()
}

#[test]
fn without_faults_the_rows_are_what_they_were() {
    assert_eq!(table(&change(&rows(10), &[], 0)), table(&rows(10)));
}

#[test]
fn a_row_in_every_four_is_dropped_or_doubled_across_batches() {
    let whole = table(&rows(10));
    let dropped = table(&change(&rows(10), &faults(&["drop:4"]), 2));
    assert_eq!(dropped, [&whole[..1], &whole[2..5], &whole[6..9]].concat());
    let doubled = table(&change(&rows(3), &faults(&["double:4"]), 3));
    assert_eq!(doubled, [&whole[..1], &whole[..3]].concat());
}

#[test]
fn a_swap_moves_one_value_between_two_rows_and_keeps_every_sum() {
    let (before, after) = (table(&rows(6)), table(&change(&rows(6), &faults(&["swap:3"]), 0)));
    let changed: Vec<(usize, usize)> = (0..6)
        .flat_map(|r| (0..5).map(move |c| (r, c)))
        .filter(|&(r, c)| before[r][c] != after[r][c])
        .collect();
    assert_eq!(changed, [(2, 4), (3, 4), (4, 4), (5, 4)]);
    assert_eq!((&before[2][4], &before[3][4]), (&after[3][4], &after[2][4]));
}

#[test]
fn systematic_faults_strike_every_value_they_can() {
    let cut = change(&rows(3), &faults(&["cut_ms"]), 0);
    assert_eq!(cut.columns[1].value(2), Value::TimeMs(2000));
    let filled = change(&rows(3), &faults(&["null_to_zero"]), 0);
    assert_eq!(filled.columns[2].value(0), Value::F64(0.0));
    let rounded = change(&rows(3), &faults(&["round_f32"]), 0);
    assert_eq!(rounded.columns[2].value(1), Value::F64(1.1f32 as f64));
    assert_eq!(rounded.columns[4].value(1), Value::ListF64(vec![0.1f32 as f64]));
}

#[test]
fn a_false_answer_differs_even_when_the_true_one_is_empty() {
    let mut answer = Answer { names: ["n".into()].into(), rows: vec![] };
    falsify(&mut answer);
    assert_eq!(answer.rows.len(), 1);
    falsify(&mut answer);
    assert_eq!(answer.rows, [[Value::I64(1)]]);
}

#[test]
fn an_unknown_fault_is_refused_with_the_names_of_all() {
    assert!(parse("drop:0").is_err());
    assert!(parse("explode").unwrap_err().to_string().contains("null_to_zero"));
}
