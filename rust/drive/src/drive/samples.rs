//! What became of each sample: rows that are due together are stored when the last of them is acknowledged.
//!
//! Kept for roles that write samples, and for those with rows that a freshness reader looks for; there a
//! batch is a sample. Written by the sessions without a lock, read by readers and at the repetition's end.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::record::{SampleRow, Times};
use inrush_engines::engine::{Ns, Ticket};
use inrush_engines::schedule;
use inrush_rows::error::Error;
use inrush_rows::plan::{CollectPlan, RolePlan, Schedule, Work};

/// A sample takes 64 bytes in the log: more samples than this are a mistake in the plan.
const MOST_SAMPLES: u64 = 1 << 22;

pub struct SampleLog {
    pub table: usize,
    role: String,
    first_row: u64,
    rows: u64,
    batch_rows: u64,
    parts: u64,
    collect: Option<CollectPlan>,
    seed: u64,
    samples: Box<[Sample]>,
}

/// Run time, ns; 0: not yet.
#[derive(Default)]
struct Sample {
    due: AtomicU64,
    collected: AtomicU64,
    sent: AtomicU64,
    last_done: AtomicU64,
    sent_on_time: AtomicU64,
    done_on_time: AtomicU64,
    rows: AtomicU64,
    missing: AtomicU32,
    seen: AtomicU64,
}

impl SampleLog {
    /// `None` for a role without rows.
    pub fn of(role: &RolePlan, plan_seed: u64) -> Result<Option<SampleLog>, Error> {
        let Work::Rows { table, first_row, rows, batch_rows, .. } = role.work else { return Ok(None) };
        let parts = schedule::parts(&role.schedule).max(1);
        let batch_rows = u64::from(batch_rows.max(1));
        let samples = rows.div_ceil(batch_rows).div_ceil(parts);
        if samples > MOST_SAMPLES {
            return Err(Error::Plan(format!(
                "role {}: {samples} samples; their outcomes are kept for at most {MOST_SAMPLES}: larger batches, or no freshness",
                role.name
            )));
        }
        let collect = match &role.schedule {
            Schedule::Samples { collect, .. } => collect.clone(),
            _ => None,
        };
        let sample_log = SampleLog {
            table,
            role: role.name.clone(),
            first_row,
            rows,
            batch_rows,
            parts,
            collect,
            seed: schedule::arrival_seed(plan_seed, &role.name),
            samples: (0..samples).map(|_| Sample::default()).collect(),
        };
        sample_log.reset();
        Ok(Some(sample_log))
    }

    pub fn reset(&self) {
        let batches = self.rows.div_ceil(self.batch_rows);
        for (at, sample) in self.samples.iter().enumerate() {
            let fields = [&sample.due, &sample.collected, &sample.sent, &sample.last_done, &sample.rows];
            let on_time = [&sample.sent_on_time, &sample.done_on_time];
            fields.into_iter().chain(on_time).chain([&sample.seen]).for_each(|field| field.store(0, Relaxed));
            let parts = (batches - at as u64 * self.parts).min(self.parts);
            sample.missing.store(parts as u32, Relaxed);
        }
    }

    /// When the rows of `ticket`, due at `due`, are there to be sent.
    pub fn collected(&self, ticket: Ticket, due: Ns) -> Ns {
        due + schedule::collect_ns(self.collect.as_ref(), self.seed, ticket / self.parts)
    }

    pub fn sent(&self, ticket: Ticket, due: Ns, collected: Ns, sent: Ns) {
        let sample = self.sample(ticket);
        sample.due.store(due, Relaxed);
        sample.collected.store(collected, Relaxed);
        earliest(&sample.sent, sent);
    }

    /// `behind`: by how much the part was sent later than by an instrument that was always on time.
    pub fn stored(&self, ticket: Ticket, rows: u64, times: Times, behind: Ns) {
        let sample = self.sample(ticket);
        sample.rows.fetch_add(rows, Relaxed);
        sample.last_done.fetch_max(times.done_ns, Relaxed);
        earliest(&sample.sent_on_time, times.sent_ns.saturating_sub(behind));
        sample.done_on_time.fetch_max(times.done_ns.saturating_sub(behind), Relaxed);
        sample.missing.fetch_sub(1, Relaxed);
    }

    /// The sample that row `row` of the table is in, if this role writes it.
    pub fn sample_of(&self, row: u64) -> Option<usize> {
        let offset = row.checked_sub(self.first_row).filter(|offset| *offset < self.rows)?;
        Some((offset / self.batch_rows / self.parts) as usize)
    }

    /// The ticket that is the first part of `sample`.
    pub fn first_ticket(&self, sample: usize) -> Ticket {
        sample as u64 * self.parts
    }

    /// When `sample` was due; `None` before any of it was sent.
    pub fn due(&self, sample: usize) -> Option<Ns> {
        let sample = &self.samples[sample];
        (sample.sent.load(Relaxed) > 0).then(|| sample.due.load(Relaxed))
    }

    pub fn is_stored(&self, sample: usize) -> bool {
        self.samples[sample].missing.load(Relaxed) == 0
    }

    /// A reader saw a row of `sample`; the first time counts.
    pub fn seen(&self, sample: usize, at: Ns) {
        earliest(&self.samples[sample].seen, at);
    }

    /// Rows of the table that end with this role's last.
    pub fn end_row(&self) -> u64 {
        self.first_row + self.rows
    }

    /// What became of every sample, after the repetition.
    pub fn outcomes(&self, segment: u16, repetition: u32) -> impl Iterator<Item = SampleRow> + '_ {
        self.samples.iter().enumerate().map(move |(at, sample)| {
            let missing = sample.missing.load(Relaxed);
            let if_all = |field: &AtomicU64| if missing == 0 { field.load(Relaxed) } else { 0 };
            SampleRow {
                segment,
                repetition,
                role: self.role.clone(),
                sample: at as u64,
                due_ns: sample.due.load(Relaxed),
                collected_ns: sample.collected.load(Relaxed),
                sent_ns: sample.sent.load(Relaxed),
                done_ns: if_all(&sample.last_done),
                sent_on_time_ns: if_all(&sample.sent_on_time),
                done_on_time_ns: if_all(&sample.done_on_time),
                rows: sample.rows.load(Relaxed),
                missing,
                seen_ns: sample.seen.load(Relaxed),
            }
        })
    }

    fn sample(&self, ticket: Ticket) -> &Sample {
        &self.samples[(ticket / self.parts) as usize]
    }
}

/// Keeps the earlier of two times; 0 is none.
fn earliest(field: &AtomicU64, at: Ns) {
    if field.compare_exchange(0, at, Relaxed, Relaxed).is_err() {
        field.fetch_min(at, Relaxed);
    }
}
