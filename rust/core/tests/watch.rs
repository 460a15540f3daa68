//! The watch against work of known size: what a child, a thread or a disk did is what the samples say.

#[path = "watch/reading.rs"]
mod reading;
#[path = "watch/work.rs"]
mod work;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::net::UdpSocket;
use std::time::Duration;

use inrush_drive::watch::Watch;
use inrush_rows::clock::{process_cpu_ns, Clock};
use reading::{assert_near, finish, last, plan, processes, rises, series, wait_for, watching};
use work::{
    burn, burn_for, burn_in_kernel, burn_outside, burn_thread, fork, pipe, reap, rusage_s, stat_s, Child,
};

const EVERY_NS: u64 = 100_000_000;

#[test]
fn a_child_that_burns_half_a_second_shows_half_a_second() {
    let child = Child::start(|| burn(0.5));
    let mut watch = watching(&[("server", child.pid)], "");
    child.wait_until_worked();
    let samples = finish(&mut watch);
    assert_near(last(&samples, "server", "cpu_s", ""), 0.5, 0.025);
}

#[test]
fn children_that_live_shorter_than_a_look_are_counted_in_their_parent() {
    let child = Child::start(|| {
        for _ in 0..20 {
            reap(fork(|| burn(0.02)));
        }
    });
    let mut watch = watching(&[("server", child.pid)], "");
    child.wait_until_worked();
    let samples = finish(&mut watch);
    assert_near(last(&samples, "server", "cpu_s", ""), 0.4, 0.08);
}

/// Some of the work of each is in the kernel, in its own account and in those of its ended children.
#[test]
fn what_is_computed_in_the_kernel_is_system_and_never_more_than_the_whole() {
    let calling = Child::start(|| {
        reap(fork(|| burn_in_kernel(0.2)));
        burn_in_kernel(0.2);
    });
    let computing = Child::start(|| burn_outside(0.4));
    let mut watch = watching(&[("calls", calling.pid), ("computes", computing.pid)], "");
    calling.wait_until_worked();
    computing.wait_until_worked();
    let samples = finish(&mut watch);
    let system = |role| last(&samples, role, "cpu_system_s", "");
    assert!(system("calls") > 0.28, "{} s of 0.4 s", system("calls"));
    assert!(system("computes") < 0.1, "{} s of 0.4 s", system("computes"));
    for role in ["client", "calls", "computes"] {
        let whole = series(&samples, role, "cpu_s", "");
        for (part, whole) in series(&samples, role, "cpu_system_s", "").zip(whole) {
            assert!(part <= whole, "{role}: {part} s of {whole} s");
        }
    }
}

#[test]
fn the_host_s_time_is_split_into_what_ran_and_what_did_not() {
    let mut watch = watching(&[], "");
    burn_thread(0.3);
    let samples = finish(&mut watch);
    let of = |metric| series(&samples, "host", metric, "").collect::<Vec<f64>>();
    let (busy, parts) = (of("cpu_busy_s"), [of("cpu_user_s"), of("cpu_system_s"), of("cpu_irq_s")]);
    for (k, busy) in busy.iter().enumerate() {
        let sum: f64 = parts.iter().map(|part| part[k]).sum();
        assert!((sum - busy).abs() < 1e-6, "{sum} s of {busy} s");
    }
    assert!(parts[0].last() > parts[0].first(), "the burner is user time");
    let (idle_too, total) = (of("cpu_iowait_s"), of("cpu_total_s"));
    assert!(idle_too.iter().zip(&total).zip(&busy).all(|((w, t), b)| w + b <= *t));
    assert!(of("cpu_softirq_s").iter().zip(&parts[2]).all(|(software, all)| software <= all));
}

