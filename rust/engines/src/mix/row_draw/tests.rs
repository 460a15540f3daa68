//! Laws of keys: what they cover, and how often.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use proptest::prelude::*;
use serde_json::{json, Value as Json};

use super::*;

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
