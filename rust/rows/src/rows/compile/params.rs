//! Parameters of generators, read and checked: each problem a sentence with its remedy.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::plan::LogicalType;
use crate::plan::{GenPlan, Per, DEFAULT_BITS};
use crate::rows::integers::IntGenerator;
use crate::rows::table::Alias;
use crate::types::Holds;

/// Above it alias tables no longer fit a cache.
pub const ALIAS_RANKS: u64 = 65_536;

pub type Result<T> = std::result::Result<T, String>;

pub fn names_of(plan: &GenPlan) -> Vec<&str> {
    match plan {
        GenPlan::Ratio { of, .. }
        | GenPlan::Offset { of, .. }
        | GenPlan::Excess { of, .. }
        | GenPlan::Rank { of } => vec![of],
        GenPlan::Difference { of, minus } => vec![of, minus],
        GenPlan::Sum { of } => of.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

pub fn per_of(plan: &GenPlan) -> Option<Per> {
    match plan {
        GenPlan::Uniform { per, .. }
        | GenPlan::Normal { per, .. }
        | GenPlan::Lognormal { per, .. }
        | GenPlan::Poisson { per, .. }
        | GenPlan::Beta { per, .. }
        | GenPlan::Zipf { per, .. }
        | GenPlan::Categorical { per, .. }
        | GenPlan::Flag { per, .. }
        | GenPlan::Bytes { per, .. }
        | GenPlan::Between { per, .. }
        | GenPlan::Document { per, .. }
        | GenPlan::Bits { per, of: None, .. }
        | GenPlan::Text { per, .. } => Some(*per),
        _ => None,
    }
}

pub fn kind_name(plan: &GenPlan) -> String {
    let json = serde_json::to_value(plan).expect("plans are JSON");
    json["kind"].as_str().expect("plans are tagged").to_string()
}

pub fn no_integers(plan: &GenPlan) -> String {
    format!("`{}` is no integer generator; it cannot stand here", kind_name(plan))
}

pub fn bits_of(ty: LogicalType, plan: &GenPlan) -> Result<u32> {
    let given = match plan {
        GenPlan::Constant { bits, .. }
        | GenPlan::Uniform { bits, .. }
        | GenPlan::Normal { bits, .. }
        | GenPlan::Lognormal { bits, .. }
        | GenPlan::Beta { bits, .. }
        | GenPlan::Walk { bits, .. } => *bits,
        _ => None,
    };
    let float = matches!(ty, LogicalType::F32 | LogicalType::F64);
    match given {
        Some(bits) if !float && bits != 0 => {
            Err(format!("bits is {bits}; type {} has no fraction", ty.name()))
        }
        Some(bits) if bits > 40 => Err(format!("bits is {bits}; up to 40")),
        Some(bits) => Ok(bits),
        // Integers as floats have no fraction to round.
        None => Ok(if float { DEFAULT_BITS } else { 0 }),
    }
}

pub fn check_bounds(ty: LogicalType, int_generator: &IntGenerator, bits: u32) -> Result<()> {
    if let (IntGenerator::Sequence { start, step }, LogicalType::I32 | LogicalType::U32) = (int_generator, ty)
    {
        // How many rows there are is the plan's: `fits` looks at the last one.
        return last_that_fits(ty, *start, *step)
            .map(|_| ())
            .ok_or_else(|| format!("start is {start}, which is not a value of type {}", ty.name()));
    }
    let (least, most) = match ty.holds() {
        // Up to these bounds a float holds every whole number.
        Holds::Float(32) => (-(1 << 24), 1 << 24),
        Holds::Float(_) => (-(1 << 53), 1 << 53),
        // These may use all 64 bits; their values were read as unsigned.
        Holds::Unsigned(64)
            if matches!(
                int_generator,
                IntGenerator::Uniform { range: 0, .. }
                    | IntGenerator::Constant { .. }
                    | IntGenerator::Pick { .. }
            ) =>
        {
            return Ok(())
        }
        Holds::Signed(64) => return Ok(()),
        _ => match ty.range() {
            Some(range) => range,
            None => return Ok(()),
        },
    };
    match int_generator.bounds() {
        Some((low, high)) if low >= least && high <= most => Ok(()),
        Some((low, high)) => {
            let unit = (1u64 << bits) as f64;
            Err(format!(
                "values {} … {} do not fit type {} exactly; choose a wider type, a smaller range or fewer bits",
                low as f64 / unit,
                high as f64 / unit,
                ty.name()
            ))
        }
        None if ty == LogicalType::U64
            && !matches!(int_generator, IntGenerator::Offset { from: ..0, .. }) =>
        {
            Ok(())
        }
        None => Err(format!("values have no bound and may leave type {}; use i64 or u64", ty.name())),
    }
}

/// The last row whose value fits the type, where rows count from `start` by `step`; `u64::MAX` where none is too much. None:
/// not even the first one fits.
pub fn last_that_fits(ty: LogicalType, start: i64, step: i64) -> Option<u64> {
    let Some((least, most)) = ty.range().filter(|_| matches!(ty, LogicalType::I32 | LogicalType::U32)) else {
        return Some(u64::MAX);
    };
    if !(least..=most).contains(&start) {
        return None;
    }
    Some(match step {
        0 => u64::MAX,
        1.. => (most - start) as u64 / step as u64,
        _ => (start - least) as u64 / step.unsigned_abs(),
    })
}

pub fn constant(ty: LogicalType, value: &Json, bits: u32) -> Result<i64> {
    let float = matches!(ty, LogicalType::F32 | LogicalType::F64);
    let fixed = match value {
        Json::Bool(b) if ty == LogicalType::Bool => Some(*b as i64),
        Json::Number(n) if float => n
            .as_f64()
            .map(|v| v * (1u64 << bits) as f64)
            .filter(|k| k.fract() == 0.0 && k.abs() < 9e15)
            .map(|k| k as i64),
        value => integer_value(ty, value),
    };
    fixed.ok_or_else(|| {
        format!("value is {value}; it is not a {}{}", ty.name(), if float { " of k·2^-bits" } else { "" })
    })
}

pub fn integer_value(ty: LogicalType, value: &Json) -> Option<i64> {
    if ty == LogicalType::U64 {
        return value.as_u64().map(|v| v as i64);
    }
    value.as_i64()
}

pub fn alias_of(n: usize, weights: &[f64]) -> Result<Arc<Alias>> {
    if n == 0 {
        return Err("values is empty".into());
    }
    if weights.is_empty() {
        return Ok(Arc::new(Alias::new(&vec![1.0; n])));
    }
    let fine = weights.len() == n
        && weights.iter().all(|w| w.is_finite() && *w >= 0.0)
        && weights.iter().sum::<f64>() > 0.0;
    if !fine {
        return Err(format!(
            "weights has {} entries for {n} values; one each, none negative, some above 0",
            weights.len()
        ));
    }
    Ok(Arc::new(Alias::new(weights)))
}

pub fn ratio(numerator: u64, denominator: u64) -> Result<(u64, u64)> {
    if denominator == 0 {
        return Err("denominator is 0".into());
    }
    let fixed = ((numerator as u128) << 32) / denominator as u128;
    let whole = u64::try_from(fixed >> 32).expect("a u64 divided by at least 1");
    Ok((whole, fixed as u64 & 0xffff_ffff))
}

pub fn width(bits: u32) -> Result<u64> {
    if !(1..=64).contains(&bits) {
        return Err(format!("width_bits is {bits}; 1 … 64"));
    }
    Ok(u64::MAX >> (64 - bits))
}

/// Parts per million in 2^-32.
pub fn share(what: &str, ppm: u32) -> Result<u64> {
    if ppm > 1_000_000 {
        return Err(format!("{what} is {ppm}; parts per million end at 1,000,000"));
    }
    Ok(((ppm as u64) << 32) / 1_000_000)
}

/// A number in units of 2^-bits.
pub fn scaled(value: i64, bits: u32) -> Result<i64> {
    value
        .checked_mul(1 << bits)
        .ok_or_else(|| format!("{value} with {bits} bits of fraction leaves 64 bits; give fewer bits"))
}

/// How many numbers there are from one to the other; 0: 2^64.
pub fn range(from: i64, to: i64) -> Result<u64> {
    if from > to {
        return Err(format!("from is {from} and to is {to}; from is not above to"));
    }
    Ok((to.wrapping_sub(from) as u64).wrapping_add(1))
}

pub fn limits(bits: u32, min: Option<f64>, max: Option<f64>) -> Result<(f64, f64)> {
    let most = (1u64 << 53) as f64 / (1u64 << bits) as f64;
    let (min, max) = (min.unwrap_or(-most), max.unwrap_or(most));
    if !(min <= max && min >= -most && max <= most) {
        return Err(format!("min is {min} and max {max}; in order, within ±{most}"));
    }
    Ok((min, max))
}

pub fn whole_range(n: u64) -> Result<u64> {
    if n == 0 {
        return Err("from … to is the whole of 64 bits; give a smaller range".into());
    }
    Ok(n)
}

pub fn positive(what: &str, value: u64) -> Result<u64> {
    if value == 0 {
        return Err(format!("{what} is 0; it is at least 1"));
    }
    Ok(value)
}

pub fn finite(values: &[(&str, f64)]) -> Result<()> {
    match values.iter().find(|(_, v)| !v.is_finite()) {
        Some((what, v)) => Err(format!("{what} is {v}; give a number")),
        None => Ok(()),
    }
}

pub fn not_negative(what: &str, value: f64) -> Result<()> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(format!("{what} is {value}; it is not negative"))
}

pub fn above_0(values: &[(&str, f64)]) -> Result<()> {
    match values.iter().find(|(_, v)| !v.is_finite() || *v <= 0.0) {
        Some((what, v)) => Err(format!("{what} is {v}; it is above 0")),
        None => Ok(()),
    }
}

pub fn poisson_mean(what: &str, mean: f64) -> Result<f64> {
    if mean > 0.0 && mean <= 10_000.0 {
        return Ok(mean);
    }
    Err(format!(
        "{what} gives a Poisson mean of {mean}; above 0, up to 10,000 (beyond, use normal or lognormal)"
    ))
}

pub fn unit_ns(ty: LogicalType) -> u64 {
    if ty == LogicalType::TimeMs {
        1_000_000
    } else {
        1_000
    }
}

pub fn is_wide(ty: LogicalType) -> bool {
    ty.is_time() || matches!(ty, LogicalType::I64 | LogicalType::U32 | LogicalType::U64)
}
