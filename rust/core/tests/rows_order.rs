//! Laws of the orders of rows: bijections between rows and events, the same events in each, every row alone.

use inrush_rows::rows::order::{
    equal, lognormal, Cursor, Event, Events, Lognormal, Order, Ordered, Pinned, Series, LAST_NS,
};
use proptest::prelude::*;

const ORDERS: [Order; 5] = [
    Order::Key,
    Order::Time,
    Order::File { files: 1 },
    Order::File { files: 7 },
    Order::Random { key: 0x1234_5678_9abc_def0 },
];

/// The first `rows` events by time and series, one by one.
fn by_time(series: &[Series], rows: usize) -> Vec<Event> {
    let mut sweep = vec![0; series.len()];
    (0..rows)
        .map(|_| {
            let next = (0..series.len()).min_by_key(|&s| (series[s].time_ns(sweep[s]), s)).expect("a series");
            sweep[next] += 1;
            Event { series: next as u64, sweep: sweep[next] - 1 }
        })
        .collect()
}

fn ordered(series: &[Series], rows: u64, order: Order) -> Ordered {
    Ordered::new(Events::new(series.to_vec(), rows).unwrap(), order).unwrap()
}

/// Rows `first … first + n - 1` by one cursor.
fn filled(cursor: &mut Cursor, ordered: &Ordered, first: u64, n: usize) -> Vec<Event> {
    let (mut series, mut sweep) = (vec![u64::MAX; n], vec![u64::MAX; n]);
    cursor.fill(ordered, first, &mut series, &mut sweep);
    series.into_iter().zip(sweep).map(|(series, sweep)| Event { series, sweep }).collect()
}

fn all(ordered: &Ordered) -> Vec<Event> {
    filled(&mut Cursor::default(), ordered, 0, ordered.events().rows() as usize)
}

fn sorted(mut events: Vec<Event>) -> Vec<Event> {
    events.sort_unstable();
    events
}

/// Periods that divide one another and that do not, equal ones, and some longer than the table.
fn any_series() -> impl Strategy<Value = Vec<Series>> {
    let period = prop_oneof![1u64..40, Just(64), Just(128), 500u64..5_000, Just(1 << 40)];
    let phase = prop_oneof![Just(0u64), 0u64..64, 0u64..5_000];
    prop::collection::vec((period, phase), 1..30).prop_map(|series| {
        series.into_iter().map(|(period_ns, phase_ns)| Series { period_ns, phase_ns }).collect()
    })
}

