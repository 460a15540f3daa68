//! A file in place of a database: what the disk below a folder can do. A call reads or writes one record of it, past the
//! kernel's cache.
//!
//! Options of the target: `direct` (true). Without it calls go through the kernel's cache. What a call does stands in the
//! directives of its operation, and there is no text.

mod blocks;
mod file;
mod place;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::Arc;

use self::blocks::Blocks;
use self::file::Access;
use self::place::Place;
use super::failures::Failures;
use super::{Answer, Caps, Context, Done, Engine, Ns, OpId, Outcome, Payload, Session, Submit, Ticket, Work};
use inrush_rows::error::Error;
use inrush_rows::plan::{FileAction, IoKind, IoPlan, Statement};
use inrush_rows::rows::{Columns, Value};

/// A session looks after so many calls whether its file has still a name: to ask costs as much as a short call.
const LOOKED_AFTER: u64 = 64;

pub struct Device {
    ctx: Context,
    path: Arc<PathBuf>,
    access: Access,
}

impl Device {
    /// Touches nothing.
    pub fn new(ctx: &Context) -> Result<Device, Error> {
        let target = &ctx.plan.target;
        let path = target.url.strip_prefix("device://").unwrap_or("");
        if !path.starts_with('/') {
            return Err(Error::Plan(format!(
                "target.url is {}; device needs a file by its whole path: device:///folder/file",
                target.url
            )));
        }
        Ok(Device { ctx: ctx.clone(), path: Arc::new(path.into()), access: Access::of(target)? })
    }

    fn call(&self, op: OpId) -> Result<Call, Error> {
        let plan = self.ctx.op(op);
        let refuse = |why: String| Error::Plan(format!("operation {}: {why}", plan.name));
        let io = plan.directives.as_ref().and_then(|directives| directives.io.as_deref().copied());
        let io = io.ok_or_else(|| refuse("device needs `io` of its directives".into()))?;
        let place = Place::new(&io, self.ctx.plan.seed, &plan.name).map_err(refuse)?;
        Ok(Call { io, place })
    }
}

impl Engine for Device {
    fn caps(&self) -> Caps {
        Caps { max_depth: 1, ..Caps::default() }
    }

    fn open(&self, ops: &[OpId]) -> Result<Box<dyn Session>, Error> {
        let mut calls: Vec<Option<Call>> = self.ctx.plan.operations.iter().map(|_| None).collect();
        for &op in ops {
            calls[op] = Some(self.call(op)?);
        }
        let file = self.access.open(&self.path)?;
        let held = file.metadata().map_err(|e| Error::io(self.path.display().to_string(), e))?.len();
        let all = || calls.iter().flatten();
        if let Some(short) = all().find(|call| call.io.file_bytes > held) {
            return Err(Error::Plan(format!(
                "{}: has {held} bytes, and calls are of {}; it was not laid out",
                self.path.display(),
                short.io.file_bytes
            )));
        }
        let largest = all().map(|call| call.io.record_bytes).max().unwrap_or(0);
        let mut blocks = Blocks::new(largest);
        if all().any(|call| call.io.does == IoKind::Write) {
            blocks.fill(self.ctx.plan.seed);
        }
        Ok(Box::new(DeviceSession {
            path: Arc::clone(&self.path),
            ctx: self.ctx.clone(),
            calls,
            blocks,
            made: 0,
            done: Vec::with_capacity(1),
            failures: Failures::default(),
            file,
        }))
    }

    /// A record is checked as it comes, and no other promise is made.
    fn answers(&self, _op: OpId) -> bool {
        false
    }

    fn control(&self, text: &str, _limit_ns: u64) -> Result<Answer, Error> {
        Err(Error::Plan(format!("device has no statements; directives say what it does: {text}")))
    }

    fn ask(&self, statement: &Statement, limit_ns: u64) -> Result<Answer, Error> {
        match statement.directives.as_ref().and_then(|directives| directives.file) {
            Some(FileAction::LayOut { bytes }) => {
                let limits = file::Limits { limit_ns, stop: &self.ctx.stop };
                file::lay_out(&self.path, self.access, bytes, self.ctx.plan.seed, &limits)?;
                Ok(Answer::default())
            }
            Some(FileAction::Size {}) => {
                let found = std::fs::metadata(&*self.path);
                let bytes = found.map_err(|e| Error::io(self.path.display().to_string(), e))?.len();
                let row = vec![Value::Text("file".into()), Value::U64(bytes)];
                Ok(Answer { names: ["name".into(), "value".into()].into(), rows: vec![row] })
            }
            None => self.control(&statement.text, limit_ns),
        }
    }
}

