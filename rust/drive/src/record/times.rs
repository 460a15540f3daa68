//! The four times of a call, and what they say of the instrument.

/// The four times of an operation, run time in ns.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// When it should have been sent. Closed schedules: `sent_ns`.
    pub due_ns: u64,
    /// When its session was free for it.
    pub ready_ns: u64,
    /// When that would have been, had every call before been sent on time: at most `ready_ns`.
    ///
    /// Lindley's recursion, run twice: a call begins at max(due, ready), and ends its service time later. A call that
    /// the instrument sent late makes the calls behind it wait, and these have no lag of their own. The caller
    /// knows which call was before this one: with several in flight, the one that had its slot.
    pub ready_on_time_ns: u64,
    pub sent_ns: u64,
    pub done_ns: u64,
}

impl Times {
    /// By how much the call was sent later than by an instrument that was always on time. At most its wait.
    #[inline(always)]
    pub fn behind_ns(&self) -> u64 {
        self.sent_ns.saturating_sub(self.due_ns.max(self.ready_on_time_ns))
    }

    /// By how much it was sent later than it could have been.
    #[inline(always)]
    pub(super) fn lag_ns(&self) -> u64 {
        self.sent_ns.saturating_sub(self.due_ns.max(self.ready_ns))
    }
}
