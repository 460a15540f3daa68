//! Watching processes, and reading what was sampled.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use inrush_drive::watch::{Processes, Sample, Watch};
use inrush_rows::clock::Clock;
use inrush_rows::plan::WatchPlan;

use crate::EVERY_NS;

pub fn plan(processes: &[(&str, i32)], data_dir: &str, every_ns: u64) -> WatchPlan {
    WatchPlan {
        every_ns,
        processes: self::processes(processes),
        data_dir: data_dir.into(),
        folders: BTreeMap::new(),
        threads: BTreeMap::new(),
        machine: false,
    }
}

pub fn processes(named: &[(&str, i32)]) -> Processes {
    let mut by_role = Processes::new();
    for (role, pid) in named {
        by_role.entry(role.to_string()).or_default().push(*pid);
    }
    by_role
}

pub fn watching(processes: &[(&str, i32)], data_dir: &str) -> Watch {
    Watch::start(&plan(processes, data_dir, EVERY_NS), Clock::start()).unwrap()
}

pub fn finish(watch: &mut Watch) -> Vec<Sample> {
    watch.stop();
    let mut samples = Vec::new();
    watch.drain(&mut samples);
    samples
}

pub fn series<'a>(
    samples: &'a [Sample],
    role: &'a str,
    metric: &'a str,
    device: &'a str,
) -> impl Iterator<Item = f64> + 'a {
    let wanted = move |s: &&Sample| &*s.role == role && s.metric == metric && &*s.device == device;
    samples.iter().filter(wanted).map(|s| s.value)
}

pub fn last(samples: &[Sample], role: &str, metric: &str, device: &str) -> f64 {
    series(samples, role, metric, device).last().unwrap_or_else(|| panic!("no {metric} of {role} {device}"))
}

/// Device -> last less first.
pub fn rises(samples: &[Sample], role: &str, metric: &str) -> BTreeMap<String, f64> {
    let mut ends: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for s in samples.iter().filter(|s| &*s.role == role && s.metric == metric) {
        ends.entry(s.device.to_string()).or_insert((s.value, s.value)).1 = s.value;
    }
    ends.into_iter().map(|(device, (first, last))| (device, last - first)).collect()
}

pub fn wait_for(what: &str, mut ready: impl FnMut() -> bool) {
    let limit = Instant::now() + Duration::from_secs(60);
    while !ready() {
        assert!(Instant::now() < limit, "waited a minute for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub fn assert_near(found: f64, expected: f64, within: f64) {
    assert!((found - expected).abs() <= within, "{found} is not {expected} ± {within}");
}
