//! What sessions measure, on its way from the session threads to the tables.
//!
//! A [`Recorder`] belongs to one session and writes into a [`Snapshot`] of its own: no lock, no
//! allocation. At the end of an interval the snapshot goes over a pre-allocated queue to the
//! [`Collector`], which merges all sessions of a role and returns rows ([`Recorded`]) for the tables.
//! When every snapshot is still with the collector, the session goes on in the one it has: the
//! interval becomes longer, `dt_ns` says so, and nothing is lost.

mod collect;
mod hist;
mod recorder;
mod role;
mod snapshot;
mod spec;
mod times;
mod total;

pub use collect::{Collector, RoleEnd};
pub use hist::{bucket_of, bucket_range, Hist, SparseHist, BUCKETS, GROUPING_POWER};
pub use recorder::Recorder;
pub use spec::{Looks, RoleSpec};
pub use times::Times;
pub use total::Progress;

/// The histograms of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// done − due: the headline.
    Latency,
    /// done − sent.
    Service,
    /// sent − due.
    Wait,
    /// sent − max(due, ready): the instrument's own lateness. Paced schedules only.
    Lag,
    /// Latency as if the instrument had been on time from the repetition's start on: latency less the call's lag, and
    /// less what lag of earlier calls of its session made it wait. Paced schedules only; at least service.
    OnTime,
    /// First seen by a reader − due, of rows that another role wrote. Readers that look for it only.
    Freshness,
    /// First row of the answer − due: calls that hand over their rows as they come. Of those that ended ok.
    FirstRow,
}

impl Kind {
    pub const ALL: [Kind; 7] =
        [Kind::Latency, Kind::Service, Kind::Wait, Kind::Lag, Kind::OnTime, Kind::Freshness, Kind::FirstRow];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Latency => "latency",
            Kind::Service => "service",
            Kind::Wait => "wait",
            Kind::Lag => "lag",
            Kind::OnTime => "on_time",
            Kind::Freshness => "freshness",
            Kind::FirstRow => "first_row",
        }
    }
}

/// Rows for the tables `intervals`, `hist`, `failures`, `sessions` and `repetitions` of `docs/results.md`.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    pub intervals: Vec<IntervalRow>,
    pub sends: Vec<SendRow>,
    pub hists: Vec<HistRow>,
    pub failures: Vec<FailureRow>,
    pub sessions: Vec<SessionRow>,
    pub repetitions: Vec<RepetitionRow>,
    pub samples: Vec<SampleRow>,
    pub files: Vec<FileRow>,
}

/// A file that was loaded. Run time, ns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    pub segment: u16,
    pub repetition: u32,
    pub role: String,
    /// Its number among the inputs.
    pub file: u32,
    /// The session that loaded it.
    pub pipeline: u32,
    /// When the load began.
    pub due_ns: u64,
    /// Before its first byte was read.
    pub start_ns: u64,
    /// Its last row left the client.
    pub sent_ns: u64,
    /// Its last row was stored.
    pub end_ns: u64,
    pub bytes: u64,
    pub rows: u64,
    pub rejected: u64,
    /// Runs of neighbouring keys in it; 0: not known.
    pub runs: u32,
}

/// What became of one sample: rows that were due together, or a batch that a reader looked for. Run time, ns; 0: never.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleRow {
    pub segment: u16,
    pub repetition: u32,
    pub role: String,
    pub sample: u64,
    /// Closed schedules: when it was sent.
    pub due_ns: u64,
    /// Its rows were there to be sent.
    pub collected_ns: u64,
    /// Its first part went out.
    pub sent_ns: u64,
    /// Its last part was acknowledged; 0 unless all were.
    pub done_ns: u64,
    /// When its first part would have gone out and its last been acknowledged, had the instrument been on time; 0 unless
    /// all were acknowledged.
    pub sent_on_time_ns: u64,
    pub done_on_time_ns: u64,
    /// Acknowledged.
    pub rows: u64,
    /// Parts that were not acknowledged.
    pub missing: u32,
    /// A reader saw a row of it for the first time.
    pub seen_ns: u64,
}

/// Counts of one role and operation in one interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntervalRow {
    pub segment: u16,
    pub repetition: u32,
    pub role: String,
    pub op: String,
    pub t_ns: u64,
    pub dt_ns: u64,
    /// Of operations that ended ok.
    pub rows: u64,
    pub bytes: u64,
    /// All that ended in the interval.
    pub ops: u64,
    /// Those that did not end ok, wrong answers included.
    pub errors: u64,
    /// Sent more than `schedule::LATE_NS` after they were due.
    pub late: u64,
    /// Sent and not ended, at the interval's end.
    pub in_flight: u32,
    /// Due and not sent, at the interval's end.
    pub backlog: u64,
    /// Rows since the repetition began.
    pub cum_rows: u64,
}

/// What the sessions of a role sent by their sockets in one interval; an interval without any has no row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendRow {
    pub segment: u16,
    pub repetition: u32,
    pub role: String,
    pub t_ns: u64,
    pub dt_ns: u64,
    /// Calls of operations that were handed over since the send before.
    pub ops: u64,
    /// Calls of the kernel that took bytes.
    pub sends: u64,
    /// As they were on the wire: with TLS, encrypted.
    pub bytes: u64,
}

/// One histogram of one interval; operations that did not end ok are in none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistRow {
    pub segment: u16,
    pub repetition: u32,
    pub role: String,
    pub op: String,
    pub kind: Kind,
    pub t_ns: u64,
    pub dt_ns: u64,
    pub hist: SparseHist,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureRow {
    pub segment: u16,
    pub repetition: u32,
    pub role: String,
    pub op: String,
    pub outcome: &'static str,
    pub count: u64,
    pub first_message: String,
    pub first_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    pub segment: u16,
    pub repetition: u32,
    pub role: String,
    pub session: u32,
    pub cpu_ns: u64,
    /// Sum of service times, operations of every outcome.
    pub busy_ns: u64,
    pub ops: u64,
    pub rows: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepetitionRow {
    pub segment: u16,
    pub repetition: u32,
    pub role: String,
    /// First due. On a closed schedule when the first session was free, so that a repetition of one
    /// batch has that batch made in its time, as one of many has.
    pub start_ns: u64,
    /// Last done; `start_ns` if nothing ended.
    pub end_ns: u64,
    pub rows: u64,
    pub bytes: u64,
    pub ops: u64,
    pub ok: u64,
    /// `ops - ok`, wrong answers included.
    pub errors: u64,
    pub wrong: u64,
    pub late: u64,
    /// Due before the role's end and never sent.
    pub unsent: u64,
    pub sessions: u32,
    pub cpu_ns: u64,
    /// Rows that its sessions looked for and that were due, and that they never saw: of all sessions together.
    pub unseen: u64,
    /// Of all its sessions' threads, ready to run and waiting for a processor.
    pub queued_ns: Option<u64>,
}

#[cfg(test)]
mod tests;
