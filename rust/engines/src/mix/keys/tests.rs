//! Laws of keys: what they cover, how often, and that they are of one row.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use proptest::prelude::*;
use serde_json::{json, Value as Json};

use super::*;
use crate::mix::{Params, Shared};
use crate::schedule::{ArrivalQueue, Batching, Stride};
use inrush_rows::plan::{RunPlan, SharePlan};
use inrush_rows::rows::SeriesIndex;

const DRAWS: u64 = 200_000;

fn law(by: Json, rows: u64) -> RowDraw {
    in_session(by, rows, Share::WHOLE)
}

fn in_session(by: Json, rows: u64, share: Share) -> RowDraw {
    let plan = json!({"table": 0, "rows": rows, "by": by});
    RowDraw::new(&serde_json::from_value(plan).expect("keys of this build"), 17, share).expect("valid keys")
}

/// How often each row was drawn.
fn counted(law: &RowDraw, draws: u64) -> BTreeMap<u64, u64> {
    let mut found = BTreeMap::new();
    (0..draws).for_each(|k| *found.entry(law.row(drawn(k))).or_insert(0) += 1);
    found
}

/// Pearson's statistic less its mean, in standard deviations of it.
fn chi_square_excess(found: &[u64], expected: &[f64]) -> f64 {
    let sum: f64 = found.iter().zip(expected).map(|(&f, e)| (f as f64 - e).powi(2) / e).sum();
    let freedom = (found.len() - 1) as f64;
    (sum - freedom) / (2.0 * freedom).sqrt()
}

#[test]
fn uniform_keys_fall_on_every_part_of_the_largest_table_alike() {
    for rows in [1_000u64, 1_000_000_000, 1 << 60] {
        let law = law(json!({"kind": "uniform"}), rows);
        let mut bins = [0u64; 1000];
        (0..DRAWS)
            .for_each(|k| bins[(u128::from(law.row(drawn(k))) * 1000 / u128::from(rows)) as usize] += 1);
        let excess = chi_square_excess(&bins, &[DRAWS as f64 / 1000.0; 1000]);
        assert!(excess.abs() < 4.0, "{rows} rows: {excess}");
    }
}

#[test]
fn zipf_keys_have_the_frequencies_of_their_ranks_on_rows_that_lie_anywhere() {
    for (rows, exponent) in [(1_000u64, 1.1), (1_000, 0.99), (1_000, 1.0), (50, 2.0)] {
        let zipf = law(json!({"kind": "zipf", "exponent": exponent}), rows);
        let Law::Zipf { order, .. } = &zipf.law else { panic!("it is Zipf's") };
        let found = counted(&zipf, DRAWS);
        let weight = |rank: u64| (rank as f64).powf(-exponent);
        let total: f64 = (1..=rows).map(weight).sum();
        // The row of a rank is where the permutation puts it; rare ranks are counted together.
        let (mut counts, mut expected) = (vec![0], vec![0.0]);
        for rank in 1..=rows {
            if *expected.last().expect("one") >= 20.0 {
                counts.push(0);
                expected.push(0.0);
            }
            *counts.last_mut().expect("one") += found.get(&order.at(rank - 1)).copied().unwrap_or(0);
            *expected.last_mut().expect("one") += weight(rank) / total * DRAWS as f64;
        }
        let excess = chi_square_excess(&counts, &expected);
        assert!(excess.abs() < 4.0, "{rows} rows, exponent {exponent}: {excess}");
        assert_eq!(counts.iter().sum::<u64>(), DRAWS);
    }
}

#[test]
fn the_rows_drawn_most_are_spread_over_the_table() {
    let rows = 1_000_000_000;
    for by in [
        json!({"kind": "zipf", "exponent": 1.1}),
        json!({"kind": "hot_set", "draws_ppm": 900_000, "rows_ppm": 10}),
    ] {
        let law = law(by, rows);
        let order = match &law.law {
            Law::Zipf { order, .. } | Law::HotSet { order, .. } => order,
            _ => panic!("neither"),
        };
        let mut bins = [0u64; 16];
        (0..10_000).for_each(|rank| bins[(order.at(rank) / (rows / 16 + 1)) as usize] += 1);
        let excess = chi_square_excess(&bins, &[10_000.0 / 16.0; 16]);
        assert!(excess.abs() < 4.0, "{excess}");
    }
}

