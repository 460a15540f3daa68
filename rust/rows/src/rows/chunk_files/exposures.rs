//! Exposures of a survey: their names, and which of them the runs of rows are of. All of it in closed form.
//!
//! A zone is the files of one kind. Its runs take the two slots of its exposures in turn: run `c` has slot `c % 2`, of
//! exposure `c / 2` in slot 0 and of one that is `shift` further in slot 1. So a file shares exposures with its neighbours.

/// Scans of the telescope along its orbit: one number each.
pub const FIRST_SCAN: u64 = 8745;
pub const SCANS: u64 = 3770;
/// Both halves of an orbit, each with frames along it.
pub const LETTERS: u64 = 2;
const FRAMES: u64 = 300;
/// A name has three digits for the frame and six for the source.
const MOST_FRAME: u64 = 999;
pub const MOST_SOURCE: u64 = 999_999;
const MOST_EXPOSURES: u64 = SCANS * LETTERS * MOST_FRAME;
/// An odd number of lines, so that lines which are spread over them take both letters.
const LINES: u64 = FRAMES * LETTERS - 1;
/// Neighbours at the poles are so many scans apart, by the golden ratio; and what undoes it modulo `SCANS`.
const STRIDE: u64 = 2331;
const UNDO: u64 = 1661;

/// Which part of the sky, and its how manieth exposure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exposure {
    pub zone: usize,
    pub number: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    pub scan: u64,
    pub letter: u64,
    pub frame: u64,
}

/// The quiet sky is zone 0: neighbouring exposures are neighbouring scans of one frame. Zone 1 is the poles, over which
/// all scans pass: its neighbours are far apart.
#[derive(Debug, Clone, Copy)]
pub struct Exposures {
    zones: [Zone; 2],
    /// Lines of one frame and letter: half of those of the poles, the quiet ones, the other half.
    lines: u64,
}

#[derive(Debug, Clone, Copy)]
struct Zone {
    runs: u64,
    shift: u64,
}

impl Zone {
    fn exposures(&self) -> u64 {
        self.runs.div_ceil(2)
    }

    fn lines(&self) -> u64 {
        self.exposures().div_ceil(SCANS)
    }
}

impl Exposures {
    /// Runs and files of each zone. Errors: more exposures than there are names.
    pub fn new(runs: [u64; 2], files: [u64; 2]) -> Result<Exposures, String> {
        // Half of the runs of a file are in slot 1: the next file has their exposures in slot 0.
        let zone = |at: usize| Zone { runs: runs[at], shift: (runs[at] / (2 * files[at]).max(1)).max(1) };
        let zones = [zone(0), zone(1)];
        let lines = zones[0].lines() + zones[1].lines();
        if lines > LETTERS * MOST_FRAME {
            return Err(format!(
                "its rows are {} runs; a survey has at most {}: give a greater run_rows",
                runs[0] + runs[1],
                2 * MOST_EXPOSURES
            ));
        }
        Ok(Exposures { zones, lines })
    }

    /// Exposure and slot of a run of a zone.
    pub fn of_run(&self, zone: usize, run: u64) -> (Exposure, u64) {
        let (half, slot) = (run / 2, run % 2);
        let of = &self.zones[zone];
        let number = if slot == 0 { half } else { (half + of.shift) % of.exposures() };
        (Exposure { zone, number }, slot)
    }

    /// Back to the run; None: the slot of the last exposure may be free.
    pub fn run_of(&self, exposure: Exposure, slot: u64) -> Option<u64> {
        let of = &self.zones[exposure.zone];
        let all = of.exposures();
        let half = if slot == 0 { exposure.number } else { (exposure.number + all - of.shift % all) % all };
        Some(2 * half + slot).filter(|&run| run < of.runs)
    }

