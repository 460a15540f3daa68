use super::*;

#[test]
fn time_never_goes_back_on_one_thread_while_another_anchors() {
    let clock = Clock::start();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                clock.anchor();
                std::thread::yield_now();
            }
        });
        let mut last = clock.now();
        while last < 250_000_000 {
            let now = clock.now();
            assert!(now >= last, "{now} after {last}");
            last = now;
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_reading_waits_for_no_writer_that_lost_its_core() {
    let line = Line::calibrated();
    let before = line.now();
    // What a writer leaves that was stopped before it had written all of the next slope.
    line.slopes[1].set(0, u64::MAX / 2, 0);
    let after = line.now();
    assert!(after >= before && after < before + 60_000_000_000, "{before} {after}");
}

#[test]
fn run_time_follows_the_kernels_clock() {
    let clock = Clock::start();
    let start = monotonic_ns();
    let zero = clock.now();
    while monotonic_ns() < start + 300_000_000 {
        std::thread::yield_now();
        clock.anchor();
    }
    // Bracketed, because this thread may lose its core between two readings.
    let error_ns = (0..1000)
        .map(|_| {
            let before = monotonic_ns() - start;
            let run = clock.now() - zero;
            let after = monotonic_ns() - start;
            run.saturating_sub(after).max(before.saturating_sub(run))
        })
        .min()
        .expect("a thousand readings");
    assert!(error_ns < 2_000, "{error_ns} ns off after 0.3 s");
}

#[test]
fn a_line_ahead_is_bent_back_and_never_by_more_than_ntp_does() {
    let factor = 1e9;
    assert!(bent_factor(factor, 1000.0) < factor);
    assert!(bent_factor(factor, -1000.0) > factor);
    assert_eq!(bent_factor(factor, 1e12), factor * (1.0 - BEND_MAX));
    let error_after_1_s_ns = 1000.0 + (bent_factor(1.0, 1000.0) - 1.0) * 1e9;
    assert!(error_after_1_s_ns.abs() < 1e-3);
}

#[test]
fn the_line_keeps_its_precision_over_a_month_of_ticks() {
    let ticks_per_s = 2_700_000_000u64;
    let factor = (1e9 / ticks_per_s as f64 * 4_294_967_296.0) as u64;
    let month_s = 30 * 86_400;
    let ns = at(ticks_per_s * month_s, 0, 0, factor);
    let error_ppm = (ns as f64 / (month_s as f64 * 1e9) - 1.0).abs() * 1e6;
    assert!(error_ppm < 0.01, "{error_ppm}");
}

#[test]
fn a_reading_costs_less_than_a_microsecond() {
    let cost_ns = Clock::start().cost_ns();
    assert!(cost_ns > 0.0 && cost_ns < 1_000.0, "{cost_ns}");
}