#[test]
fn datagrams_of_the_machine_to_itself_are_packets_switches_and_interrupts_of_software() {
    const SENT: f64 = 5_000.0;
    let mut watch = watching(&[], "");
    let (from, to) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    for _ in 0..SENT as u32 {
        from.send_to(b"x", to.local_addr().unwrap()).unwrap();
        to.recv(&mut [0]).unwrap();
    }
    let samples = finish(&mut watch);
    let grown = |metric, device: &str| {
        let looks: Vec<f64> = series(&samples, "host", metric, device).collect();
        looks.last().expect("it is watched") - looks[0]
    };
    assert!(grown("net_tx_packets", "lo") >= SENT && grown("net_rx_packets", "lo") >= SENT);
    assert!(grown("softirqs", "") >= SENT, "each is taken in by one: {}", grown("softirqs", ""));
    assert!(grown("interrupts", "") > 0.0 && grown("context_switches", "") > 0.0);
}

#[test]
fn a_file_that_was_just_written_is_dirty_and_in_the_page_cache() {
    const BYTES: usize = 64_000_000;
    // Other work of the machine deletes and writes back files meanwhile: one try of ten shows it.
    let mut seen = Vec::new();
    for _ in 0..10 {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut watch = watching(&[], "");
        let mut file = File::create(dir.path().join("written")).unwrap();
        for _ in 0..64 {
            file.write_all(&[7; BYTES / 64]).unwrap();
        }
        let samples = finish(&mut watch);
        let rise = |metric: &'static str| {
            last(&samples, "host", metric, "") - series(&samples, "host", metric, "").next().unwrap()
        };
        let part = |bytes: f64| bytes / BYTES as f64;
        let (cache, dirty) =
            (part(rise("page_cache_bytes")), part(rise("dirty_bytes") + rise("writeback_bytes")));
        if (0.5..2.0).contains(&cache) && (0.25..2.0).contains(&dirty) {
            return;
        }
        seen.push((cache, dirty));
    }
    panic!("parts of what was written, cached and dirty: {seen:?}");
}

#[test]
fn a_grandchild_is_counted_once_while_it_lives_and_once_after() {
    // It lives long enough to be found by a scan of the tree, then ends and is waited for.
    let child = Child::start(|| reap(fork(|| burn_for(Duration::from_millis(1500), 0.3))));
    let mut watch = watching(&[("server", child.pid)], "");
    child.wait_until_worked();
    let samples = finish(&mut watch);
    let cpu_s: Vec<f64> = series(&samples, "server", "cpu_s", "").collect();
    assert_near(*cpu_s.last().unwrap(), 0.3, 0.03);
    assert!(cpu_s.iter().all(|s| *s < 0.33), "never twice: {cpu_s:?}");
    assert!(cpu_s.iter().any(|s| (0.01..0.28).contains(s)), "also while it lives: {cpu_s:?}");
}

#[test]
fn a_child_that_writes_50_mb_with_fsync_shows_it() {
    const BYTES: usize = 50_000_000;
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut file = File::create(dir.path().join("written")).unwrap();
    let block = vec![7u8; 1_000_000];
    let (go, mut start) = pipe();
    let child = Child::start(move || {
        std::io::Read::read_exact(&mut &go, &mut [0]).unwrap();
        for _ in 0..BYTES / block.len() {
            file.write_all(&block).unwrap();
        }
        file.sync_all().unwrap();
    });
    let mut watch = watching(&[("server", child.pid)], dir.path().to_str().unwrap());
    start.write_all(b"g").unwrap();
    child.wait_until_worked();
    let samples = finish(&mut watch);
    assert_near(last(&samples, "server", "write_bytes", ""), BYTES as f64, 0.02 * BYTES as f64);
    let grown: f64 = rises(&samples, "host", "dev_write_bytes").values().sum();
    assert!(grown >= 0.9 * BYTES as f64, "the device wrote {grown} bytes; {:?}", watch.notes());
}