    pub fn name(&self, exposure: Exposure) -> Name {
        let (line, at) = (exposure.number / SCANS, exposure.number % SCANS);
        let scan = if exposure.zone == 0 { at } else { at * STRIDE % SCANS };
        let before = self.zones[1].lines() / 2;
        let line = match exposure.zone {
            0 => before + line,
            _ if line < before => line,
            _ => self.zones[0].lines() + line,
        };
        let spread = line * self.spread() / self.lines;
        Name { scan: FIRST_SCAN + scan, letter: spread % LETTERS, frame: spread / LETTERS + 1 }
    }

    /// None: no exposure has this name.
    pub fn named(&self, name: Name) -> Option<Exposure> {
        let scan = name.scan.checked_sub(FIRST_SCAN).filter(|&scan| scan < SCANS)?;
        if name.letter >= LETTERS || !(1..=MOST_FRAME).contains(&name.frame) {
            return None;
        }
        let spread = (name.frame - 1) * LETTERS + name.letter;
        let line = (spread * self.lines).div_ceil(self.spread());
        if line >= self.lines || line * self.spread() / self.lines != spread {
            return None;
        }
        let (before, quiet) = (self.zones[1].lines() / 2, self.zones[0].lines());
        let (zone, line) = if line < before {
            (1, line)
        } else if line < before + quiet {
            (0, line - before)
        } else {
            (1, line - quiet)
        };
        let at = if zone == 0 { scan } else { scan * UNDO % SCANS };
        let number = line * SCANS + at;
        (number < self.zones[zone].exposures()).then_some(Exposure { zone, number })
    }

    /// The greatest frame of a name.
    pub fn last_frame(&self) -> u64 {
        (self.lines.max(1) - 1) * self.spread() / self.lines.max(1) / LETTERS + 1
    }

    fn spread(&self) -> u64 {
        LINES.max(self.lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_stride_of_the_poles_is_undone() {
        assert_eq!(STRIDE * UNDO % SCANS, 1);
    }

    proptest! {
        #[test]
        fn every_run_has_a_slot_of_its_own_and_every_name_leads_back(
            quiet in 0u64..40_000, poles in 0u64..40_000, files in (1u64..3_000, 1u64..500),
        ) {
            let runs = [quiet, poles];
            let exposures = Exposures::new(runs, [files.0, files.1]).unwrap();
            let mut names = std::collections::HashSet::new();
            for (zone, &runs) in runs.iter().enumerate() {
                for run in 0..runs {
                    let (exposure, slot) = exposures.of_run(zone, run);
                    prop_assert_eq!(exposures.run_of(exposure, slot), Some(run));
                    let name = exposures.name(exposure);
                    prop_assert_eq!(exposures.named(name), Some(exposure));
                    prop_assert!(name.frame <= exposures.last_frame());
                    prop_assert!(names.insert((name.scan, name.letter, name.frame, slot)));
                }
            }
        }
    }

    #[test]
    fn names_that_no_exposure_has_lead_nowhere() {
        let exposures = Exposures::new([7, 3], [2, 1]).unwrap();
        let frames = [0, 1, 2, 149, 150, 151, 299, 300, 301, 999, 1000];
        let names = (FIRST_SCAN - 9..FIRST_SCAN + SCANS + 9).flat_map(|scan| {
            (0..3).flat_map(move |letter| frames.map(move |frame| Name { scan, letter, frame }))
        });
        assert_eq!(names.filter(|&name| exposures.named(name).is_some()).count(), 4 + 2);
        assert_eq!(
            exposures.run_of(Exposure { zone: 1, number: 0 }, 1),
            None,
            "three runs have no second slot 1"
        );
    }

    #[test]
    fn more_runs_than_names_are_refused() {
        let most = 2 * MOST_EXPOSURES;
        assert_eq!(Exposures::new([most, 0], [1, 0]).unwrap().last_frame(), MOST_FRAME);
        assert!(Exposures::new([most + 1, 0], [1, 0]).unwrap_err().contains("give a greater run_rows"));
    }
}
