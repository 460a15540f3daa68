//! A time zone: what its clocks show, as instants. Its rules come with the plan.

use super::Reason;
use crate::types::calendar::days_of;

/// Calendar and weekdays, and with them the rules of zones, repeat after 400 years.
const CYCLE_S: i64 = 146_097 * 86_400;
/// Changes are known up to this year; a later one is like the one that is so many cycles before it.
const KNOWN_UNTIL: i64 = 2_500;

/// Seconds east of UTC from each instant on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone(Vec<(i64, i64)>);

impl Zone {
    /// changes: since when (s since 1970, rising; the first stands for all before it) clocks are so many seconds ahead of UTC.
    pub fn new(changes: &[(i64, i64)]) -> Result<Zone, String> {
        if changes.is_empty() || !changes.windows(2).all(|two| two[0].0 < two[1].0) {
            return Err("the changes of a time zone have to rise".into());
        }
        Ok(Zone(changes.to_vec()))
    }

    /// The instant at which clocks show `local`; both in units of `per_s` since 1970.
    ///
    /// Errors: clocks were set forward over it, or back, and showed it twice.
    pub fn instant(&self, local: i64, per_s: i64) -> Result<i64, Reason> {
        let (seconds, part) = (local.div_euclid(per_s), local.rem_euclid(per_s));
        let beyond = seconds - days_of(KNOWN_UNTIL, 1, 1) * 86_400;
        let later = if beyond < 0 { 0 } else { (beyond / CYCLE_S + 1) * CYCLE_S };
        let seconds = seconds - later;
        // No clock is a day ahead, and no two changes are that near: the change before, and one more on each side.
        let next = self.0.partition_point(|(since, _)| *since <= seconds);
        let near = next.saturating_sub(2)..(next + 1).min(self.0.len());
        let mut found = near.filter_map(|at| {
            let instant = seconds - self.0[at].1;
            let began = at == 0 || self.0[at].0 <= instant;
            let ended = self.0.get(at + 1).is_some_and(|(since, _)| *since <= instant);
            (began && !ended).then_some(instant)
        });
        let instant = found.next().ok_or(Reason::NoSuchLocalTime)?;
        match found.next() {
            None => Ok((instant + later) * per_s + part),
            Some(_) => Err(Reason::LocalTimeTwice),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Berlin in 2026: one hour ahead, from 29 March 01:00 UTC two, from 25 October 01:00 UTC one again.
    const FORWARD: i64 = 1_774_746_000;
    const BACK: i64 = 1_792_890_000;

    fn berlin() -> Zone {
        Zone::new(&[(0, 3600), (FORWARD, 7200), (BACK, 3600)]).unwrap()
    }

    #[test]
    fn what_a_clock_shows_is_one_instant() {
        let zone = berlin();
        for (local, instant) in [
            (0, -3600),
            (FORWARD + 3600 - 1, FORWARD - 1),
            (FORWARD + 7200, FORWARD),
            (BACK + 3600 - 1, BACK - 3601),
            (BACK + 7200, BACK + 3600),
            (-1_000_000_000, -1_000_003_600),
        ] {
            assert_eq!(zone.instant(local, 1), Ok(instant), "{local}");
        }
        // 2926 is 2126, two cycles later, in which its last change holds.
        assert_eq!(
            zone.instant(BACK + 100 * 31_556_952 + 2 * CYCLE_S, 1),
            Ok(BACK + 100 * 31_556_952 + 2 * CYCLE_S - 3600)
        );
        assert_eq!(zone.instant(-1, 1_000), Ok(-3_600_001), "ms before 1970");
        assert_eq!(zone.instant(FORWARD * 1_000_000 + 7_200_000_001, 1_000_000), Ok(FORWARD * 1_000_000 + 1));
    }

    #[test]
    fn what_no_clock_shows_and_what_it_shows_twice_is_no_instant() {
        let zone = berlin();
        for local in [FORWARD + 3600, FORWARD + 7200 - 1] {
            assert_eq!(zone.instant(local, 1), Err(Reason::NoSuchLocalTime), "{local}");
        }
        for local in [BACK + 3600, BACK + 7200 - 1] {
            assert_eq!(zone.instant(local, 1), Err(Reason::LocalTimeTwice), "{local}");
        }
    }

    #[test]
    fn changes_that_do_not_rise_are_refused() {
        assert!(Zone::new(&[]).is_err() && Zone::new(&[(5, 0), (5, 60)]).is_err());
    }
}
