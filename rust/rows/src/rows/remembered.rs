//! What a counter draws once for each series, kept: a row then costs a multiplication and one draw.

use std::sync::Arc;

use super::integers::CHUNK;

/// Values kept for one table at most: 20 bytes each, so 32 MB.
const MOST_VALUES: u64 = 1_600_000;

/// How much a table may still remember. Larger tables draw again for every row: the same values, slower.
pub struct Room {
    values: u64,
}

impl Room {
    pub fn of_a_table() -> Room {
        Room { values: MOST_VALUES }
    }
}

/// Of every series of a log-normal counter, with the first series again behind the last ones: a chunk
/// of neighbouring rows finds its values side by side wherever it begins.
pub struct Remembered {
    start: Vec<u64>,
    /// Mean increment per sweep; 0 in idle series.
    mean: Vec<u64>,
    /// Number of values that the jitter can have.
    jitters: Vec<u32>,
}

/// The values of a chunk's rows, in slices of its length.
#[derive(Clone, Copy)]
pub struct Along<'a> {
    pub start: &'a [u64],
    pub mean: &'a [u64],
    pub jitters: &'a [u32],
}

impl Remembered {
    /// `draw(places, start, mean, jitters)` fills slices of equal length. None: the room does not suffice.
    pub fn new(
        room: &mut Room,
        series: u64,
        draw: impl Fn(&[u64], &mut [u64], &mut [u64], &mut [u32]),
    ) -> Option<Arc<Remembered>> {
        let length = series.checked_add(CHUNK as u64 - 1)?;
        room.values = room.values.checked_sub(length)?;
        let length = length as usize;
        let (mut start, mut mean, mut jitters) = (vec![0; length], vec![0; length], vec![0; length]);
        let mut places = [0u64; CHUNK];
        for at in (0..length).step_by(CHUNK) {
            let to = (at + CHUNK).min(length);
            let places = &mut places[..to - at];
            places.iter_mut().enumerate().for_each(|(i, place)| *place = (at + i) as u64 % series);
            draw(places, &mut start[at..to], &mut mean[at..to], &mut jitters[at..to]);
        }
        Some(Arc::new(Remembered { start, mean, jitters }))
    }

    /// Of `n` rows from this series on, `CHUNK` at most.
    pub fn along(&self, first_series: u64, n: usize) -> Along<'_> {
        let range = first_series as usize..first_series as usize + n;
        Along {
            start: &self.start[range.clone()],
            mean: &self.mean[range.clone()],
            jitters: &self.jitters[range],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::TablePlan;
    use crate::rows::{Level, RowGen};
    use proptest::prelude::*;
    use serde_json::json;

    /// Counters of every width and end, far above 32 bits an increment and below, and what grows with one.
    fn table(series: u64) -> TablePlan {
        let counter = |more: serde_json::Value| {
            let mut gen = json!({"kind": "counter", "increment": "lognormal", "median_per_s": 5e7, "sigma": 1.5,
                "start_from": 1_000, "start_to": 60_000, "idle_ppm": 200_000});
            gen.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            gen
        };
        let columns = [
            counter(json!({"cap_per_s": 3_125_000_000u64})),
            counter(json!({"median_per_s": 2e12, "sigma": 3.0})),
            counter(json!({"width_bits": 32})),
            counter(json!({"width_bits": 32, "at_limit": "saturate"})),
            counter(json!({"reset_every_s": 7})),
            json!({"kind": "excess", "of": "c0", "above_per_s": 40_000_000, "numerator": 1, "denominator": 3, "width_bits": 40}),
        ];
        let columns: Vec<_> = (columns.into_iter().enumerate())
            .map(|(k, gen)| json!({"name": format!("c{k}"), "type": "u64", "wire": "", "gen": gen}))
            .collect();
        let source = json!({"kind": "generated", "series": series, "period_ns": 1_000_000_000});
        serde_json::from_value(json!({"name": "t", "stream": "t", "columns": columns, "source": source}))
            .expect("a table of this build")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn what_is_remembered_is_what_is_drawn(
            seed: u64, series in 1u64..3_000, first in 0u64..1 << 40, rows in 1usize..3_000,
        ) {
            let table = table(series);
            let made = |room| RowGen::within(room, &table, seed, 0).expect("a valid table");
            let drawing = made(Room { values: 0 });
            let mut drawn = drawing.columns(rows);
            drawing.fill(first, rows, &mut drawn);
            for level in Level::supported() {
                let remembering = made(Room::of_a_table()).with_level(level);
                let mut remembered = remembering.columns(rows);
                remembering.fill(first, rows, &mut remembered);
                for (a, b) in remembered.columns.iter().zip(&drawn.columns) {
                    prop_assert_eq!(format!("{:?}", a.values), format!("{:?}", b.values), "{} {:?}", a.name, level);
                }
            }
        }
    }

    #[test]
    fn a_table_remembers_no_more_than_its_room() {
        let draw = |_: &[u64], _: &mut [u64], _: &mut [u64], _: &mut [u32]| {};
        let mut room = Room::of_a_table();
        let kept = (0..100).filter(|_| Remembered::new(&mut room, 50_000, draw).is_some()).count();
        assert_eq!(kept as u64, MOST_VALUES / (50_000 + CHUNK as u64 - 1));
        assert!(Remembered::new(&mut Room::of_a_table(), u64::MAX, draw).is_none());
    }
}
