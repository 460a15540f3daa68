//! Tables whose rows have an order or rates of their own: the same rows in every order, each found and made alone.

use crate::rows_common::{column, integers, made, table, EPOCH_NS};
use inrush_rows::plan::TablePlan;
use inrush_rows::rows::{digest, problems, Picked, RowGen, SeriesIndex, Value};
use serde_json::{json, Value as Json};

const ROWS: u64 = 5_000;
const SERIES: u64 = 37;
const PERIOD_NS: u64 = 1_000_000_000;

fn orders() -> [Json; 4] {
    [json!({"by": "key"}), json!({"by": "time"}), json!({"by": "file", "files": 7}), json!({"by": "random"})]
}

fn rates() -> Json {
    json!({"sigma": 0.8, "pinned": {"series": 5, "share_ppm": 300_000}})
}

/// A key of the series, a time, and what is drawn for rows and for series: numbers, texts, lists, NULLs.
fn plan(events: Json) -> TablePlan {
    let key =
        json!({"kind": "format", "pattern": "s%03d", "fields": [{"kind": "cycle", "from": 0, "to": 999}]});
    let mut drawn = column("drawn", "f64", json!({"kind": "normal", "mean": 20.0, "sd": 3.0, "bits": 8}));
    drawn["null_ppm"] = json!(100_000);
    let columns = vec![
        column("key", "text", key),
        column("at", "time_us", json!({"kind": "sweep_time", "jitter_ms": 1})),
        drawn,
        column("seen", "time_us", json!({"kind": "offset", "of": "at", "from": 1_000, "to": 20_000})),
        column("text", "text", json!({"kind": "text", "min_bytes": 0, "max_bytes": 9})),
        column("walk", "i64", json!({"kind": "walk", "from": -500, "to": 500})),
        column("per", "i32", json!({"kind": "uniform", "from": 0, "to": 1_000, "per": "series"})),
        column(
            "list",
            "list_f64",
            json!({"kind": "array", "min_items": 0, "max_items": 5, "of": {"kind": "uniform", "from": 0, "to": 9}}),
        ),
    ];
    let mut plan = serde_json::to_value(table(SERIES, PERIOD_NS, columns)).unwrap();
    plan["source"]["events"] = events;
    plan["identity"] = json!(["key", "at"]);
    serde_json::from_value(plan).unwrap()
}

fn events(order: &Json, rates: Option<Json>) -> Json {
    match rates {
        Some(rates) => json!({"rows": ROWS, "order": order, "rates": rates}),
        None => json!({"rows": ROWS, "order": order}),
    }
}

fn all_rows(gen: &RowGen) -> Vec<Vec<Value>> {
    let mut columns = gen.columns(ROWS as usize);
    gen.fill(0, ROWS as usize, &mut columns);
    (0..ROWS as usize).map(|i| columns.columns.iter().map(|c| c.value(i)).collect()).collect()
}

fn sorted(mut rows: Vec<Vec<Value>>) -> Vec<String> {
    let mut texts: Vec<String> = rows.drain(..).map(|row| format!("{row:?}")).collect();
    texts.sort();
    texts
}

#[test]
fn all_orders_have_the_same_rows_and_one_digest() {
    for rates in [None, Some(rates())] {
        let makers = orders().map(|order| made(&plan(events(&order, rates.clone())), 7));
        let first = sorted(all_rows(&makers[0]));
        assert_eq!(first.windows(2).filter(|pair| pair[0] == pair[1]).count(), 0);
        let expected = digest(&makers[0], 0, ROWS);
        for gen in &makers[1..] {
            assert_eq!(sorted(all_rows(gen)), first);
            assert_eq!(digest(gen, 0, ROWS), expected);
        }
        assert_ne!(digest(&makers[0], 0, ROWS - 1), expected);
        let other = made(&plan(events(&orders()[0], rates.clone())), 8);
        assert_ne!(digest(&other, 0, ROWS), expected);
    }
}

#[test]
fn without_rates_rows_by_time_are_those_without_an_order() {
    let mut plain = plan(Json::Null);
    assert_eq!(serde_json::to_value(&plain.source).unwrap().get("events"), None);
    let gen = made(&plain, 7);
    assert_eq!(all_rows(&gen), all_rows(&made(&plan(events(&json!({"by": "time"}), None)), 7)));
    plain.stream = "another".into();
    assert_ne!(all_rows(&gen), all_rows(&made(&plain, 7)));
}