#[test]
fn a_hot_set_has_its_share_of_the_draws_and_no_row_is_never_drawn() {
    let (rows, hot) = (10_000u64, 100usize);
    let law = law(json!({"kind": "hot_set", "draws_ppm": 800_000, "rows_ppm": 10_000}), rows);
    let Law::HotSet { order, .. } = &law.law else { panic!("it is a hot set") };
    let found = counted(&law, DRAWS);
    let of = |ranks: std::ops::Range<u64>| -> Vec<u64> {
        ranks.map(|rank| found.get(&order.at(rank)).copied().unwrap_or(0)).collect()
    };
    let (warm, cold) = (of(0..hot as u64), of(hot as u64..rows));
    let share = warm.iter().sum::<u64>() as f64 / DRAWS as f64;
    assert!((share - 0.8).abs() < 4.0 * (0.8f64 * 0.2 / DRAWS as f64).sqrt(), "{share}");
    assert!(chi_square_excess(&warm, &vec![share * DRAWS as f64 / hot as f64; hot]).abs() < 4.0);
    let rest = (1.0 - share) * DRAWS as f64 / cold.len() as f64;
    assert!(chi_square_excess(&cold, &vec![rest; cold.len()]).abs() < 4.0);
}

#[test]
fn laws_with_nothing_beside_them_draw_all_the_same() {
    for rows in 1..5u64 {
        for by in [
            json!({"kind": "uniform"}),
            json!({"kind": "zipf", "exponent": 1.0}),
            json!({"kind": "hot_set", "draws_ppm": 1_000_000, "rows_ppm": 1}),
            json!({"kind": "hot_set", "draws_ppm": 0, "rows_ppm": 1_000_000}),
            json!({"kind": "own_range"}),
        ] {
            let found = counted(&law(by.clone(), rows), 1_000);
            assert!(found.keys().all(|row| *row < rows), "{by}: {found:?}");
            let only_the_hot_row = by["draws_ppm"] == 1_000_000;
            assert_eq!(found.len() as u64, if only_the_hot_row { 1 } else { rows }, "{by}");
        }
    }
}

proptest! {
    #[test]
    fn each_row_comes_once_before_any_comes_again(first in 0u64..1 << 40, rows in 1u64..500, seed: u64) {
        let plan = KeyPlan { table: 0, first_row: first, rows, by: KeyLaw::EachOnce {} };
        // Whichever session has the call.
        let of = |session| RowDraw::new(&plan, seed, Share { session, sessions: 3 }).expect("valid");
        let laws = [of(0), of(1), of(2)];
        let row = |turn: u64| laws[turn as usize % 3].of_turn(turn, || unreachable!("it is not drawn"));
        for round in 0..2 {
            let found: BTreeSet<u64> = (round * rows..(round + 1) * rows).map(row).collect();
            prop_assert_eq!(found, (first..first + rows).collect());
        }
        prop_assert_eq!(row(0), row(rows), "in the same order");
    }

    #[test]
    fn own_ranges_are_contiguous_and_cover_the_rows_once(first in 0u64..1 << 40, rows in 1u64..1 << 60, sessions in 1u64..2_000) {
        prop_assume!(sessions <= rows);
        let mut next = first;
        for session in 0..sessions {
            let plan = KeyPlan { table: 0, first_row: first, rows, by: KeyLaw::OwnRange {} };
            let law = RowDraw::new(&plan, 1, Share { session, sessions }).expect("valid");
            prop_assert_eq!(law.first, next);
            prop_assert!(law.rows.abs_diff(rows / sessions) <= 1);
            for k in 0..4 {
                let row = law.row(drawn(k ^ session));
                prop_assert!((law.first..law.first + law.rows).contains(&row));
            }
            next += law.rows;
        }
        prop_assert_eq!(next, first + rows);
    }

    #[test]
    fn ranks_are_rows_of_their_own_also_where_tables_are_large(seed: u64, rows in 1u64 << 20..1 << 62) {
        let order = Permutation::new(seed, rows);
        let found: HashSet<u64> = (0..2_000).map(|rank| order.at(rank)).collect();
        prop_assert_eq!(found.len(), 2_000);
        prop_assert!(found.iter().all(|row| *row < rows));
    }
}

#[test]
fn what_is_no_law_is_refused_with_its_bounds() {
    for (by, rows, share, said) in [
        (json!({"kind": "uniform"}), 0, Share::WHOLE, "at least one"),
        (json!({"kind": "zipf", "exponent": 0.0}), 10, Share::WHOLE, "above 0"),
        (json!({"kind": "hot_set", "draws_ppm": 2_000_000, "rows_ppm": 1}), 10, Share::WHOLE, "1,000,000"),
        (json!({"kind": "own_range"}), 3, Share { session: 0, sessions: 4 }, "a row each"),
    ] {
        let plan = json!({"table": 0, "rows": rows, "by": by});
        let plan: KeyPlan = serde_json::from_value(plan).expect("keys of this build");
        let error = RowDraw::new(&plan, 1, share).expect_err("not valid").to_string();
        assert!(error.contains(said), "{error}");
    }
}

