//! What several engines need to know of a plan, of columns and of limits.

use std::time::{Duration, Instant};

use super::{Context, OpId, Outcome};
use inrush_rows::error::{AfterLimit, Error, TargetFault};
use inrush_rows::plan::{OpPlan, RolePlan, Segment, Work};
use inrush_rows::rows::{Columns, Values};

/// The connection to `target` is gone; off the clock this ends the run.
pub fn lost(target: &str, error: &std::io::Error) -> Error {
    Error::Target {
        target: target.to_owned(),
        class: TargetFault::Lost,
        message: format!("the connection was lost ({error}); is the server still running? see its log"),
    }
}

/// A control statement is asked for in steps of this, so that its limit is kept.
pub const STEP: Duration = Duration::from_millis(100);
/// After a cancel request, so much time to say that the statement has ended.
const CANCEL_GRACE: Duration = Duration::from_secs(5);

/// Time limit of a control statement: cancels it, then gives up.
pub struct StatementLimit {
    limit_ns: u64,
    grace: Duration,
    until: Option<Instant>,
    passed: bool,
}

impl StatementLimit {
    /// 0: no limit.
    pub fn new(limit_ns: u64) -> StatementLimit {
        let until = (limit_ns > 0).then(|| Instant::now() + Duration::from_nanos(limit_ns));
        StatementLimit { limit_ns, grace: CANCEL_GRACE, until, passed: false }
    }

    /// The statement was to be cancelled, and failed with `outcome`: whether that is the limit's. A statement may end by
    /// itself, or fail, before it hears of it.
    pub fn has_cancelled(&self, outcome: Outcome) -> bool {
        self.passed && outcome == Outcome::Timeout
    }