proptest! {
    #[test]
    fn every_order_has_the_first_events_once_and_in_its_own_sequence(
        series in any_series(), rows in prop_oneof![0usize..4, 0usize..600, 4_000usize..20_000],
    ) {
        let expected = by_time(&series, rows);
        for order in ORDERS {
            let ordered = ordered(&series, rows as u64, order);
            let events = ordered.events();
            prop_assert_eq!(events.rows(), rows as u64);
            let found = all(&ordered);
            prop_assert_eq!(sorted(found.clone()), sorted(expected.clone()), "{:?}", order);
            match order {
                Order::Time => prop_assert_eq!(&found, &expected),
                Order::Key => prop_assert_eq!(&found, &sorted(expected.clone())),
                Order::File { files } => {
                    let width_ns = events.end_ns().div_ceil(files).max(1);
                    let mut by_file = expected.clone();
                    by_file.sort_by_key(|&e| (events.time_ns(e) / width_ns, e));
                    prop_assert_eq!(&found, &by_file);
                }
                Order::Random { .. } => {}
            }
            for (row, &event) in found.iter().enumerate().step_by(1 + rows / 200) {
                prop_assert_eq!(ordered.row(event), Some(row as u64), "{:?}", order);
                prop_assert_eq!(events.of_number(events.number(event)), Some(event));
            }
        }
    }

    #[test]
    fn a_row_alone_equals_that_row_of_a_sequence_cut_anywhere(
        series in any_series(), rows in 4_000u64..20_000, jumps in prop::collection::vec((any::<u64>(), 1usize..6_000), 1..12),
    ) {
        for order in ORDERS {
            let ordered = ordered(&series, rows, order);
            let whole = all(&ordered);
            let mut cursor = Cursor::default();
            // Forward, back, and on from where the one before ended.
            let mut after = 0;
            for &(jump, n) in &jumps {
                for first in [jump % rows, after % rows] {
                    let n = n.min((rows - first) as usize);
                    let found = filled(&mut cursor, &ordered, first, n);
                    prop_assert_eq!(&found[..], &whole[first as usize..first as usize + n], "{:?} from {}", order, first);
                    after = first + n as u64;
                }
                let row = jump % rows;
                prop_assert_eq!(ordered.event(row), whole[row as usize]);
            }
        }
    }

    #[test]
    fn a_table_is_the_beginning_of_a_longer_one_by_time(series in any_series(), rows in 0u64..5_000, more in 0u64..5_000) {
        let (short, long) = (ordered(&series, rows, Order::Time), ordered(&series, rows + more, Order::Time));
        prop_assert_eq!(&all(&short)[..], &all(&long)[..rows as usize]);
    }

    #[test]
    fn events_before_a_time_and_ranges_of_a_series_are_counted(
        series in any_series(), rows in 1usize..3_000, from in 0u64..6_000, span in 0u64..6_000,
    ) {
        let events = Events::new(series.clone(), rows as u64).unwrap();
        let expected = by_time(&series, rows);
        let before = |at_ns: u64| expected.iter().filter(|&&e| events.time_ns(e) < at_ns).count() as u64;
        // Beyond the end the sum goes on with events that the table does not have.
        let at_ns = from.min(events.end_ns() - 1);
        prop_assert_eq!(events.before(at_ns), before(at_ns));
        for s in 0..series.len() as u64 {
            let inside: Vec<u64> = sorted(expected.clone()).into_iter()
                .filter(|&e| e.series == s && (from..from + span).contains(&events.time_ns(e)))
                .map(|e| e.sweep).collect();
            let (first, count) = events.range(s, from, from + span);
            prop_assert_eq!((first..first + count).collect::<Vec<_>>(), inside);
        }
    }

    #[test]
    fn lognormal_rates_keep_the_pinned_share_and_the_sum(
        key: u64, series in 2u64..400, sigma in 0.0..3.0f64, share_ppm in 1_000u32..500_000, pinned: u64, period_ns in 1_000_000_000u64..1_000_000_000_000,
    ) {
        let law = Lognormal { sigma, pinned: Some(Pinned { series: pinned % series, share_ppm }) };
        let Ok(made) = lognormal(key, series, period_ns, &law) else {
            // Refused only where the rarest series has an event after more than 73 years: at a 1,000th it shows which.
            let shorter = lognormal(key, series, period_ns / 1_000, &law).unwrap();
            let longest = shorter.iter().map(|s| s.period_ns).max().unwrap();
            prop_assert!(longest > LAST_NS / 1_001, "refused, and a period would be {} ns", longest as u128 * 1_000);
            return Ok(());
        };
        prop_assert!(made.iter().all(|s| s.phase_ns < s.period_ns));
        let rate = |s: &Series| 1.0 / s.period_ns as f64;
        let all: f64 = made.iter().map(rate).sum();
        let expected = series as f64 / period_ns as f64;
        prop_assert!((all / expected - 1.0).abs() < 1e-3, "{} of {}", all, expected);
        let share = rate(&made[(pinned % series) as usize]) / expected;
        prop_assert!((share * 1e6 / share_ppm as f64 - 1.0).abs() < 1e-3, "{} of {}", share, share_ppm);
    }
}

#[test]
fn equal_series_by_time_are_the_rows_of_a_table_without_an_order() {
    // Windows of 4,096 rows begin in the middle of sweeps, at a sweep and between sweeps.
    for (series, period_ns) in [(1, 1), (7, 1000), (4096, 1000), (5000, 3), (64, 1 << 30)] {
        let ordered = ordered(&equal(series, period_ns), 30_000, Order::Time);
        for (row, event) in all(&ordered).into_iter().enumerate() {
            assert_eq!(event, Event { series: row as u64 % series, sweep: row as u64 / series });
            assert_eq!(ordered.events().number(event), row as u64);
        }
    }
}

#[test]
fn no_rows_one_row_and_a_row_too_many() {
    let series = [Series { period_ns: 10, phase_ns: 3 }, Series { period_ns: 1 << 60, phase_ns: 1 }];
    for order in ORDERS {
        assert!(all(&ordered(&series, 0, order)).is_empty());
        let one = ordered(&series, 1, order);
        assert_eq!(all(&one), [Event { series: 1, sweep: 0 }], "{order:?}");
        assert_eq!(one.row(Event { series: 0, sweep: 0 }), None);
        assert_eq!(one.row(Event { series: 1, sweep: 1 }), None);
        assert_eq!(one.row(Event { series: 2, sweep: 0 }), None);
        assert!(std::panic::catch_unwind(|| one.event(1)).is_err(), "{order:?}");
    }
    // A period longer than the table: one row of it.
    assert_eq!(Events::new(series.to_vec(), 1000).unwrap().count(1), 1);
    assert_eq!(Events::new(series.to_vec(), 0).unwrap().of_number(0), None);
}