// --- parameters

/// A table of ports over time: the identity is of three columns, one of them a text.
fn plan(series: u64, operation: Json) -> Arc<RunPlan> {
    let column = |name: &str, ty: &str, gen: Json| json!({"name": name, "type": ty, "wire": "", "gen": gen});
    let host = json!({"kind": "format", "pattern": "host-%05d", "fields": [{"kind": "cycle", "from": 0, "to": 99_999_999, "every": 2}]});
    let columns = [
        column("guid", "u64", json!({"kind": "pattern", "prefix": "b8599f03", "every": 40})),
        column("port", "i32", json!({"kind": "cycle", "from": 1, "to": 40})),
        column("at", "time_ms", json!({"kind": "sweep_time"})),
        column("host", "text", host),
        column("size", "i64", json!({"kind": "uniform", "from": 0, "to": 1_000_000})),
    ];
    let mut sometimes = column("sometimes", "i64", json!({"kind": "sequence", "start": 0, "step": 1}));
    sometimes["null_ppm"] = json!(500_000);
    let columns: Vec<Json> = columns.into_iter().chain([sometimes]).collect();
    let table = json!({"name": "t", "stream": "t", "identity": ["guid", "port", "at"], "columns": columns,
        "source": {"kind": "generated", "series": series, "period_ns": 1_000_000_000u64}});
    let plan = json!({"version": 1, "run_id": "", "study": "", "seed": 9, "epoch_ns": 0,
        "target": {"engine": "null", "url": ""}, "tables": [table], "operations": [operation],
        "segments": [], "record": {"interval_ns": 1, "flush_ns": 1}, "watch": {"every_ns": 0, "processes": {}}});
    Arc::new(serde_json::from_value(plan).expect("a plan of this build"))
}

fn params(plan: &Arc<RunPlan>, role: &str) -> Params {
    let shared = Shared::new(&Generators::new(plan.clone()), 0, role).expect("valid parameters");
    shared.in_session(Share::WHOLE).expect("valid keys")
}

fn key_param(name: &str, ty: &str, column: &str, draw: u32) -> Json {
    json!({"name": name, "type": ty, "gen": {"kind": "key", "keys": 0, "draw": draw, "column": column}})
}

fn looking(rows: u64, params: Vec<Json>) -> Json {
    let keys = json!([{"table": 0, "rows": rows, "by": {"kind": "uniform"}}]);
    json!({"name": "look", "kind": "query", "table": 0, "params": params, "keys": keys})
}

#[test]
fn several_processes_ask_for_the_keys_of_one_each_once() {
    let plan = plan(
        500,
        looking(2_000, vec![key_param("guid", "u64", "guid", 0), key_param("port", "i32", "port", 0)]),
    );
    let calls = 1_003;
    let asked = |process: Stride| {
        let (mut params, mut keys) = (params(&plan, "users"), Vec::new());
        let queue = ArrivalQueue::of_process(Some(process.among(calls)), 2, Batching::Guided, process);
        let (mut first, mut second) = (queue.tickets(), queue.tickets());
        let mut out = params.values();
        while let Some(ticket) = first.take().or_else(|| second.take()) {
            params.fill(ticket, 0, &mut out);
            keys.push((ticket, format!("{out:?}")));
        }
        assert_eq!(queue.taken(), keys.len() as u64);
        keys
    };
    let mut whole = asked(Stride::WHOLE);
    whole.sort();
    assert_eq!(whole.len() as u64, calls);
    for of in [2, 3, 16] {
        let share = |index| Stride::of_share(Some(SharePlan { index, of }));
        let mut together: Vec<_> = (0..of).flat_map(|index| asked(share(index))).collect();
        together.sort();
        assert_eq!(together, whole, "{of} processes");
    }
}

#[test]
fn a_value_of_a_series_is_of_any_series_however_many_there_are() {
    let series = 1_000_000;
    let gen = json!({"kind": "of_series", "table": 0, "column": "host"});
    let plan = plan(
        series,
        json!({"name": "q", "kind": "query", "params": [{"name": "h", "type": "text", "gen": gen}]}),
    );
    let mut params = params(&plan, "users");
    let mut out = params.values();
    let draws = 300_000u64;
    let mut found = HashSet::new();
    for ticket in 0..draws {
        params.fill(ticket, 0, &mut out);
        found.insert(format!("{:?}", out[0]));
    }
    // Two series have one host: n (1 - (1 - 1/n)^draws) of 500,000, with a spread below its root.
    let hosts = series as f64 / 2.0;
    let expected = hosts * (1.0 - (-(draws as f64) / hosts).exp());
    assert!((found.len() as f64 - expected).abs() < 4.0 * expected.sqrt(), "{} not {expected}", found.len());
}