#[test]
fn a_role_with_a_folder_has_the_device_below_it() {
    let mut of = plan(&[], "", EVERY_NS);
    of.folders = BTreeMap::from([("load_client".to_string(), env!("CARGO_TARGET_TMPDIR").to_string())]);
    let mut watch = Watch::start(&of, Clock::start()).unwrap();
    burn_thread(0.15);
    let samples = finish(&mut watch);
    let of_role = |role| samples.iter().filter(move |s| &*s.role == role && s.metric == "dev_busy_s").count();
    assert!(of_role("load_client") > 1, "{:?}", watch.notes());
    assert_eq!(of_role("host"), 0, "no folder was named for the host");
}

#[test]
fn a_thread_s_cpu_stands_under_its_name_also_after_it_has_ended() {
    let mut watch = watching(&[], "");
    let mut samples = Vec::new();
    for _ in 0..2 {
        let (stay, told) = std::sync::mpsc::channel::<()>();
        let worker = std::thread::Builder::new().name("burner".into()).spawn(move || {
            burn_thread(0.2);
            told.recv().unwrap_err();
        });
        // What a thread does after the last look at it is lost to its name: it stays until seen.
        let expected = 0.19 + series(&samples, "client", "cpu_s", "burner").last().unwrap_or(0.0);
        wait_for("the thread's CPU in a sample", || {
            watch.drain(&mut samples);
            series(&samples, "client", "cpu_s", "burner").last().is_some_and(|s| s > expected)
        });
        drop(stay);
        worker.unwrap().join().unwrap();
    }
    samples.extend(finish(&mut watch));
    assert_near(last(&samples, "client", "cpu_s", "burner"), 0.4, 0.02);
}

/// As of a thread that ended between the looks at its CPU and at its name.
#[test]
fn a_thread_without_a_name_is_not_taken_for_its_process() {
    let mut watch = watching(&[], "");
    let (stay, told) = std::sync::mpsc::channel::<()>();
    let worker = std::thread::spawn(move || {
        unsafe { libc::prctl(libc::PR_SET_NAME, c"".as_ptr()) };
        burn_thread(0.1);
        told.recv().unwrap_err();
    });
    let mut samples = Vec::new();
    wait_for("the thread's CPU in a sample", || {
        watch.look_now();
        watch.drain(&mut samples);
        series(&samples, "client", "cpu_s", "unnamed").last().is_some_and(|s| s > 0.09)
    });
    drop(stay);
    worker.join().unwrap();
    samples.extend(finish(&mut watch));
    let mut looks: Vec<u64> =
        samples.iter().filter(|s| s.metric == "cpu_s" && s.device.is_empty()).map(|s| s.t_ns).collect();
    let all = looks.len();
    looks.dedup();
    assert_eq!(looks.len(), all, "one row of the process a look");
}

/// As of a server whose threads all bear the name of its program.
#[test]
fn threads_stand_under_what_they_are_said_to_be() {
    let burning = || {
        let (say, said) = std::sync::mpsc::channel();
        let (stay, told) = std::sync::mpsc::channel::<()>();
        let worker = std::thread::spawn(move || {
            burn_thread(0.1);
            say.send(unsafe { libc::gettid() }).unwrap();
            told.recv().unwrap_err();
        });
        (said.recv().unwrap(), stay, worker)
    };
    let (first, second) = (burning(), burning());
    let mut planned = plan(&[], "", 60_000_000_000);
    planned.threads.insert(first.0.to_string(), "ldm".into());
    let mut watch = Watch::start(&planned, Clock::start()).unwrap();
    // After a pause, with the processes that are new.
    watch.name_threads(BTreeMap::from([(second.0, "recv".into())]));
    watch.look_now();
    let samples = finish(&mut watch);
    for (name, (_, stay, worker)) in [("ldm", first), ("recv", second)] {
        assert_near(last(&samples, "client", "cpu_s", name), 0.1, 0.01);
        drop(stay);
        worker.join().unwrap();
    }
}