#[test]
fn what_cannot_be_counted_is_refused() {
    let of = |period_ns, rows| Events::new(vec![Series { period_ns, phase_ns: 0 }; 3], rows).err();
    let says = |found: Option<String>, text: &str| {
        let found = found.expect("refused");
        assert!(found.contains(text), "{found}");
    };
    says(Events::new(vec![], 1).err(), "series is 0");
    says(of(0, 1), "series 0 has an event every 0 ns");
    says(of(LAST_NS + 1, 1), "series 0 has an event every");
    says(of(1, u64::MAX / 3), "too many");
    says(of(LAST_NS / 2, 100), "more than 73 years");
    assert_eq!(of(LAST_NS / 2, 3), None);
    says(Ordered::new(Events::new(equal(1, 1), 1).unwrap(), Order::File { files: 0 }).err(), "files is 0");
    let law = |sigma, pinned| lognormal(1, 4, 1000, &Lognormal { sigma, pinned }).err();
    let pinned = |series, share_ppm| Some(Pinned { series, share_ppm });
    says(law(f64::NAN, None), "sigma is NaN");
    says(law(3.1, None), "sigma is 3.1");
    says(law(1.0, pinned(4, 10)), "series 4 is pinned of 4");
    says(law(1.0, pinned(0, 0)), "share_ppm is 0");
    says(law(1.0, pinned(0, 1_000_000)), "share_ppm is 1000000");
    says(lognormal(1, 4, 0, &Lognormal { sigma: 1.0, pinned: None }).err(), "every 0 ns");
    assert_eq!(law(1.0, pinned(3, 12_000)), None);
}

/// 4,000 attributes, 64.7 rows a second, one attribute with 1.2 % of them.
fn archive() -> Vec<Series> {
    let law = Lognormal { sigma: 1.5, pinned: Some(Pinned { series: 3467, share_ppm: 12_000 }) };
    lognormal(7, 4000, 61_823_802_164, &law).unwrap()
}

#[test]
fn a_billion_rows_are_counted_and_each_is_found_alone() {
    const ROWS: u64 = 1_000_000_000;
    let series = archive();
    let events = Events::new(series.clone(), ROWS).unwrap();
    assert_eq!((0..4000).map(|s| events.count(s)).sum::<u64>(), ROWS);
    assert!(events.count(3467).abs_diff(12_000_000) < 20, "{}", events.count(3467));
    // Counted by series from its last event: it is in the table and the one after is not.
    for (s, of) in series.iter().enumerate() {
        let count = events.count(s as u64);
        assert!(count == 0 || of.time_ns(count - 1) < events.end_ns(), "series {s}");
        assert!(of.time_ns(count) >= events.end_ns() - 1, "series {s}");
    }
    for order in ORDERS {
        let ordered = Ordered::new(events.clone(), order).unwrap();
        let mut cursor = Cursor::default();
        for first in [0, 1, 4_095, 123_456_789, ROWS / 2, ROWS - 10_000] {
            let found = filled(&mut cursor, &ordered, first, 10_000);
            for (at, &event) in found.iter().enumerate().step_by(1_111) {
                assert_eq!(ordered.row(event), Some(first + at as u64), "{order:?}");
            }
            if order == Order::Time {
                let time = |e: &Event| (events.time_ns(*e), e.series);
                assert!(found.windows(2).all(|pair| time(&pair[0]) < time(&pair[1])), "from {first}");
            }
        }
    }
}

/// Rates, phases and orders are figures of results: a study that runs again has the same rows.
#[test]
fn the_same_seed_makes_the_same_series_and_orders_for_ever() {
    let series = archive();
    let shown = |s: &Series| (s.period_ns, s.phase_ns);
    assert_eq!(
        [0, 1, 3467].map(|at| shown(&series[at])),
        [
            (2_708_713_031_231, 857_469_653_778),
            (50_641_699_961, 1_144_043_557),
            (1_287_995_878, 1_268_622_422)
        ]
    );
    let sums = ORDERS.map(|order| {
        let events = all(&ordered(&series, 50_000, order));
        events.iter().fold(0u64, |sum, e| {
            sum.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (e.series << 32 | e.sweep)
        })
    });
    // One file is the order by key.
    let (key, time) = (7_512_877_172_424_911_326, 15_479_148_908_429_273_706);
    assert_eq!(sums, [key, time, key, 16_731_325_992_879_340_259, 15_865_801_084_210_912_749]);
}
