//! The machine as a whole: processors, memory, pressure, interfaces, and the device of the data.

use std::collections::BTreeMap;

use inrush_rows::clock::Clock;

use super::devices::devices_under;
use super::procfs::{lines, number, tick_ns, words, KeptFile};
use super::{Buffer, Name};

/// A sector of `/proc/diskstats`, whatever the device's own are.
const SECTOR_BYTES: f64 = 512.0;

pub struct Host {
    name: Name,
    none: Name,
    stat: Option<KeptFile>,
    /// The kernel's count of waiting may fall; what is given out does not.
    waited_ticks: u64,
    meminfo: Option<KeptFile>,
    /// Absent on kernels without pressure figures: then there are none.
    pressure: Vec<Pressure>,
    net: Option<KeptFile>,
    tcp: Option<KeptFile>,
    interfaces: Vec<Name>,
    diskstats: Option<KeptFile>,
    devices: Vec<Name>,
    /// Role -> the devices on which its files lie.
    of_roles: Vec<(Name, Vec<Name>)>,
}

struct Pressure {
    file: KeptFile,
    some: &'static str,
    full: Option<&'static str>,
}

impl Host {
    pub fn open(data_dir: &str, folders: &BTreeMap<String, String>, notes: &mut Vec<String>) -> Host {
        let mut keep = |path: &str| match KeptFile::open(path) {
            Ok(file) => Some(file),
            Err(e) => {
                notes.push(format!("{path} is not watched: {e}"));
                None
            }
        };
        let (stat, meminfo, net) = (keep("/proc/stat"), keep("/proc/meminfo"), keep("/proc/net/dev"));
        let tcp = keep("/proc/net/snmp");
        let watched = !data_dir.is_empty() || !folders.is_empty();
        let diskstats = if watched { keep("/proc/diskstats") } else { None };
        let mut under = |dir: &str| {
            let none = diskstats.is_none() || dir.is_empty();
            if none {
                Vec::new()
            } else {
                devices_under(dir, notes)
            }
        };
        let devices = under(data_dir);
        let of_roles = folders.iter().map(|(role, dir)| (role.as_str().into(), under(dir))).collect();
        let pressure = [
            ("cpu", "psi_cpu_some_s", None),
            ("io", "psi_io_some_s", Some("psi_io_full_s")),
            ("memory", "psi_memory_some_s", None),
        ];
        let pressure = pressure.into_iter().filter_map(|(kind, some, full)| {
            // Also where the kernel was started without them, opening or reading fails.
            let file = KeptFile::open(&format!("/proc/pressure/{kind}")).ok()?;
            Some(Pressure { file, some, full })
        });
        Host {
            name: "host".into(),
            none: "".into(),
            stat,
            waited_ticks: 0,
            meminfo,
            pressure: pressure.collect(),
            net,
            tcp,
            interfaces: Vec::new(),
            diskstats,
            devices,
            of_roles,
        }
    }

    pub fn sample(&mut self, clock: &Clock, scratch: &mut [u8], out: &mut Buffer) {
        self.processors(clock.now(), scratch, out);
        self.memory(clock.now(), scratch, out);
        self.pressures(clock.now(), scratch, out);
        self.network(clock.now(), scratch, out);
        self.segments(clock.now(), scratch, out);
        self.disks(clock.now(), scratch, out);
    }

