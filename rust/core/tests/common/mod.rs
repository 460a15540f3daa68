//! What tests of whole segments share: an observer that keeps what it is given, and figures of it.
#![allow(dead_code)] // each test uses its part

use inrush_drive::drive::{Observer, Progress};
use inrush_drive::record::{Hist, Kind, Recorded, RepetitionRow};
use inrush_engines::engine::Ns;
use inrush_rows::error::Error;

/// Everything that was recorded of one repetition.
#[derive(Default)]
pub struct Seen(pub Recorded);

impl Observer for Seen {
    fn recorded(&mut self, recorded: Recorded) -> Result<(), Error> {
        keep(&mut self.0, recorded);
        Ok(())
    }

    fn progress(&mut self, _: Progress) {}

    fn repeat(&mut self, _: u32, _: Ns) -> Result<bool, Error> {
        Ok(false)
    }

    fn stuck(&mut self, role: &str) {
        panic!("{role} is stuck");
    }
}

/// `more` behind what was recorded before it.
pub fn keep(all: &mut Recorded, more: Recorded) {
    all.repetitions.extend(more.repetitions);
    all.hists.extend(more.hists);
    all.intervals.extend(more.intervals);
    all.failures.extend(more.failures);
    all.sessions.extend(more.sessions);
    all.samples.extend(more.samples);
}

/// All histograms of `kind` of a role, merged.
pub fn hist(recorded: &Recorded, role: &str, kind: Kind) -> Hist {
    let mut whole = Hist::new();
    for row in recorded.hists.iter().filter(|h| h.role == role && h.kind == kind) {
        whole.merge(&Hist::from_sparse(&row.hist));
    }
    whole
}

/// The first repetition of a role.
pub fn totals<'a>(recorded: &'a Recorded, role: &str) -> &'a RepetitionRow {
    recorded.repetitions.iter().find(|s| s.role == role).expect("every role has a repetition")
}