#[test]
fn parameters_of_one_draw_are_of_one_row_and_those_of_others_are_not() {
    let rows = 1_000_000_000;
    // Any guid, port and time name a row of this table; `size` shows which one it was drawn with.
    let found = |size_draw: u32| {
        let params_of = vec![
            key_param("port", "i32", "port", 0),
            key_param("size", "i64", "size", size_draw),
            key_param("guid", "u64", "guid", 0),
            key_param("at", "time_ms", "at", 0),
        ];
        let plan = plan(50_000, looking(rows, params_of));
        let generator = RowGen::new(&plan.tables[0], plan.seed, 0).expect("valid");
        let index = SeriesIndex::new(&generator, &plan.tables[0]).expect("an identity");
        let mut params = params(&plan, "users");
        let mut out = params.values();
        let drawn = (0..1_000).map(|ticket| {
            params.fill(ticket, 0, &mut out);
            let row = index.number_of(|column| Some(&out[[2, 0, 3][column]])).expect("a row of the table");
            (row, generator.row(row)[4] == out[1])
        });
        drawn.collect::<Vec<(u64, bool)>>()
    };
    let whole = found(0);
    assert!(whole.iter().all(|(row, is_one_row)| *row < rows && *is_one_row));
    assert!(whole.iter().any(|(row, _)| *row > rows / 10 * 9));
    let distinct: HashSet<u64> = whole.iter().map(|(row, _)| *row).collect();
    assert!(distinct.len() >= 999, "rows of 10^9 hardly ever repeat: {}", distinct.len());
    let mixed = found(1).iter().filter(|(_, is_one_row)| *is_one_row).count();
    assert!(mixed < 10, "{mixed} of 1,000 pairs of rows are one row");
}

#[test]
fn a_list_draws_a_row_for_each_key() {
    let list = |n: u32| (0..n).map(|k| key_param(&format!("k_{k}"), "i64", "size", k)).collect::<Vec<_>>();
    let plan = plan(10_000_000, looking(10_000_000, list(1_000)));
    let mut params = params(&plan, "users");
    let mut out = params.values();
    params.fill(3, 0, &mut out);
    let distinct: HashSet<String> = out.iter().map(|v| format!("{v:?}")).collect();
    assert!(distinct.len() > 990, "{}", distinct.len());
}

#[test]
fn the_same_seed_gives_the_same_keys_and_another_role_has_its_own() {
    let plan = plan(1_000, looking(1_000_000, vec![key_param("size", "i64", "size", 0)]));
    let drawn = |role: &str, tickets: Vec<u64>| -> BTreeMap<u64, String> {
        let mut params = params(&plan, role);
        let mut out = params.values();
        let mut one = |t: u64| {
            params.fill(t, 0, &mut out);
            (t, format!("{out:?}"))
        };
        tickets.into_iter().map(&mut one).collect()
    };
    let forwards = drawn("users", (0..100).collect());
    assert_eq!(forwards, drawn("users", (0..100).rev().collect()));
    assert_ne!(forwards, drawn("others", (0..100).collect()));
}

#[test]
fn a_column_that_can_be_null_is_no_key() {
    let plan = plan(10, looking(10, vec![key_param("n", "i64", "sometimes", 0)]));
    let said = key_problems(&plan, &plan.operations[0]).join("; ");
    let error = Shared::new(&Generators::new(plan), 0, "users").err().expect("refused").to_string();
    for error in [said, error] {
        assert!(error.contains("sometimes") && error.contains("NULL"), "{error}");
    }
}

#[test]
fn keys_that_lead_nowhere_are_found_before_the_run() {
    let asked = |keys: Json, param: Json| {
        let plan = plan(10, json!({"name": "q", "kind": "query", "keys": keys, "params": [param]}));
        key_problems(&plan, &plan.operations[0]).join("; ")
    };
    let of = |table: u64, rows: u64| json!([{"table": table, "rows": rows, "by": {"kind": "uniform"}}]);
    assert_eq!(asked(of(0, 10), key_param("k", "i64", "size", 0)), "");
    assert!(asked(of(1, 10), key_param("k", "i64", "size", 0)).contains("table 1 of 1"));
    assert!(asked(of(0, 0), key_param("k", "i64", "size", 0)).contains("at least one"));
    assert!(asked(of(0, 10), key_param("k", "i64", "nothing", 0)).contains("no column nothing"));
    assert!(asked(json!([]), key_param("k", "i64", "size", 0)).contains("there are no keys 0"));
}