    /// Busy is what ran here: neither idle, nor waiting for a device, nor steal. It is user, system and interrupts.
    fn processors(&mut self, t_ns: u64, scratch: &mut [u8], out: &mut Buffer) {
        // Interrupts are counted behind the processors, of which a machine may have many.
        let Some(Ok(text)) = self.stat.as_ref().map(|f| f.head(scratch)) else { return };
        let Some(line) = lines(text).next() else { return };
        let mut ticks = [0u64; 8];
        for (tick, word) in ticks.iter_mut().zip(words(line).skip(1)) {
            *tick = number(word).unwrap_or(0);
        }
        let [user, nice, system, idle, wait, irq, softirq, steal] = ticks;
        self.waited_ticks = self.waited_ticks.max(wait);
        let total: u64 = ticks.iter().sum();
        let tick_s = tick_ns() as f64 * 1e-9;
        let mut push =
            |metric, ticks: u64| out.push(&self.name, t_ns, metric, &self.none, ticks as f64 * tick_s);
        push("cpu_total_s", total);
        push("cpu_busy_s", total - idle - wait - steal);
        push("cpu_steal_s", steal);
        push("cpu_user_s", user + nice);
        push("cpu_system_s", system);
        push("cpu_irq_s", irq + softirq);
        push("cpu_softirq_s", softirq);
        push("cpu_iowait_s", self.waited_ticks);
        for (key, metric) in
            [(&b"intr"[..], "interrupts"), (b"softirq", "softirqs"), (b"ctxt", "context_switches")]
        {
            if let Some(count) = counted(text, key) {
                out.push(&self.name, t_ns, metric, &self.none, count as f64);
            }
        }
    }

    fn memory(&self, t_ns: u64, scratch: &mut [u8], out: &mut Buffer) {
        let Some(Ok(text)) = self.meminfo.as_ref().map(|f| f.head(scratch)) else { return };
        let memory = Memory::of(text);
        for (metric, kib) in [
            ("mem_available_bytes", memory.available),
            ("page_cache_bytes", memory.page_cache()),
            ("dirty_bytes", memory.dirty),
            ("writeback_bytes", memory.writeback),
        ] {
            if let Some(kib) = kib {
                out.push(&self.name, t_ns, metric, &self.none, kib as f64 * 1024.0);
            }
        }
    }

    fn pressures(&self, t_ns: u64, scratch: &mut [u8], out: &mut Buffer) {
        for pressure in &self.pressure {
            let Ok(text) = pressure.file.head(scratch) else { continue };
            let wanted = [(&b"some"[..], Some(pressure.some)), (&b"full"[..], pressure.full)];
            for (key, metric) in wanted {
                if let (Some(metric), Some(total_us)) = (metric, stalled_us(text, key)) {
                    out.push(&self.name, t_ns, metric, &self.none, total_us as f64 * 1e-6);
                }
            }
        }
    }

    fn network(&mut self, t_ns: u64, scratch: &mut [u8], out: &mut Buffer) {
        let Some(Ok(text)) = self.net.as_ref().map(|f| f.whole(scratch)) else { return };
        for line in lines(text) {
            let Some((name, counts)) = interface(line) else { continue };
            let device = named(&mut self.interfaces, name);
            let mut push = |metric, value: u64| out.push(&self.name, t_ns, metric, &device, value as f64);
            push("net_rx_bytes", counts.rx_bytes);
            push("net_tx_bytes", counts.tx_bytes);
            push("net_rx_packets", counts.rx_packets);
            push("net_tx_packets", counts.tx_packets);
        }
    }

    /// Of TCP, by all interfaces together.
    fn segments(&self, t_ns: u64, scratch: &mut [u8], out: &mut Buffer) {
        let Some(Ok(text)) = self.tcp.as_ref().map(|f| f.whole(scratch)) else { return };
        for (key, metric) in [(&b"OutSegs"[..], "tcp_segments"), (b"RetransSegs", "tcp_segments_again")] {
            if let Some(count) = of_protocol(text, b"Tcp:", key) {
                out.push(&self.name, t_ns, metric, &self.none, count as f64);
            }
        }
    }

    fn disks(&self, t_ns: u64, scratch: &mut [u8], out: &mut Buffer) {
        let Some(Ok(text)) = self.diskstats.as_ref().map(|f| f.whole(scratch)) else { return };
        for line in lines(text) {
            let Some((name, disk)) = disk(line) else { continue };
            let host = std::iter::once((&self.name, &self.devices));
            for (role, devices) in host.chain(self.of_roles.iter().map(|(role, devices)| (role, devices))) {
                if let Some(device) = devices.iter().find(|d| d.as_bytes() == name) {
                    disk.show(role, device, t_ns, out);
                }
            }
        }
    }
}