    /// To be called while waiting; an error when even the cancelled statement does not end.
    pub fn check(&mut self, cancel: impl FnOnce(), text: &str) -> Result<(), Error> {
        match self.until {
            Some(until) if Instant::now() >= until => {
                if self.passed {
                    return Err(self.error(text, AfterLimit::Running));
                }
                cancel();
                self.passed = true;
                self.until = Some(Instant::now() + self.grace);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub fn cancelled(&self, text: &str) -> Error {
        self.error(text, AfterLimit::Cancelled)
    }

    fn error(&self, text: &str, after: AfterLimit) -> Error {
        Error::Deadline { what: text.to_owned(), limit_s: self.limit_ns as f64 / 1e9, after }
    }
}

/// So long a server may take to read a request where the plan limits nothing.
const SEND_MOST: Duration = Duration::from_secs(300);

/// Longest time in which a request of `ops` is sent: their shortest deadline, else the longest limit of a segment.
pub fn send_limit(ctx: &Context, ops: &[OpId]) -> Option<Duration> {
    let deadlines = ops.iter().map(|&op| ctx.op(op).deadline_ns).filter(|&ns| ns > 0);
    let limits = ctx.plan.segments.iter().filter_map(|segment| match segment {
        Segment::Drive(drive) if drive.limit_ns > 0 => Some(drive.limit_ns),
        _ => None,
    });
    Some(deadlines.min().or(limits.max()).map_or(SEND_MOST, Duration::from_nanos))
}

/// A limit of a plan, where 0 is none.
pub fn limit_of(limit_ns: u64) -> Option<Duration> {
    (limit_ns > 0).then(|| Duration::from_nanos(limit_ns))
}

/// Columns of the table that `op` inserts into.
pub fn columns_of(ctx: &Context, op: &OpPlan) -> Result<usize, Error> {
    let table = op.table.and_then(|t| ctx.plan.tables.get(t));
    match table.map(|t| t.columns.len()) {
        Some(columns) if columns > 0 => Ok(columns),
        _ => Err(Error::Plan(format!("operation {} inserts into no table of this plan", op.name))),
    }
}

/// The largest batch that any role of the plan gives to `op`; none when no role uses it.
pub fn largest_batch(ctx: &Context, op: OpId) -> Option<usize> {
    let name = &ctx.op(op).name;
    let roles = roles(ctx).filter(|role| role.operations.iter().any(|w| &w.operation == name));
    roles
        .filter_map(|role| match role.work {
            Work::Rows { batch_rows, .. } => Some(batch_rows as usize),
            _ => None,
        })
        .max()
}

/// The greatest depth of the roles that use any of `ops`.
pub fn depth(ctx: &Context, ops: &[OpId]) -> usize {
    let uses = |name: &str| ops.iter().any(|&op| uses_op(ctx, op, name));
    let roles = roles(ctx).filter(|role| role.operations.iter().any(|w| uses(&w.operation)));
    roles.map(|role| role.depth as usize).max().unwrap_or(1).max(1)
}

/// `name` is the operation `op`, or a page that has it as a member.
fn uses_op(ctx: &Context, op: OpId, name: &str) -> bool {
    let own = &ctx.op(op).name;
    own == name || ctx.plan.operations.iter().any(|o| o.name == name && o.members.contains(own))
}

/// Sizes of the batches that the plan's roles will send to `op`: whole ones and what remains.
pub fn batches(ctx: &Context, op: OpId) -> Vec<usize> {
    let name = &ctx.op(op).name;
    let mut sizes = Vec::new();
    for role in roles(ctx).filter(|role| role.operations.iter().any(|w| &w.operation == name)) {
        if let Work::Rows { rows, batch_rows, .. } = role.work {
            let batch = (batch_rows as u64).max(1);
            sizes.push(batch.min(rows) as usize);
            sizes.push((rows % batch) as usize);
        }
    }
    sizes.retain(|&size| size > 0);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn roles(ctx: &Context) -> impl Iterator<Item = &RolePlan> {
    ctx.plan.segments.iter().flat_map(|segment| match segment {
        Segment::Drive(drive) => drive.roles.as_slice(),
        _ => &[],
    })
}

/// The statement for `rows` rows from that for one: its last parenthesised group, repeated.
pub fn repeat_values(one_row: &str, rows: usize) -> Result<String, Error> {
    match last_group(one_row.trim_end()) {
        Some(group) => Ok(format!("{}{}", one_row.trim_end(), format!(", {group}").repeat(rows - 1))),
        None => Err(Error::Plan(format!("an insert ends with its group of values: {one_row}"))),
    }
}

/// From the parenthesis on that the one at the end closes.
fn last_group(text: &str) -> Option<&str> {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (byte == b'(').then(|| &text[at..]);
        }
    }
    None
}

/// How many rows the statements of an insert take, largest first: `most`, what is left of a full batch, and one.
pub fn statement_sizes(most: usize, batch: Option<usize>) -> Vec<usize> {
    let batch = batch.unwrap_or(most).max(1);
    let mut sizes = vec![most.min(batch), batch % most, 1];
    sizes.retain(|&rows| rows > 0);
    sizes.dedup();
    sizes
}

/// What the values of `columns` take as numbers and texts: the unit of bytes where a wire does not report.
pub fn value_bytes(columns: &Columns) -> u64 {
    fn of(values: &Values) -> usize {
        match values {
            Values::I32(v) => v.len() * 4,
            Values::F32(v) => v.len() * 4,
            Values::I64(v) => v.len() * 8,
            Values::F64(v) => v.len() * 8,
            Values::Text(v) => v.bytes.len(),
            Values::List(v) => of(&v.items),
        }
    }
    columns.columns.iter().map(|c| of(&c.values) as u64).sum()
}

/// Rows read back are handed over so many at a time.
const READ_BACK_ROWS: usize = 8192;
/// Or as soon as their texts and lists have so many bytes: one more row of a GiB has still places of 32 bits.
const HANDED_OVER_BYTES: usize = 64 << 20;

/// Whether texts and lists, which are in these columns, are to be handed over for their bytes. Asked for every row.
#[inline]
pub fn are_many_bytes(batch: &Columns, varying: &[usize]) -> bool {
    varying.iter().map(|at| batch.columns[*at].values.varying_bytes()).sum::<usize>() >= HANDED_OVER_BYTES
}

/// What a scan has read, on its way to the proof.
pub struct ReadBack<'a> {
    /// Rows that were not handed over yet; a wire appends to them.
    pub batch: Columns,
    /// Columns of texts and lists.
    varying: Vec<usize>,
    rows: u64,
    each: &'a mut dyn FnMut(&Columns),
}

impl<'a> ReadBack<'a> {
    pub fn new(like: &Columns, each: &'a mut dyn FnMut(&Columns)) -> ReadBack<'a> {
        ReadBack { batch: Columns::empty_like(like), varying: like.varying(), rows: 0, each }
    }

    /// To be called when rows were added: hands them over where they are many.
    #[inline]
    pub fn added(&mut self) {
        if self.batch.rows >= READ_BACK_ROWS || are_many_bytes(&self.batch, &self.varying) {
            self.hand_over();
        }
    }

    /// Hands over the rest; how many rows it was in all.
    pub fn end(mut self) -> u64 {
        if self.batch.rows > 0 {
            self.hand_over();
        }
        self.rows
    }

    fn hand_over(&mut self) {
        self.rows += self.batch.rows as u64;
        (self.each)(&self.batch);
        clear(&mut self.batch);
    }
}

/// Empties `batch` and keeps its memory.
pub fn clear(batch: &mut Columns) {
    batch.rows = 0;
    for column in &mut batch.columns {
        column.present.clear();
        clear_values(&mut column.values);
    }
}

fn clear_values(values: &mut Values) {
    match values {
        Values::I32(v) => v.clear(),
        Values::I64(v) => v.clear(),
        Values::F32(v) => v.clear(),
        Values::F64(v) => v.clear(),
        Values::Text(v) => {
            v.ends.clear();
            v.bytes.clear();
        }
        Values::List(v) => {
            v.ends.clear();
            v.present.clear();
            clear_values(&mut v.items);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_handed_over_when_they_are_many_bytes_however_few_they_are() {
        let like =
            Columns::new(0, vec![inrush_rows::rows::Column::new("t", inrush_rows::plan::LogicalType::Text)]);
        let mut handed = Vec::new();
        let mut each = |rows: &Columns| handed.push(rows.rows);
        let mut read = ReadBack::new(&like, &mut each);
        let wide = vec![b'x'; HANDED_OVER_BYTES / 2];
        for _ in 0..5 {
            let inrush_rows::rows::Values::Text(texts) = &mut read.batch.columns[0].values else {
                unreachable!()
            };
            texts.push(&wide);
            read.batch.rows += 1;
            read.added();
        }
        assert_eq!(read.end(), 5);
        assert_eq!(handed, [2, 2, 1]);
    }

    fn after(error: &Error) -> Option<AfterLimit> {
        match error {
            Error::Deadline { after, .. } => Some(*after),
            _ => None,
        }
    }

    #[test]
    fn a_statement_that_does_not_end_when_it_is_cancelled_goes_on() {
        let mut limit = StatementLimit { grace: Duration::ZERO, ..StatementLimit::new(1) };
        std::thread::sleep(Duration::from_millis(1));
        let mut cancels = 0;
        assert!(limit.check(|| cancels += 1, "VACUUM").is_ok());
        let error = limit.check(|| unreachable!("it was cancelled already"), "VACUUM").unwrap_err();
        assert_eq!((cancels, after(&error)), (1, Some(AfterLimit::Running)));
        assert!(error.to_string().ends_with("the server goes on with it"), "{error}");
    }

    #[test]
    fn a_failure_behind_a_cancel_is_the_limits_where_it_says_so() {
        let mut limit = StatementLimit::new(1);
        assert!(!limit.has_cancelled(Outcome::Timeout), "nobody has cancelled it");
        std::thread::sleep(Duration::from_millis(1));
        limit.check(|| (), "VACUUM").unwrap();
        assert!(limit.has_cancelled(Outcome::Timeout));
        assert!(!limit.has_cancelled(Outcome::Refused), "it failed by itself");
        assert_eq!(after(&limit.cancelled("VACUUM")), Some(AfterLimit::Cancelled));
    }

    #[test]
    fn a_full_batch_needs_no_statement_of_one_row_more_than_once() {
        assert_eq!(statement_sizes(16, None), [16, 1]);
        assert_eq!(statement_sizes(16, Some(100)), [16, 4, 1]);
        assert_eq!(statement_sizes(16, Some(5)), [5, 1]);
        assert_eq!(statement_sizes(16, Some(32)), [16, 1]);
        assert_eq!(statement_sizes(1, Some(7)), [1]);
    }

    #[test]
    fn a_statement_for_one_row_is_repeated_after_its_values() {
        let one = "INSERT INTO t (a, b) VALUES (?, ?)";
        assert_eq!(repeat_values(one, 1).unwrap(), one);
        assert_eq!(repeat_values(one, 3).unwrap(), "INSERT INTO t (a, b) VALUES (?, ?), (?, ?), (?, ?)");
        let nested = "INSERT INTO t (a, b) VALUES (f(?), g((?)))";
        assert_eq!(repeat_values(nested, 2).unwrap(), format!("{nested}, (f(?), g((?)))"));
        for wrong in ["INSERT INTO t SELECT 1", "INSERT INTO t VALUES ?)", ""] {
            assert!(repeat_values(wrong, 2).is_err(), "{wrong}");
        }
    }
}
