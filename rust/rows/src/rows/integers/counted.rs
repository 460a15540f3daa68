//! Values counted from the row or its place, without a draw.

use super::super::simd::vectorised;

vectorised! {
    pub fn sequence(start: i64, step: i64, rows: &[u64], out: &mut [i64]) {
        for (out, &row) in out.iter_mut().zip(rows) {
            *out = start.wrapping_add(step.wrapping_mul(row as i64));
        }
    }
}

/// `from + place / every mod n`; counted where places follow one another, for a division costs as much as ten rows.
pub fn cycle(places: &[u64], from: i64, n: u64, every: u64, out: &mut [i64]) {
    let mut done = 0;
    while let Some(&place) = places.get(done) {
        let (at, inside) = (place / every % n, place % every);
        let follow = places[done..].iter().zip(place..).take_while(|(a, b)| **a == *b).count();
        count_along(at, inside, n, every, from, &mut out[done..done + follow]);
        done += follow;
    }
}

/// Values of places that follow one another, the first of which is number `inside` of `every` in step `at` of `n`.
fn count_along(mut at: u64, mut inside: u64, n: u64, every: u64, from: i64, mut out: &mut [i64]) {
    while !out.is_empty() {
        let same = (every - inside).min(out.len() as u64);
        if every == 1 {
            let run = (n - at).min(out.len() as u64);
            let (now, later) = out.split_at_mut(run as usize);
            now.iter_mut().zip(at..).for_each(|(v, at)| *v = from.wrapping_add(at as i64));
            (at, out) = (0, later);
        } else {
            let (now, later) = out.split_at_mut(same as usize);
            now.fill(from.wrapping_add(at as i64));
            (at, inside, out) = (if at + 1 == n { 0 } else { at + 1 }, 0, later);
        }
    }
}

pub fn each(index: &[u64], out: &mut [i64], value: impl Fn(u64) -> i64) {
    for (out, &i) in out.iter_mut().zip(index) {
        *out = value(i);
    }
}

pub fn each_with(a: &[u64], b: &[u64], out: &mut [i64], value: impl Fn(u64, u64) -> i64) {
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *out = value(a, b);
    }
}

/// As `each` of `place / every`, made once where neighbours share it.
pub fn each_run(places: &[u64], every: u64, out: &mut [i64], value: impl Fn(u64) -> i64) {
    let (mut last, mut made) = (None, 0);
    let mut until = 0;
    for (out, &place) in out.iter_mut().zip(places) {
        if last.is_none_or(|number: u64| place < number * every || place >= until) {
            let number = place / every;
            (last, made, until) = (Some(number), value(number), (number + 1).saturating_mul(every));
        }
        *out = made;
    }
}
