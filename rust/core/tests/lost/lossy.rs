//! An engine whose connections are lost, and whose calls hang, when the test says so.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inrush_engines::engine::{
    Answer, Canceller, Caps, Done, Engine, Ns, OpId, Outcome, Payload, Session, Submit, Ticket, Work,
};
use inrush_rows::clock::Clock;
use inrush_rows::error::{Error, TargetFault};
use inrush_rows::plan::Statement;
use inrush_rows::rows::Columns;

/// A server of the test's own; times are run time.
#[derive(Default)]
pub struct Behaviour {
    /// Calls are lost and connections refused in between.
    pub down: Option<(Ns, Ns)>,
    pub service_ns: u64,
    /// Calls number `hangs_from..` of a connection hang until its canceller is called.
    pub hangs_from: Option<u64>,
    /// Connections made so far, and the numbers of those whose calls were cancelled.
    pub opened: AtomicU64,
    pub cancelled: Mutex<Vec<u64>>,
    /// A canceller of a call of operation 0 takes so long.
    pub cancel_takes: Duration,
    /// The first call of every connection is lost, after which the server is back at once.
    pub loses_first: bool,
}

pub struct Lossy {
    pub clock: Clock,
    pub behaviour: Arc<Behaviour>,
}

struct LossySession {
    clock: Clock,
    behaviour: Arc<Behaviour>,
    number: u64,
    op: OpId,
    calls: u64,
    lost: bool,
    cancel: Arc<AtomicBool>,
    ready: Vec<Done>,
}

impl Lossy {
    fn is_down(&self) -> bool {
        is_down(&self.behaviour, self.clock)
    }
}

fn is_down(behaviour: &Behaviour, clock: Clock) -> bool {
    behaviour.down.is_some_and(|(from, to)| (from..to).contains(&clock.now()))
}

impl Engine for Lossy {
    fn caps(&self) -> Caps {
        Caps { max_depth: 1, ..Caps::default() }
    }

    fn open(&self, ops: &[OpId]) -> Result<Box<dyn Session>, Error> {
        if self.is_down() {
            let message = "nothing listens".to_owned();
            return Err(Error::Target { target: "test:".into(), class: TargetFault::Unreachable, message });
        }
        Ok(Box::new(LossySession {
            clock: self.clock,
            behaviour: self.behaviour.clone(),
            number: self.behaviour.opened.fetch_add(1, SeqCst),
            op: ops[0],
            calls: 0,
            lost: false,
            cancel: Arc::default(),
            ready: Vec::new(),
        }))
    }

    fn control(&self, _: &str, _: u64) -> Result<Answer, Error> {
        Ok(Answer::default())
    }
}

impl Session for LossySession {
    fn encode(&mut self, _: OpId, _: &Columns, _: &mut Payload) -> Result<(), Error> {
        Ok(())
    }

    fn submit(&mut self, ticket: Ticket, _: OpId, work: Work<'_>) -> Submit {
        let rows = match work {
            Work::Rows { columns, .. } => columns.rows as u64,
            Work::Params(_) | Work::Extract { .. } => 0,
        };
        std::thread::sleep(Duration::from_nanos(self.behaviour.service_ns));
        let hangs = self.behaviour.hangs_from.is_some_and(|from| self.calls >= from);
        while hangs && !self.cancel.load(SeqCst) {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.lost |= is_down(&self.behaviour, self.clock);
        self.lost |= self.behaviour.loses_first && self.calls == 0 && self.number < 2;
        self.calls += 1;
        let outcome = match (self.lost, hangs) {
            (true, _) => Outcome::Lost,
            (_, true) => Outcome::Other,
            _ => Outcome::Ok,
        };
        self.ready.push(Done { ticket, done_ns: self.clock.now(), outcome, rows, bytes: 0 });
        Submit::Queued
    }

    fn poll(&mut self, _: Ns, done: &mut Vec<Done>) {
        done.append(&mut self.ready);
    }

    fn failure(&mut self, _: Ticket) -> Option<String> {
        Some("the server is gone".into())
    }

    fn scan(&mut self, _: &Statement, _: &Columns, _: &mut dyn FnMut(&Columns)) -> Result<u64, Error> {
        Ok(0)
    }

    fn canceller(&self) -> Option<Canceller> {
        let (behaviour, number, cancel) = (self.behaviour.clone(), self.number, self.cancel.clone());
        let takes = if self.op == 0 { self.behaviour.cancel_takes } else { Duration::ZERO };
        Some(Box::new(move || {
            behaviour.cancelled.lock().unwrap().push(number);
            std::thread::sleep(takes);
            cancel.store(true, SeqCst);
        }))
    }

    fn close(self: Box<Self>) -> Result<(), Error> {
        Ok(())
    }
}