#[test]
fn the_client_s_cpu_agrees_with_the_kernel_s_own_accounts() {
    let before_s = process_cpu_ns() as f64 * 1e-9;
    let mut watch = watching(&[], "");
    burn_thread(0.3);
    let samples = finish(&mut watch);
    let after_s = process_cpu_ns() as f64 * 1e-9;
    let (rusage_s, stat_s) = (rusage_s(), stat_s());

    let first = series(&samples, "client", "cpu_s", "").next().unwrap();
    let last = last(&samples, "client", "cpu_s", "");
    assert!(before_s <= first && last <= after_s, "{before_s} <= {first} … {last} <= {after_s}");
    assert!(last - first >= 0.3, "the work lies between the first and the last sample");
    // Other tests of this program go on meanwhile: the later account may only be larger.
    assert!(rusage_s + 0.001 >= last, "getrusage says {rusage_s}, the watch {last}");
    assert!(stat_s + 0.03 >= last, "stat says {stat_s}, the watch {last}");
    assert!(stat_s < after_s + 1.0 && rusage_s < after_s + 1.0, "{stat_s} {rusage_s} {after_s}");
}

#[test]
fn a_process_that_vanishes_ends_nothing_and_lowers_nothing() {
    let child = Child::start(|| burn(0.2));
    let mut watch = watching(&[("server", child.pid)], "");
    child.wait_until_worked();
    let mut samples = Vec::new();
    wait_for("the child's CPU in a sample", || {
        watch.drain(&mut samples);
        series(&samples, "server", "cpu_s", "").last().is_some_and(|s| s > 0.19)
    });
    drop(child);
    let seen = samples.len();
    wait_for("samples after the child's end", || {
        watch.drain(&mut samples);
        series(&samples[seen..], "host", "cpu_total_s", "").count() > 3
    });
    samples.extend(finish(&mut watch));
    assert_near(last(&samples, "server", "cpu_s", ""), 0.2, 0.01);
    assert_eq!(last(&samples, "server", "rss_bytes", ""), 0.0);
}

#[test]
fn a_process_added_later_is_watched_from_then_on() {
    let mut watch = watching(&[], "");
    let child = Child::start(|| burn(0.2));
    watch.add(&processes(&[("load server", child.pid)]));
    child.wait_until_worked();
    let samples = finish(&mut watch);
    assert_near(last(&samples, "load server", "cpu_s", ""), 0.2, 0.01);
}

#[test]
fn what_a_server_used_before_it_was_added_is_in_the_sample_that_add_waits_for() {
    let first = Child::start(|| burn(0.2));
    let mut watch = watching(&[("server", first.pid)], "");
    first.wait_until_worked();
    let mut samples = Vec::new();
    wait_for("the first server's CPU in a sample", || {
        watch.drain(&mut samples);
        series(&samples, "server", "cpu_s", "").last().is_some_and(|s| s > 0.19)
    });
    drop(first);
    // Like a server that recovers in a child of its own before anybody is let in.
    let second = Child::start(|| {
        reap(fork(|| burn(0.2)));
        burn(0.1);
    });
    second.wait_until_worked();
    watch.add(&processes(&[("server", second.pid)]));
    watch.drain(&mut samples);
    let so_far = last(&samples, "server", "cpu_s", "");
    assert_near(so_far, 0.5, 0.03);
    // Once more changes nothing.
    watch.add(&processes(&[("server", second.pid)]));
    samples.extend(finish(&mut watch));
    assert_near(last(&samples, "server", "cpu_s", ""), so_far, 0.01);
    let cpu_s: Vec<f64> = series(&samples, "server", "cpu_s", "").collect();
    assert!(cpu_s.is_sorted(), "{cpu_s:?}");
    assert!(watch.notes().is_empty(), "{:?}", watch.notes());
}