#[test]
fn a_row_alone_is_the_row_of_the_sequence_in_batches_of_any_size() {
    for order in orders() {
        let gen = made(&plan(events(&order, Some(rates()))), 7);
        let expected = all_rows(&gen);
        for row in [0, 1, 63, 1_023, 1_024, 2_500, ROWS - 1] {
            assert_eq!(gen.row(row), expected[row as usize], "{order} {row}");
        }
        let (mut columns, mut row) = (gen.columns(1_500), 0);
        for n in [1usize, 7, 1_500, 1_024, 3, 1_400].into_iter().cycle() {
            let n = n.min((ROWS - row) as usize);
            gen.fill(row, n, &mut columns);
            for i in 0..n {
                let values: Vec<Value> = columns.columns.iter().map(|c| c.value(i)).collect();
                assert_eq!(values, expected[row as usize + i], "{order} {}", row as usize + i);
            }
            row += n as u64;
            if row == ROWS {
                break;
            }
        }
    }
}

#[test]
fn identities_lead_back_to_rows_of_any_order() {
    for rates in [None, Some(rates())] {
        for order in orders() {
            let plan = plan(events(&order, rates.clone()));
            let gen = made(&plan, 7);
            let index = SeriesIndex::new(&gen, &plan).unwrap();
            let all: Vec<usize> = (0..plan.columns.len()).collect();
            let mut made_again = Picked::new(&gen, &all);
            for (row, values) in all_rows(&gen).iter().enumerate() {
                let number = index.number_of(|column| values.get(column)).expect("a row of the table");
                assert_eq!(gen.row_of(number), row as u64, "{order}");
                made_again.pick(&gen, &[number]);
                assert_eq!(&made_again.values(&all, 0), values);
                assert!(index.is_below(number, row as u64 + 1) && !index.is_below(number, row as u64));
            }
        }
    }
}

#[test]
fn an_event_that_the_table_does_not_have_is_not_found() {
    let plan = plan(events(&json!({"by": "key"}), Some(rates())));
    let gen = made(&plan, 7);
    let index = SeriesIndex::new(&gen, &plan).unwrap();
    let mut last = all_rows(&gen).into_iter().rfind(|row| row[0] == Value::Text("s005".into())).unwrap();
    assert!(index.number_of(|column| last.get(column)).is_some());
    let Value::TimeUs(at) = last[1] else { panic!("a time") };
    last[1] = Value::TimeUs(at + 10_000_000);
    assert_eq!(index.number_of(|column| last.get(column)), None);
}

#[test]
fn a_key_of_a_series_finds_its_rows_and_those_written_so_far() {
    let plan = plan(events(&json!({"by": "time"}), Some(rates())));
    let gen = made(&plan, 7);
    let index = SeriesIndex::new(&gen, &plan).unwrap();
    let key = Value::Text("s005".into());
    let of = |below: u64| {
        let mut numbers = Vec::new();
        index.numbers_of_key(|column| (column == 0).then_some(&key), below, &mut numbers);
        numbers.into_iter().map(|number| gen.row_of(number)).collect::<Vec<_>>()
    };
    let expected = |below: usize| {
        let rows = all_rows(&gen);
        (0..below as u64).filter(|&row| rows[row as usize][0] == key).collect::<Vec<_>>()
    };
    assert_eq!(of(ROWS), expected(ROWS as usize));
    assert_eq!(of(1_000), expected(1_000));
    let share = of(ROWS).len() as f64 / ROWS as f64;
    assert!((share - 0.3).abs() < 0.01, "the pinned series has {share}");
}

#[test]
fn rows_by_time_have_ascending_times_to_the_jitter() {
    let gen = made(&plan(events(&json!({"by": "time"}), Some(rates()))), 7);
    let mut columns = gen.columns(ROWS as usize);
    gen.fill(0, ROWS as usize, &mut columns);
    let at = integers(&columns, "at");
    assert!(
        at.windows(2).all(|pair| pair[1] >= pair[0] - 1_000) && at.windows(2).any(|pair| pair[1] < pair[0])
    );
    assert!(at[0] >= EPOCH_NS / 1_000);
}

#[test]
fn what_needs_sweeps_of_one_length_is_refused_where_rates_differ() {
    let with = |gen: Json, ty: &str, sigma: f64| {
        let mut plan = serde_json::to_value(table(SERIES, PERIOD_NS, vec![column("c", ty, gen)])).unwrap();
        plan["source"]["events"] = json!({"rows": ROWS, "order": {"by": "key"}, "rates": {"sigma": sigma}});
        problems(&serde_json::from_value(plan).unwrap(), 1, EPOCH_NS).join("\n")
    };
    let counter = json!({"kind": "counter", "increment": "poisson", "mean_per_s": 3.0});
    assert!(with(counter, "i64", 0.5).contains("series of this table differ in rate"));
    let time = json!({"kind": "time", "period_us": 1_000});
    assert!(with(time, "time_us", 0.5).contains("`sweep_time` has the times of the table"));
    assert_eq!(with(json!({"kind": "sweep_time"}), "time_us", 0.5), "");
    let jitter = json!({"kind": "sweep_time", "jitter_ms": 900});
    assert!(with(jitter, "time_us", 2.0).contains("give a longer period"));
    assert!(with(json!({"kind": "sweep_time"}), "time_us", 9.0).contains("sigma is 9"));
}
