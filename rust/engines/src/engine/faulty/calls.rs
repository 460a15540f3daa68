//! Lies about calls and their answers: which call an answer belongs to, what is in it, and whether it comes.

use std::collections::HashMap;

use super::{strikes, Fault, Lie};
use crate::engine::{Answer, Done, Ns, OpId, Outcome, Ticket};
use inrush_rows::rows::Value;

/// A late call ends so long after it was answered.
const LATE_NS: Ns = 3_000_000_000;

/// The calls of one session as they are shown to its driver.
pub struct Calls {
    /// Counted from the seed, so that the seed says where the lies begin.
    submitted: u64,
    ended: u64,
    answered: u64,
    /// Parameters of the call before, by operation.
    before: HashMap<OpId, Vec<Value>>,
    /// Calls that are ended late, and when.
    late: Vec<(Ns, Done)>,
    /// Call -> the one that its answer is taken from.
    swapped: HashMap<Ticket, Ticket>,
    /// The last answer that was given: where no other call has ended, a call is given this one.
    last: Option<Answer>,
    /// Calls of the last `poll` that were made to fail, and why.
    failed: Vec<(Ticket, String)>,
    shown: Option<(Ticket, Answer)>,
    /// Where answers are to be stale: what the calls in flight ask for, and the first answer to each key.
    asked: HashMap<Ticket, String>,
    first: HashMap<String, Answer>,
}

impl Calls {
    pub fn new(seed: u64) -> Calls {
        Calls {
            submitted: seed,
            ended: seed,
            answered: seed,
            before: HashMap::new(),
            late: Vec::new(),
            swapped: HashMap::new(),
            last: None,
            failed: Vec::new(),
            shown: None,
            asked: HashMap::new(),
            first: HashMap::new(),
        }
    }

    /// What is asked in place of `values`: the keys of the call before, where that lie strikes.
    pub fn params(&mut self, faults: &[Fault], ticket: Ticket, op: OpId, values: &[Value]) -> Vec<Value> {
        self.submitted += 1;
        if faults.iter().any(|fault| fault.lie == Lie::Stale) {
            self.asked.insert(ticket, format!("{op} {values:?}"));
        }
        let before = self.before.insert(op, values.to_vec());
        match before {
            Some(other) if strikes(faults, Lie::OtherKey, self.submitted) => other,
            _ => values.to_vec(),
        }
    }

    /// How long the engine is waited for: a late call ends meanwhile.
    pub fn until(&self, until: Ns) -> Ns {
        self.late.iter().map(|(at, _)| *at).fold(until, Ns::min)
    }

    /// Shows in `done` what has ended by `now`.
    pub fn end(&mut self, faults: &[Fault], now: Ns, came: &[Done], done: &mut Vec<Done>) {
        self.swapped.clear();
        self.shown = None;
        self.failed.clear();
        let mut to_swap: Option<Ticket> = None;
        for mut one in came.iter().copied() {
            self.ended += 1;
            let lies = [
                (Lie::Refuse, Outcome::Refused),
                (Lie::Conflict, Outcome::Conflict),
                (Lie::Overload, Outcome::Overloaded),
            ];
            if let Some((_, outcome)) = lies.into_iter().find(|(lie, _)| strikes(faults, *lie, self.ended)) {
                one.outcome = outcome;
                let why = format!("call {} was made to fail: {}", one.ticket, outcome.name());
                self.failed.push((one.ticket, why));
            }
            if strikes(faults, Lie::Swallow, self.ended) {
                continue;
            }
            if strikes(faults, Lie::Late, self.ended) {
                self.late.push((now + LATE_NS, one));
                continue;
            }
            done.push(one);
            if strikes(faults, Lie::Twice, self.ended) {
                done.push(one);
            }
            let swaps = strikes(faults, Lie::SwapAnswers, self.ended);
            match to_swap.take() {
                Some(other) => self.swapped.extend([(one.ticket, other), (other, one.ticket)]),
                None if swaps => to_swap = Some(one.ticket),
                None => {}
            }
        }
        // No other call has ended with it: the answer of an earlier one is at hand.
        self.swapped.extend(to_swap.map(|ticket| (ticket, ticket)));
        let late = self.late.extract_if(.., |(at, _)| *at <= now);
        done.extend(late.map(|(_, one)| Done { done_ns: now, ..one }));
    }

    pub fn failure(&self, ticket: Ticket) -> Option<String> {
        self.failed.iter().find(|(of, _)| *of == ticket).map(|(_, why)| why.clone())
    }

    /// `inner`: the true answer of a call.
    pub fn answer(
        &mut self,
        faults: &[Fault],
        ticket: Ticket,
        inner: impl FnOnce(Ticket) -> Option<Answer>,
    ) -> Option<&Answer> {
        if self.shown.as_ref().is_none_or(|(of, _)| *of != ticket) {
            let of = self.swapped.get(&ticket).copied();
            let mut answer = inner(of.unwrap_or(ticket))?;
            self.answered += 1;
            if of == Some(ticket) {
                std::mem::swap(self.last.get_or_insert_with(|| answer.clone()), &mut answer);
            } else {
                self.last = Some(answer.clone());
            }
            if let Some(key) = self.asked.remove(&ticket) {
                let first = self.first.entry(key).or_insert_with(|| answer.clone());
                if strikes(faults, Lie::Stale, self.answered) {
                    answer.clone_from(first);
                }
            }
            if strikes(faults, Lie::Answer, self.answered) {
                falsify(&mut answer);
            }
            if strikes(faults, Lie::Short, self.answered) {
                answer.rows.pop();
            }
            self.shown = Some((ticket, answer));
        }
        self.shown.as_ref().map(|(_, answer)| answer)
    }
}

/// One cell of the answer is another; an answer without rows gets one.
pub fn falsify(answer: &mut Answer) {
    let Some(cell) = answer.rows.first_mut().and_then(|row| row.first_mut()) else {
        answer.rows.push(vec![Value::I64(0); answer.names.len()]);
        return;
    };
    *cell = match &*cell {
        Value::Null => Value::I64(0),
        Value::Bool(v) => Value::Bool(!v),
        Value::I64(v) => Value::I64(v.wrapping_add(1)),
        Value::U64(v) => Value::U64(v.wrapping_add(1)),
        Value::F64(v) => Value::F64(v + 1.0),
        Value::TimeMs(v) => Value::TimeMs(v + 1),
        Value::TimeUs(v) => Value::TimeUs(v + 1),
        Value::Text(v) => Value::Text(format!("{v}?")),
        Value::ListF64(v) => Value::ListF64(v.iter().map(|x| x + 1.0).chain([0.0]).collect()),
        Value::ListI64(v) => Value::ListI64(v.iter().copied().chain([0]).collect()),
        Value::List(v) => Value::List(v.iter().cloned().chain([Value::Null]).collect()),
    };
}
