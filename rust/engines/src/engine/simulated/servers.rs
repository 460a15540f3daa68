//! c servers behind one first-come-first-served line, with known service times. Pure.

use std::collections::BTreeMap;

use crate::engine::Ns;
use crate::schedule::{random64, unit};
use inrush_rows::error::Error;

/// What the options of a `simulated` target say.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    pub servers: usize,
    /// Mean service time.
    pub service_ns: u64,
    pub distribution: Distribution,
    /// All servers stop so long after the first operation arrived …
    pub freeze_at_ns: u64,
    /// … for so long; 0: never.
    pub freeze_for_ns: u64,
    /// CPU time that the client's thread burns for every row: a known demand to find again.
    pub burn_ns_per_row: u64,
    /// So many operations of a million fail, as `other`.
    pub fail_ppm: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    Fixed,
    Exponential,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            servers: 1,
            service_ns: 1_000_000,
            distribution: Distribution::Exponential,
            freeze_at_ns: 0,
            freeze_for_ns: 0,
            burn_ns_per_row: 0,
            fail_ppm: 0,
        }
    }
}

impl Options {
    /// From `target.options`; keys that are absent keep their default, unknown ones are errors.
    pub fn parse(given: &BTreeMap<String, String>) -> Result<Options, Error> {
        let mut options = Options::default();
        for (key, value) in given {
            let number = || {
                value.parse::<u64>().map_err(|_| {
                    Error::Plan(format!("target.options.{key} is `{value}`, not a whole number"))
                })
            };
            match key.as_str() {
                "servers" => options.servers = number()? as usize,
                "service_ns" => options.service_ns = number()?,
                "distribution" => options.distribution = Distribution::named(value)?,
                "freeze_at_ns" => options.freeze_at_ns = number()?,
                "freeze_for_ns" => options.freeze_for_ns = number()?,
                "burn_ns_per_row" => options.burn_ns_per_row = number()?,
                "fail_ppm" => options.fail_ppm = number()?.min(1_000_000) as u32,
                _ => {
                    return Err(Error::Plan(format!(
                        "target.options.{key} is not known to `simulated`; it knows servers, service_ns, \
                         distribution, freeze_at_ns, freeze_for_ns, burn_ns_per_row, fail_ppm"
                    )))
                }
            }
        }
        if options.servers == 0 {
            return Err(Error::Plan("target.options.servers is 0; at least one serves".to_owned()));
        }
        Ok(options)
    }
}

impl Distribution {
    fn named(name: &str) -> Result<Distribution, Error> {
        match name {
            "fixed" => Ok(Distribution::Fixed),
            "exponential" => Ok(Distribution::Exponential),
            _ => Err(Error::Plan(format!(
                "target.options.distribution is `{name}`; known are `fixed` and `exponential`"
            ))),
        }
    }
}

/// The servers at work. Operations arrive in order of time.
#[derive(Debug, Clone)]
pub struct Servers {
    options: Options,
    seed: u64,
    /// When each server has done what it has.
    free_ns: Vec<Ns>,
    first_ns: Option<Ns>,
}

impl Servers {
    pub fn new(options: Options, seed: u64) -> Servers {
        Servers { free_ns: vec![0; options.servers], options, seed, first_ns: None }
    }

    /// When the operation that arrives at `arrival_ns` is done.
    pub fn serve(&mut self, arrival_ns: Ns, ticket: u64) -> Ns {
        let zero_ns = *self.first_ns.get_or_insert(arrival_ns);
        let service_ns = self.service_ns(ticket);
        let freeze = (self.options.freeze_for_ns > 0)
            .then(|| (zero_ns + self.options.freeze_at_ns, self.options.freeze_for_ns));
        let server = self.free_ns.iter_mut().min().expect("at least one serves");
        let start_ns = arrival_ns.max(*server);
        *server = done_ns(start_ns, service_ns, freeze);
        *server
    }

    /// Service time of a ticket: a function of seed and ticket, whenever it comes.
    fn service_ns(&self, ticket: u64) -> u64 {
        let mean_ns = self.options.service_ns;
        match self.options.distribution {
            Distribution::Fixed => mean_ns,
            Distribution::Exponential => {
                (-libm::log(unit(self.seed ^ 0x7365_7276_6963_6521, ticket)) * mean_ns as f64 + 0.5) as u64
            }
        }
    }

    pub fn fails(&self, ticket: u64) -> bool {
        let draw = random64(self.seed ^ 0x6661_696c_7572_6573, ticket) % 1_000_000;
        draw < u64::from(self.options.fail_ppm)
    }
}

/// Work of `service_ns` that starts at `start_ns`, where nothing moves during the freeze (from, for).
fn done_ns(start_ns: Ns, service_ns: u64, freeze: Option<(Ns, u64)>) -> Ns {
    match freeze {
        Some((from_ns, for_ns)) if start_ns < from_ns + for_ns && start_ns + service_ns > from_ns => {
            let before_ns = from_ns.saturating_sub(start_ns);
            from_ns + for_ns + (service_ns - before_ns)
        }
        _ => start_ns + service_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn options(pairs: &[(&str, &str)]) -> Result<Options, Error> {
        Options::parse(&pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }

    #[test]
    fn an_option_that_is_not_known_is_an_error_that_names_the_known_ones() {
        let message = options(&[("sevrers", "2")]).unwrap_err().to_string();
        assert!(message.contains("sevrers") && message.contains("servers"), "{message}");
        assert!(options(&[("servers", "two")]).unwrap_err().to_string().contains("two"));
        assert!(options(&[("servers", "0")]).is_err());
        assert!(options(&[("distribution", "zipf")]).unwrap_err().to_string().contains("fixed"));
    }

    #[test]
    fn one_server_takes_operations_one_after_the_other() {
        let fixed = Options { distribution: Distribution::Fixed, service_ns: 10, ..Options::default() };
        let mut one = Servers::new(fixed.clone(), 0);
        assert_eq!([one.serve(0, 0), one.serve(1, 1), one.serve(50, 2)], [10, 20, 60]);
        let mut two = Servers::new(Options { servers: 2, ..fixed }, 0);
        assert_eq!([two.serve(0, 0), two.serve(1, 1), two.serve(2, 2)], [10, 11, 20]);
    }

    #[test]
    fn a_freeze_delays_what_it_touches_by_its_rest_and_nothing_else() {
        let freeze = Some((100, 50));
        assert_eq!(done_ns(80, 20, freeze), 100);
        assert_eq!(done_ns(90, 20, freeze), 160);
        assert_eq!(done_ns(120, 20, freeze), 170);
        assert_eq!(done_ns(150, 20, freeze), 170);
    }

    proptest! {
        #[test]
        fn servers_never_work_on_more_operations_than_there_are_servers(
            servers in 1usize..5, seed: u64, mut arrivals in prop::collection::vec(0..10_000u64, 1..60),
        ) {
            arrivals.sort_unstable();
            let options = Options { servers, service_ns: 500, ..Options::default() };
            let mut line = Servers::new(options, seed);
            let spans: Vec<(u64, u64)> = arrivals
                .iter()
                .enumerate()
                .map(|(k, at)| (line.service_ns(k as u64), line.serve(*at, k as u64)))
                .map(|(service, done)| (done - service, done))
                .collect();
            for (start, end) in spans.iter().filter(|(start, end)| end > start) {
                let at_once = spans.iter().filter(|(s, e)| s <= start && e > start).count();
                prop_assert!(at_once <= servers, "{at_once} at {start}..{end}");
            }
        }
    }
}
