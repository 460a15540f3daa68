//! What this machine makes a test wait: others' share of the processors, and threads that wake late.

use std::cell::Cell;
use std::sync::{Mutex, Once, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use crate::S;

pub const SOON: u64 = S;

/// [`SOON`], and what this machine makes a test wait beside it, a second at most: how late a thread woke, or the share of
/// the processors that others had, whichever is more.
pub fn soon() -> u64 {
    let (began, ticks) = BEGAN.get().expect("the test began with `alone` or `beside_others`");
    let late = LATE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let late_ns = late.iter().filter(|(at, _)| *at >= began).map(|(_, late)| late.as_nanos() as u64).max();
    let share = Ticks::now().used_by_others(ticks);
    SOON + late_ns.unwrap_or(0).max((share * S as f64) as u64).min(S)
}

/// The kernel's clock ticks since it was started, of all processors together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ticks {
    all: u64,
    /// Of any process, also of other virtual machines.
    busy: u64,
    own: u64,
}

thread_local! {
    /// When the test of this thread began.
    static BEGAN: Cell<Option<(Instant, Ticks)>> = const { Cell::new(None) };
}

impl Ticks {
    pub fn now() -> Ticks {
        let read = |path: &str| std::fs::read_to_string(path).expect(path);
        Ticks::of(&read("/proc/stat"), &read("/proc/self/stat"))
    }

    /// stat, own: the files of these names in /proc and of the process. Source: proc(5).
    pub fn of(stat: &str, own: &str) -> Ticks {
        // cpu user nice system idle iowait irq softirq steal guest guest_nice; guests are within user and nice.
        let all = numbers(stat.lines().next().expect("a line"), 1);
        // The process's name, in brackets, may have blanks. utime and stime are the 12th and 13th after it.
        let own = numbers(own.rsplit(')').next().expect("fields"), 11);
        let total = all[..8].iter().sum::<u64>();
        Ticks { all: total, busy: total - all[3] - all[4], own: own[0] + own[1] }
    }

    /// The share of this machine's processors that other processes had since then: 0 to 1.
    pub fn used_by_others(&self, since: Ticks) -> f64 {
        let busy = self.busy.saturating_sub(since.busy);
        let all = self.all.saturating_sub(since.all).max(1);
        (busy.saturating_sub(self.own.saturating_sub(since.own)) as f64 / all as f64).clamp(0.0, 1.0)
    }
}

pub fn numbers(line: &str, from: usize) -> Vec<u64> {
    line.split_whitespace().skip(from).map_while(|field| field.parse().ok()).collect()
}

#[test]
pub fn what_others_use_of_the_machine_is_all_that_is_busy_and_not_ours() {
    let before = Ticks::of(
        "cpu  100 10 30 800 20 3 4 5 99 1\ncpu0 9\n",
        "7 (a b) c) S 1 7 7 0 -1 64 9 0 0 0 40 2 7 7 20",
    );
    assert_eq!(before, Ticks { all: 972, busy: 152, own: 42 });
    let after = Ticks { all: 1172, busy: 302, own: 92 };
    assert_eq!(after.used_by_others(before), 0.5);
    assert_eq!(before.used_by_others(after), 0.0);
}

/// When a thread that does nothing woke, and how late, each time.
pub static LATE: Mutex<Vec<(Instant, Duration)>> = Mutex::new(Vec::new());

/// From the begin of a test on.
pub fn watch_the_machine() {
    const STEP: Duration = Duration::from_millis(10);
    static WATCHED: Once = Once::new();
    // Before other programs, where this user may have that: the threads of this test inherit it.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
    BEGAN.set(Some((Instant::now(), Ticks::now())));
    WATCHED.call_once(|| {
        std::thread::spawn(|| loop {
            let began = Instant::now();
            std::thread::sleep(STEP);
            let woke = Instant::now();
            let mut late = LATE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            late.push((woke, (woke - began).saturating_sub(STEP)));
        });
    });
}

pub static ALONE: RwLock<()> = RwLock::new(());

/// For a thousand sessions and the server's threads: any other test beside it would be measured with it.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    let alone = ALONE.write().unwrap_or_else(|poisoned| poisoned.into_inner());
    watch_the_machine();
    alone
}

/// For tests of a few sessions.
pub fn beside_others() -> RwLockReadGuard<'static, ()> {
    let beside = ALONE.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    watch_the_machine();
    beside
}
