//! Sessions begin a repetition together.

use std::sync::{Condvar, Mutex};

use inrush_engines::engine::Ns;
use inrush_rows::lock::Unpoisoned;

/// Where sessions wait between repetitions.
#[derive(Default)]
pub struct Barrier {
    state: Mutex<BarrierState>,
    changed: Condvar,
}

#[derive(Default, Clone, Copy)]
struct BarrierState {
    opened: u64,
    repetition: u32,
    t0: Ns,
    closed: bool,
}

impl Barrier {
    pub fn open(&self, repetition: u32, t0: Ns) {
        let mut state = self.state.lock().unpoisoned();
        state.opened += 1;
        (state.repetition, state.t0) = (repetition, t0);
        self.changed.notify_all();
    }

    pub fn close(&self) {
        self.state.lock().unpoisoned().closed = true;
        self.changed.notify_all();
    }

    /// The next repetition (repetition, start) after `seen` of them, or `None` when there is none.
    pub fn wait(&self, seen: u64) -> Option<(u32, Ns)> {
        let mut state = self.state.lock().unpoisoned();
        loop {
            if state.opened > seen {
                return Some((state.repetition, state.t0));
            }
            if state.closed {
                return None;
            }
            state = self.changed.wait(state).unpoisoned();
        }
    }
}
