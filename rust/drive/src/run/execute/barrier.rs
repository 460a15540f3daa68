//! Where the processes of one run wait for each other: before they connect, before they start, and when they have ended.
//!
//! The first process does all segments, the others only those that drive measured sessions. The program that started them
//! hears that one has come to a point, and lets all go on when all have come to it; where sessions start, at one instant.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use super::Running;
use crate::run::written::{self, Start, Written};
use crate::run::{Event, Point};
use inrush_engines::engine::Ns;
use inrush_rows::error::Error;
use inrush_rows::plan::{Phase, Segment, SharePlan, Work};

/// How often a process that waits writes out what it has seen, and sets its clock right.
const LOOK: Duration = Duration::from_millis(100);
/// A look at all processes and the machine takes so long at most, on one that is busy.
const LOOK_TAKES_NS: Ns = 20_000_000;

impl Running {
    /// Whether this process does the segment: those that follow the first one only drive, and load nothing.
    pub(super) fn does(&self, segment: &Segment) -> bool {
        self.does_all() || self.is_shared(segment)
    }

    /// Whether this is the first process, or the only one.
    pub(super) fn does_all(&self) -> bool {
        self.share().is_none_or(|share| share.index == 0)
    }

    /// What is to be known of a segment that the first process does alone: rows that it loads, for sessions of this one read
    /// them and judge their answers by it; and that the server may be another one behind a pause.
    pub(super) fn hear_of(&mut self, segment: &Segment) {
        if let Segment::Pause { .. } = segment {
            self.engine = None;
        }
        let Segment::Drive(drive) = segment else { return };
        for role in &drive.roles {
            if let Work::Rows { table, rows, .. } = role.work {
                self.counts[table].issue(rows);
                self.counts[table].acknowledge(rows);
            }
        }
    }

    /// Whether all processes do it.
    fn is_shared(&self, segment: &Segment) -> bool {
        matches!(segment, Segment::Drive(drive) if drive.phase != Phase::Load && self.share().is_some())
    }

    /// The sessions of a segment have ended here; those of others go on for a moment.
    pub(super) fn ends(&self, index: usize) {
        if self.is_shared(&self.context.plan.segments[index]) {
            self.look_at_all();
        }
    }

    /// How late the sessions of a segment began that all processes began together.
    pub(super) fn began(&self, index: usize, repetition: u32, t0: Ns, first: Ns, last: Ns) {
        if self.is_shared(&self.context.plan.segments[index]) {
            let late = |at: Ns| at.saturating_sub(t0);
            let (first_late_ns, last_late_ns) = (late(first), late(last));
            self.emit(Event::Began { index, repetition, t_ns: t0, first_late_ns, last_late_ns });
        }
    }

    fn share(&self) -> Option<SharePlan> {
        self.context.plan.share
    }

    /// Waits for the other processes where they share a segment; false when the run is to stop.
    pub(super) fn meet_at(&mut self, index: usize, point: Point) -> Result<bool, Error> {
        let plan = self.context.plan.clone();
        if !self.is_shared(&plan.segments[index]) {
            return Ok(true);
        }
        Ok(self.meet(index, point, 0, Vec::new())?.is_some())
    }

    /// All sessions of the segment have ended, here and in the other processes. before: what was written when it began here;
    /// what all have written since is known from now on. False when the run is to stop.
    pub(super) fn meet_at_end(&mut self, index: usize, before: &[Written]) -> Result<bool, Error> {
        let plan = self.context.plan.clone();
        let segment = &plan.segments[index];
        let Segment::Drive(drive) = segment else { return Ok(true) };
        if !self.is_shared(segment) {
            return Ok(true);
        }
        let own = written::since(before, written::so_far(drive, &self.counts));
        let Some(start) = self.meet(index, Point::End, 0, own)? else { return Ok(false) };
        // The segment lasted until the last of them ended, and nothing was begun since then.
        self.look_at_all();
        written::add(&start.others, &self.counts);
        Ok(true)
    }

    /// When sessions start that are ready, in run time: at `earliest` where no other process has some. `None`: the run is
    /// to stop.
    pub(super) fn start_at(&mut self, index: usize, earliest: Ns) -> Result<Option<Ns>, Error> {
        let plan = self.context.plan.clone();
        if !self.is_shared(&plan.segments[index]) {
            return Ok(Some(earliest));
        }
        let needs_ns = earliest.saturating_sub(self.context.clock.now());
        let start = self.meet(index, Point::Start, needs_ns, Vec::new())?;
        let start = start.map(|start| start.at_ns.saturating_sub(self.context.clock.zero_ns()));
        if let Some(t0) = start {
            // Until now it waited for others: that is no time of the segment, and what was used in it no use of it. From
            // this look to t0 sessions make their first rows, and wait.
            self.sleep_until(t0.saturating_sub(needs_ns + LOOK_TAKES_NS));
            self.look_at_all();
            if !std::mem::replace(&mut self.work.started, true) {
                self.work.begun_ns = t0;
            }
        }
        Ok(start)
    }

    /// What was used up to here by the processes and counted by the machine is known from now on.
    pub(super) fn look_at_all(&self) {
        if let Some(watch) = &self.watch {
            watch.look_at_all();
        }
    }

    fn sleep_until(&self, t_ns: Ns) {
        std::thread::sleep(Duration::from_nanos(t_ns.saturating_sub(self.context.clock.now())));
    }

    fn meet(
        &mut self,
        index: usize,
        point: Point,
        needs_ns: Ns,
        written: Vec<Written>,
    ) -> Result<Option<Start>, Error> {
        let clock = self.context.clock;
        self.emit(Event::Barrier { index, point, needs_ns, zero_ns: clock.zero_ns(), written });
        loop {
            match self.commands.starts.recv_timeout(LOOK) {
                Ok(start) => return Ok(Some(start)),
                _ if self.context.stop.load(Relaxed) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => self.write_out()?,
                // The thread that would send the start is gone.
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
            clock.anchor();
        }
    }
}