/// What is needed of `/proc/meminfo`, kiB; read line by line, once.
#[derive(Debug, Default, PartialEq)]
struct Memory {
    available: Option<u64>,
    buffers: Option<u64>,
    cached: Option<u64>,
    shared: Option<u64>,
    dirty: Option<u64>,
    writeback: Option<u64>,
}

impl Memory {
    fn of(text: &[u8]) -> Memory {
        let mut found = Memory::default();
        for line in lines(text) {
            let mut words = words(line);
            let place = match words.next() {
                Some(b"MemAvailable:") => &mut found.available,
                Some(b"Buffers:") => &mut found.buffers,
                Some(b"Cached:") => &mut found.cached,
                Some(b"Shmem:") => &mut found.shared,
                Some(b"Dirty:") => &mut found.dirty,
                Some(b"Writeback:") => &mut found.writeback,
                _ => continue,
            };
            *place = words.next().and_then(number);
        }
        found
    }

    /// What is kept of files and devices. The kernel counts shared memory as cached, and a server's own pool may be that.
    fn page_cache(&self) -> Option<u64> {
        Some((self.cached? + self.buffers?).saturating_sub(self.shared?))
    }
}

/// The first number of the line that starts with `key`: of interrupts, those of every kind together.
fn counted(text: &[u8], key: &[u8]) -> Option<u64> {
    // A last line without its end may be cut within its number.
    let whole = text.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let mut found =
        lines(&text[..whole]).map(words).find_map(|mut line| (line.next()? == key).then_some(line))?;
    found.next().and_then(number)
}

/// `total=` of the line that starts with `key`, µs of stall since the machine started.
fn stalled_us(text: &[u8], key: &[u8]) -> Option<u64> {
    let line = lines(text).find(|l| l.starts_with(key))?;
    words(line).find_map(|w| w.strip_prefix(b"total=")).and_then(number)
}

/// A count of `/proc/net/snmp`: each protocol has a line of names, and one of values.
fn of_protocol(text: &[u8], protocol: &[u8], key: &[u8]) -> Option<u64> {
    let mut held = lines(text).filter(|line| line.starts_with(protocol)).map(words);
    let (mut names, mut values) = (held.next()?, held.next()?);
    number(values.nth(names.position(|name| name == key)?)?)
}

#[derive(Debug, PartialEq)]
struct Interface {
    rx_bytes: u64,
    rx_packets: u64,
    tx_bytes: u64,
    tx_packets: u64,
}

/// One line of `/proc/net/dev`; `None` for its two headings.
fn interface(line: &[u8]) -> Option<(&[u8], Interface)> {
    let colon = line.iter().position(|b| *b == b':')?;
    let name = words(&line[..colon]).next()?;
    let mut counts = words(&line[colon + 1..]).map(number);
    let (rx_bytes, rx_packets) = (counts.next()??, counts.next()??);
    let (tx_bytes, tx_packets) = (counts.nth(6)??, counts.next()??);
    Some((name, Interface { rx_bytes, rx_packets, tx_bytes, tx_packets }))
}

#[derive(Debug, PartialEq)]
struct Disk {
    reads: u64,
    read_sectors: u64,
    writes: u64,
    written_sectors: u64,
    busy_ms: u64,
}

impl Disk {
    fn show(&self, role: &Name, device: &Name, t_ns: u64, out: &mut Buffer) {
        let mut push = |metric, value: f64| out.push(role, t_ns, metric, device, value);
        push("dev_read_bytes", self.read_sectors as f64 * SECTOR_BYTES);
        push("dev_write_bytes", self.written_sectors as f64 * SECTOR_BYTES);
        push("dev_ios", (self.reads + self.writes) as f64);
        push("dev_busy_s", self.busy_ms as f64 * 1e-3);
    }
}

/// One line of `/proc/diskstats` (kernel documentation, iostats).
fn disk(line: &[u8]) -> Option<(&[u8], Disk)> {
    let mut fields = words(line).skip(2);
    let name = fields.next()?;
    let mut counts = fields.map(number);
    let (reads, read_sectors) = (counts.next()??, counts.nth(1)??);
    let (writes, written_sectors) = (counts.nth(1)??, counts.nth(1)??);
    let busy_ms = counts.nth(2)??;
    Some((name, Disk { reads, read_sectors, writes, written_sectors, busy_ms }))
}

