//! Simulated time: a discrete-event loop over the same schedule, servers and record as a real run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use inrush_drive::record::{Collector, Recorded, RoleEnd, RoleSpec, Times};
use inrush_engines::engine::simulated::{Options, Servers};
use inrush_engines::engine::{Ns, Outcome};
use inrush_engines::schedule::{is_paced, Arrivals, Stride};
use inrush_rows::clock::ThreadTime;
use inrush_rows::plan::Schedule;

/// One role at the simulated servers.
#[derive(Debug, Clone)]
pub struct Simulation {
    pub schedule: Schedule,
    pub seed: u64,
    pub sessions: u32,
    pub servers: Options,
    /// Operations.
    pub count: u64,
    pub interval_ns: u64,
}

/// What a run of the simulation records: tables as those of a real run.
///
/// A session takes the next ticket when it is free and sends it when it is due, as sessions do in
/// real time; no time passes between.
pub fn simulate(simulation: &Simulation) -> Recorded {
    let mut servers = Servers::new(simulation.servers.clone(), simulation.seed);
    let mut arrivals = Arrivals::new(&simulation.schedule, simulation.seed);
    let mut free: BinaryHeap<Reverse<(Ns, usize)>> =
        (0..simulation.sessions as usize).map(|session| Reverse((0, session))).collect();
    let paced = is_paced(&simulation.schedule);
    let mut next = |ticket: u64| {
        let Reverse((ready_ns, session)) = free.pop().expect("at least one session");
        let due_ns = if paced { arrivals.due_ns(ticket) } else { ready_ns };
        let sent_ns = due_ns.max(ready_ns);
        let done_ns = servers.serve(sent_ns, ticket);
        let outcome = if servers.fails(ticket) { Outcome::Other } else { Outcome::Ok };
        free.push(Reverse((done_ns, session)));
        (session, Times { due_ns, ready_ns, ready_on_time_ns: ready_ns, sent_ns, done_ns }, outcome)
    };
    let mut record = Record::new(simulation);
    for ticket in 0..simulation.count {
        let (session, times, outcome) = next(ticket);
        record.add(session, times, outcome);
    }
    record.end()
}

/// Recorders and collector on one thread.
struct Record {
    collector: Collector,
    recorders: Vec<inrush_drive::record::Recorder>,
    interval_ns: u64,
    /// Intervals are taken out as soon as one is over: no session ever waits for a snapshot.
    taken: u64,
    end_ns: Ns,
    all: Recorded,
}

impl Record {
    fn new(simulation: &Simulation) -> Record {
        let role = RoleSpec {
            name: "clients".to_owned(),
            ops: vec!["call".to_owned()],
            sessions: simulation.sessions,
            schedule: simulation.schedule.clone(),
            seed: simulation.seed,
            count: Some(simulation.count),
            stride: Stride::WHOLE,
            looks: Default::default(),
            choose: None,
        };
        let (mut collector, mut recorders) = Collector::new(0, simulation.interval_ns, vec![role]);
        let mut recorders = recorders.pop().expect("one role");
        collector.begin(0, 0);
        recorders.iter_mut().for_each(|recorder| recorder.begin(0, 0));
        let interval_ns = simulation.interval_ns;
        Record { collector, recorders, interval_ns, taken: 0, end_ns: 0, all: Recorded::default() }
    }

    fn add(&mut self, session: usize, times: Times, outcome: Outcome) {
        let interval = times.sent_ns / self.interval_ns;
        if interval > self.taken {
            self.taken = interval;
            // A session that is busy tells nothing before its operation is done, as in real time.
            let recorded = self.collector.take();
            self.keep(recorded);
        }
        self.recorders[session].sent(0, times.sent_ns);
        self.recorders[session].record(0, times, outcome, 1, 0);
        self.end_ns = self.end_ns.max(times.done_ns);
    }

    fn end(mut self) -> Recorded {
        for recorder in &mut self.recorders {
            recorder.finish(self.end_ns, ThreadTime { cpu_ns: 0, queued_ns: Some(0) });
        }
        let end = RoleEnd { offer_end_ns: self.end_ns, end_ns: self.end_ns };
        let recorded = self.collector.end(&[end]);
        self.keep(recorded);
        self.all
    }

    fn keep(&mut self, recorded: Recorded) {
        self.all.intervals.extend(recorded.intervals);
        self.all.hists.extend(recorded.hists);
        self.all.failures.extend(recorded.failures);
        self.all.sessions.extend(recorded.sessions);
        self.all.repetitions.extend(recorded.repetitions);
    }
}