#[test]
fn a_look_that_is_asked_for_tells_what_was_used_until_then_and_leaves_the_host_alone() {
    let every_ns = 60_000_000_000;
    let mut watch = Watch::start(&plan(&[], "", every_ns), Clock::start()).unwrap();
    watch.look_now();
    let mut samples = Vec::new();
    watch.drain(&mut samples);
    let before = last(&samples, "client", "cpu_s", "");
    let hosts = series(&samples, "host", "cpu_total_s", "").count();
    burn_thread(0.1);
    watch.look_now();
    watch.drain(&mut samples);
    let used = last(&samples, "client", "cpu_s", "") - before;
    assert!(used > 0.095, "{used} s: long before the next look is due");
    assert_eq!(
        series(&samples, "host", "cpu_total_s", "").count(),
        hosts,
        "its ticks are longer than a look"
    );
    samples.extend(finish(&mut watch));
    assert!(series(&samples, "host", "cpu_total_s", "").count() > hosts, "the last look is a whole one");
}

#[test]
fn cumulative_figures_never_fall_and_the_host_s_are_all_there() {
    let mut watch = watching(&[], env!("CARGO_TARGET_TMPDIR"));
    burn_thread(0.35);
    let samples = finish(&mut watch);
    let mut latest: BTreeMap<(&str, &str, &str), (u64, f64)> = BTreeMap::new();
    let levels = ["rss_bytes", "mem_available_bytes", "page_cache_bytes", "dirty_bytes", "writeback_bytes"];
    for s in samples.iter().filter(|s| !levels.contains(&s.metric)) {
        let (t_ns, value) = latest.entry((&s.role, s.metric, &s.device)).or_default();
        assert!(s.t_ns >= *t_ns && s.value >= *value, "{s:?} after {value} at {t_ns}");
        (*t_ns, *value) = (s.t_ns, s.value);
    }
    let metrics: Vec<&str> = samples.iter().filter(|s| &*s.role == "host").map(|s| s.metric).collect();
    let counts = [
        "cpu_total_s",
        "cpu_busy_s",
        "cpu_steal_s",
        "cpu_iowait_s",
        "net_rx_bytes",
        "tcp_segments",
        "tcp_segments_again",
        "dev_busy_s",
    ];
    for metric in counts.iter().chain(&levels[1..]) {
        assert!(metrics.contains(metric), "{metric} is missing");
    }
    let has_pressure = std::fs::read("/proc/pressure/cpu").is_ok();
    assert_eq!(metrics.contains(&"psi_cpu_some_s"), has_pressure);
}

#[test]
fn the_watch_tells_its_own_cost() {
    let mut watch = watching(&[], "");
    burn_thread(0.35);
    let samples = finish(&mut watch);
    let cost_s = last(&samples, "client", "watch_cpu_s", "");
    assert!(cost_s > 0.0 && cost_s < 0.1, "{cost_s} s");
}

#[test]
fn resident_memory_is_that_of_statm() {
    let held = vec![1u8; 64 << 20];
    let mut watch = watching(&[], "");
    let samples = finish(&mut watch);
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: f64 = text.split(' ').nth(1).unwrap().parse().unwrap();
    assert_near(last(&samples, "client", "rss_bytes", ""), pages * 4096.0, 32e6);
    assert!(held.iter().all(|b| *b == 1));
}

#[test]
fn a_process_that_never_was_is_a_note() {
    let watch = watching(&[("server", i32::MAX)], "");
    let notes = watch.notes();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].starts_with("role server: process 2147483647 is not watched"), "{notes:?}");
}

#[test]
fn looking_more_often_than_ten_times_a_second_is_refused_and_0_is_no_watch() {
    let refused = Watch::start(&plan(&[], "", EVERY_NS - 1), Clock::start());
    assert!(refused.is_err_and(|e| e.to_string().contains("watch.every_ns is 99999999")));
    let mut none = Watch::start(&plan(&[], "", 0), Clock::start()).unwrap();
    assert!(finish(&mut none).is_empty());
}
