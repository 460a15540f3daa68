//! What a run uses, while it goes on: of the samples that go to the tables, the latest of each kind.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::watch::{Name, Sample};

/// What says how busy a role or the machine is. Of threads, interrupts and faults the tables have more.
const SHOWN: [&str; 17] = [
    "cpu_s",
    "rss_bytes",
    "read_bytes",
    "write_bytes",
    "cpu_total_s",
    "cpu_busy_s",
    "cpu_steal_s",
    "cpu_iowait_s",
    "mem_available_bytes",
    "dirty_bytes",
    "dev_read_bytes",
    "dev_write_bytes",
    "dev_ios",
    "dev_busy_s",
    "net_rx_bytes",
    "net_tx_bytes",
    "psi_io_some_s",
];

/// As a row of the table `resources`; cumulative where that one is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Usage {
    pub role: String,
    pub metric: &'static str,
    pub device: String,
    pub t_ns: u64,
    pub value: f64,
}

/// The latest sample of each role, metric and device.
#[derive(Default)]
pub struct Latest {
    samples: BTreeMap<(Name, &'static str, Name), (u64, f64)>,
}

impl Latest {
    pub fn see(&mut self, sample: &Sample) {
        if SHOWN.contains(&sample.metric) {
            let of = (sample.role.clone(), sample.metric, sample.device.clone());
            self.samples.insert(of, (sample.t_ns, sample.value));
        }
    }

    pub fn rows(&self) -> Vec<Usage> {
        let row = |((role, metric, device), (t_ns, value)): (&(Name, &'static str, Name), &(u64, f64))| {
            Usage { role: role.to_string(), metric, device: device.to_string(), t_ns: *t_ns, value: *value }
        };
        self.samples.iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(metric: &'static str, device: &str, t_ns: u64, value: f64) -> Sample {
        Sample { role: "client".into(), t_ns, metric, device: device.into(), value }
    }

    #[test]
    fn the_latest_of_each_role_metric_and_device_is_shown_and_what_no_reader_asks_for_is_not() {
        let mut latest = Latest::default();
        for one in [
            sample("cpu_s", "", 1, 0.5),
            sample("dev_ios", "vda", 1, 3.0),
            sample("dev_ios", "vdb", 1, 9.0),
            sample("cpu_s", "", 2, 0.7),
            sample("major_faults", "", 2, 1.0),
        ] {
            latest.see(&one);
        }
        let rows: Vec<_> = latest.rows().into_iter().map(|u| (u.metric, u.device, u.t_ns, u.value)).collect();
        let of = |metric, device: &str, t_ns, value| (metric, device.to_owned(), t_ns, value);
        assert_eq!(
            rows,
            [of("cpu_s", "", 2, 0.7), of("dev_ios", "vda", 1, 3.0), of("dev_ios", "vdb", 1, 9.0)]
        );
    }
}