struct Call {
    io: IoPlan,
    place: Place,
}

struct DeviceSession {
    path: Arc<PathBuf>,
    ctx: Context,
    /// By operation.
    calls: Vec<Option<Call>>,
    /// One record.
    blocks: Blocks,
    /// Calls so far.
    made: u64,
    done: Vec<Done>,
    failures: Failures,
    file: File,
}

impl Session for DeviceSession {
    fn encode(&mut self, _op: OpId, _rows: &Columns, _out: &mut Payload) -> Result<(), Error> {
        Err(Error::Plan("device has no tables: no rows go into it".into()))
    }

    fn submit(&mut self, ticket: Ticket, op: OpId, _work: Work<'_>) -> Submit {
        let call = self.calls[op].as_ref().expect("the driver submits what it has opened");
        let (io, at) = (call.io, call.place.offset(ticket));
        let moved = match io.does {
            IoKind::Read => self.read(at, io.record_bytes),
            IoKind::Write => self.write(at, io.record_bytes),
        };
        self.made += 1;
        let ended =
            if self.made.is_multiple_of(LOOKED_AFTER) { moved.and_then(|()| self.look()) } else { moved };
        let (outcome, rows, bytes) = match ended {
            Ok(()) => (Outcome::Ok, 1, io.record_bytes),
            Err((outcome, why)) => {
                let what = if io.does == IoKind::Read { "read" } else { "write" };
                let path = self.path.display();
                let why = format!("{path}: {what} of {} bytes at {at}: {why}", io.record_bytes);
                self.failures.note(ticket, why);
                (outcome, 0, 0)
            }
        };
        self.done.push(Done { ticket, done_ns: self.ctx.clock.now(), outcome, rows, bytes });
        Submit::Queued
    }

    fn poll(&mut self, _until: Ns, done: &mut Vec<Done>) {
        self.failures.hand_over();
        done.append(&mut self.done);
    }

    fn failure(&mut self, ticket: Ticket) -> Option<String> {
        self.failures.of(ticket)
    }

    fn scan(
        &mut self,
        _statement: &Statement,
        _like: &Columns,
        _each: &mut dyn FnMut(&Columns),
    ) -> Result<u64, Error> {
        Err(Error::Plan("device keeps no rows to read back; plan no proofs for it".into()))
    }

    fn close(self: Box<Self>) -> Result<(), Error> {
        Ok(())
    }
}

/// What a call came to, with its reason.
type Failed = (Outcome, String);

impl DeviceSession {
    /// Every byte of the record, and its first and last block are those of this place.
    fn read(&mut self, at: u64, bytes: u64) -> Result<(), Failed> {
        let record = self.blocks.bytes_mut(bytes);
        let came = retried(|| self.file.read_at(record, at)).map_err(other)?;
        if came as u64 != bytes {
            return Err((
                Outcome::Wrong,
                format!("{came} bytes came: the file is shorter than it was laid out"),
            ));
        }
        match self.blocks.strange(at, bytes, self.ctx.plan.seed) {
            None => Ok(()),
            Some(place) => {
                Err((Outcome::Wrong, format!("the block at {place} is not what was written there")))
            }
        }
    }

    fn write(&mut self, at: u64, bytes: u64) -> Result<(), Failed> {
        self.blocks.stamp(at, bytes, self.ctx.plan.seed);
        let record = self.blocks.bytes(bytes);
        let went = retried(|| self.file.write_at(record, at)).map_err(other)?;
        if went as u64 != bytes {
            return Err((Outcome::Other, format!("{went} bytes were taken")));
        }
        Ok(())
    }

    /// A file that was removed goes on to take calls: it is reported all the same.
    fn look(&self) -> Result<(), Failed> {
        match self.file.metadata().map_err(other)?.nlink() {
            0 => Err((Outcome::Other, "the file was removed meanwhile".into())),
            _ => Ok(()),
        }
    }
}

fn other(error: io::Error) -> Failed {
    (Outcome::Other, error.to_string())
}

fn retried(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            ended => return ended,
        }
    }
}
