//! How often this process was held back because a control group of it, or one above, had used up its quota of CPU.

use std::path::{Path, PathBuf};

use inrush_rows::clock::Clock;

use super::procfs::{keyed, KeptFile};
use super::{Buffer, Name};

/// Where controllers are mounted.
const CGROUPS: &str = "/sys/fs/cgroup";

/// The groups that say so: of both versions, and all of their parents that are seen from here.
pub struct Quotas {
    stats: Vec<KeptFile>,
}

/// Since a group was made.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct HeldBack {
    periods: u64,
    throttled: u64,
    /// Of each processor by itself: more than the time that passed where several waited.
    throttled_ns: u64,
}

impl Quotas {
    pub fn of_this_process() -> Quotas {
        let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let stats = folders(&groups, Path::new(CGROUPS));
        let opened = stats.iter().filter_map(|at| KeptFile::open(at.join("cpu.stat").to_str()?).ok());
        Quotas { stats: opened.collect() }
    }

    /// Sums over all groups: each holds back by itself. Nothing where no group counts.
    pub fn sample(&self, client: &Name, clock: &Clock, none: &Name, scratch: &mut [u8], out: &mut Buffer) {
        let t_ns = clock.now();
        let each = self.stats.iter().filter_map(|stat| HeldBack::of(stat.head(scratch).ok()?));
        let found = each.reduce(|a, b| HeldBack {
            periods: a.periods + b.periods,
            throttled: a.throttled + b.throttled,
            throttled_ns: a.throttled_ns + b.throttled_ns,
        });
        let Some(HeldBack { periods, throttled, throttled_ns }) = found else { return };
        let mut push = |metric, value: f64| out.push(client, t_ns, metric, none, value);
        push("quota_periods", periods as f64);
        push("quota_throttled", throttled as f64);
        push("quota_throttled_s", throttled_ns as f64 * 1e-9);
    }
}

impl HeldBack {
    /// `cpu.stat`: version 1 has ns, version 2 µs and no count where the controller is off.
    fn of(stat: &[u8]) -> Option<HeldBack> {
        let of_version_2 = || keyed(stat, b"throttled_usec ").map(|us| us * 1_000);
        Some(HeldBack {
            periods: keyed(stat, b"nr_periods ")?,
            throttled: keyed(stat, b"nr_throttled ")?,
            throttled_ns: keyed(stat, b"throttled_time ").or_else(of_version_2)?,
        })
    }
}

/// Of each group that may have a quota its folder and those above it. groups: as /proc/PID/cgroup has them.
fn folders(groups: &str, root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let mount = match controllers {
            "" => root.to_owned(),
            of if of.split(',').any(|one| one == "cpu") => root.join("cpu"),
            _ => continue,
        };
        found.extend(Path::new(path.trim_matches('/')).ancestors().map(|group| mount.join(group)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_of_either_version_says_how_often_it_was_held_back() {
        let first = b"nr_periods 68\nnr_throttled 64\nthrottled_time 5900000000\nnr_bursts 0\nburst_time 0\n";
        let held = HeldBack { periods: 68, throttled: 64, throttled_ns: 5_900_000_000 };
        assert_eq!(HeldBack::of(first), Some(held));
        let second = b"usage_usec 9\nuser_usec 5\nsystem_usec 4\nnr_periods 68\nnr_throttled 64\nthrottled_usec 5900000\n";
        assert_eq!(HeldBack::of(second), Some(held));
        assert_eq!(HeldBack::of(b"usage_usec 9\nuser_usec 5\nsystem_usec 4\n"), None);
    }

    #[test]
    fn all_groups_above_are_asked_of_both_versions() {
        let groups = "3:cpuset:/\n1:cpu,cpuacct:/pods/one\n0::/pods/two\n";
        let found: Vec<String> =
            folders(groups, Path::new("/c")).iter().map(|p| p.to_string_lossy().into_owned()).collect();
        assert_eq!(found, ["/c/cpu/pods/one", "/c/cpu/pods", "/c/cpu/", "/c/pods/two", "/c/pods", "/c/"]);
    }
}