fn named(known: &mut Vec<Name>, name: &[u8]) -> Name {
    if let Some(found) = known.iter().find(|n| n.as_bytes() == name) {
        return found.clone();
    }
    let new: Name = String::from_utf8_lossy(name).into();
    known.push(new.clone());
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_and_switches_are_the_first_number_of_their_line() {
        let stat = b"cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\nintr 4242 0 9 0\nctxt 77\nsoftirq 31 1 30\n";
        assert_eq!(counted(stat, b"intr"), Some(4242));
        assert_eq!(counted(stat, b"ctxt"), Some(77));
        assert_eq!(counted(stat, b"softirq"), Some(31));
        assert_eq!(counted(stat, b"cpu1"), None);
        assert_eq!(counted(b"cpu 1\nintr 42", b"intr"), None, "cut within its number");
    }

    #[test]
    fn a_line_of_net_dev_gives_bytes_and_packets_both_ways() {
        let line = b"  eth0: 495741945   11669    0    0    0     0          0         0   630980    7253    0 0 0 0 0 0";
        let (name, counts) = interface(line).unwrap();
        assert_eq!(name, b"eth0");
        let expected =
            Interface { rx_bytes: 495_741_945, rx_packets: 11_669, tx_bytes: 630_980, tx_packets: 7253 };
        assert_eq!(counts, expected);
        assert!(interface(b" face |bytes    packets errs drop").is_none());
        assert!(interface(b"docker0:17 1 0 0 0 0 0 0 9 2 0").is_some(), "no blank after a long name");
    }

    #[test]
    fn a_count_of_a_protocol_stands_below_its_name() {
        let text = b"Ip: Forwarding OutSegs\nIp: 1 9\nTcp: RtoMin MaxConn OutSegs RetransSegs\nTcp: 200 -1 4242 17\n";
        assert_eq!(of_protocol(text, b"Tcp:", b"OutSegs"), Some(4242));
        assert_eq!(of_protocol(text, b"Tcp:", b"RetransSegs"), Some(17));
        assert_eq!(of_protocol(text, b"Tcp:", b"MaxConn"), None, "-1 is no count");
        assert_eq!(of_protocol(text, b"Udp:", b"OutSegs"), None);
        assert_eq!(of_protocol(b"Tcp: OutSegs RetransSegs\nTcp: 4", b"Tcp:", b"RetransSegs"), None, "cut");
    }

    #[test]
    fn a_line_of_diskstats_gives_ios_sectors_and_busy_time() {
        let line = b" 254  0 vda 60599 9943 5902890 29017 26915 39939 5627128 30679 0 9020 60728 9896 14 1264416 886 3255 144";
        let (name, found) = disk(line).unwrap();
        assert_eq!(name, b"vda");
        let expected = Disk {
            reads: 60_599,
            read_sectors: 5_902_890,
            writes: 26_915,
            written_sectors: 5_627_128,
            busy_ms: 9020,
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn the_page_cache_is_what_is_kept_of_files_without_the_memory_that_servers_share() {
        let text = b"MemTotal: 900 kB\nMemFree: 5 kB\nMemAvailable: 700 kB\nBuffers: 10 kB\nCached: 300 kB\n\
            SwapCached: 77 kB\nDirty: 8 kB\nWriteback: 4 kB\nShmem: 110 kB\nShmemHugePages: 55 kB\nWritebackTmp: 66 kB\n";
        let memory = Memory::of(text);
        assert_eq!(memory.page_cache(), Some(200));
        assert_eq!((memory.available, memory.dirty, memory.writeback), (Some(700), Some(8), Some(4)));
        assert_eq!(Memory::of(b"MemTotal: 900 kB\nCached: 300 kB\n").page_cache(), None);
    }

    #[test]
    fn pressure_is_the_total_in_us_not_an_average() {
        let text = b"some avg10=1.00 avg60=2.00 avg300=3.00 total=123456\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=99\n";
        assert_eq!(stalled_us(text, b"some"), Some(123_456));
        assert_eq!(stalled_us(text, b"full"), Some(99));
    }
}
