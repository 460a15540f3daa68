//! The generators by name and parameters, as they stand in a plan. `catalogue` says the same to people.
//!
//! *Place*: a row's series in a table with series, else the row itself. Fractional values are
//! `k·2^-bits`, so that sums of them are exact in every engine.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// One generator of one column. `kind` names it; parameters by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum GenPlan {
    /// `start + step * row`.
    Sequence {
        start: i64,
        step: i64,
    },
    /// The same in every row.
    Constant {
        value: Json,
        bits: Option<u32>,
    },
    /// How often the row has changed: 0 where it was inserted, the number of the call that has changed it last after that.
    Version {},
    /// `from … to` again and again, one step each `every` places.
    Cycle {
        from: i64,
        to: i64,
        #[serde(default = "one")]
        every: u64,
    },
    /// `from … to` in random order, each once, then the same order again; by row.
    Shuffled {
        from: i64,
        to: i64,
    },
    Uniform {
        from: i64,
        to: i64,
        bits: Option<u32>,
        #[serde(default)]
        per: Per,
    },
    Normal {
        mean: f64,
        sd: f64,
        min: Option<f64>,
        max: Option<f64>,
        bits: Option<u32>,
        #[serde(default)]
        per: Per,
    },
    /// `median * exp(sigma * Z)`.
    Lognormal {
        median: f64,
        sigma: f64,
        min: Option<f64>,
        max: Option<f64>,
        bits: Option<u32>,
        #[serde(default)]
        per: Per,
    },
    Poisson {
        mean: f64,
        #[serde(default)]
        per: Per,
    },
    /// `scale * Beta(a, b)`.
    Beta {
        a: f64,
        b: f64,
        #[serde(default = "unit")]
        scale: f64,
        bits: Option<u32>,
        #[serde(default)]
        per: Per,
    },
    /// Ranks `1 … n` with probability ∝ `rank^-exponent`, plus `from - 1`; scattered over the range if asked.
    Zipf {
        n: u64,
        exponent: f64,
        #[serde(default = "first")]
        from: i64,
        #[serde(default)]
        scatter: bool,
        #[serde(default)]
        per: Per,
    },
    Categorical {
        values: Vec<Json>,
        /// One per value; equal if absent.
        #[serde(default)]
        weights: Vec<f64>,
        #[serde(default)]
        per: Per,
    },
    /// 1 with probability `true_ppm / 10^6`, else 0.
    Flag {
        true_ppm: u32,
        #[serde(default)]
        per: Per,
    },
    /// Never falls within a series, except at a reset or wrap.
    Counter(CounterPlan),
    /// `floor(of * numerator / denominator)` to 2^-32.
    Ratio {
        of: String,
        numerator: u64,
        denominator: u64,
    },
    Sum {
        of: Vec<String>,
    },
    /// `of - minus`; a u64 stops at 0.
    Difference {
        of: String,
        minus: String,
    },
    /// `of` plus a uniform `from … to`, in the column's own unit.
    Offset {
        of: String,
        from: i64,
        to: i64,
    },
    /// Grows with counter `of` by `numerator / denominator` in the series with a mean rate above `above_per_s`, else 0.
    Excess {
        of: String,
        above_per_s: u64,
        numerator: u64,
        denominator: u64,
        width_bits: u32,
    },
    /// A wandering value between `from` and `to`, along the sweeps of each series.
    Walk {
        from: i64,
        to: i64,
        bits: Option<u32>,
    },
    /// Epoch + sweep * the table's period, plus 0 … jitter per row.
    SweepTime {
        #[serde(default)]
        jitter_ms: u64,
    },
    /// Epoch + row * period, plus 0 … jitter.
    Time {
        period_us: u64,
        #[serde(default)]
        jitter_us: u64,
    },
    /// Epoch + sweep * a period of the series' own (log-normal), shifted, plus 0 … jitter.
    SeriesTime {
        median_period_ms: f64,
        sigma: f64,
        #[serde(default)]
        jitter_ms: u64,
    },
    /// A unique 64-bit number: the hexadecimal `prefix`, then scattered bits; a new one each `every` places.
    Pattern {
        prefix: String,
        #[serde(default = "one")]
        every: u64,
        /// Equal spaces give equal numbers, in any table and column.
        space: Option<String>,
    },
    /// A UUID of version 4's shape for each place: no two are equal, and each leads back to its place.
    Uuid {},
    /// A number of `precision` digits, `scale` of them behind the point.
    Decimal {
        #[serde(default)]
        precision: u32,
        #[serde(default)]
        scale: u32,
        /// Gives the number without its point; absent: every number of the type, of any length.
        of: Option<Box<GenPlan>>,
    },
    /// `%d %05d %x %c %%` filled from integer generators; `%c` is the letter `a` + value.
    Format {
        pattern: String,
        fields: Vec<GenPlan>,
        /// Padded with blanks to so many bytes: CHAR(n).
        #[serde(default)]
        pad_to: u32,
    },
    Text {
        min_bytes: u32,
        max_bytes: u32,
        #[serde(default = "alphabet")]
        alphabet: String,
        #[serde(default)]
        per: Per,
    },
    Bytes {
        min_bytes: u32,
        max_bytes: u32,
        #[serde(default)]
        per: Per,
    },
    /// Values of the column's type by their order, in its text: days, `2026-01-31`.
    Between {
        from: String,
        to: String,
        #[serde(default)]
        per: Per,
    },
    /// Documents of JSON in their shortest form, with keys in the order that databases keep them in.
    Document {
        #[serde(default)]
        min_items: u32,
        max_items: u32,
        #[serde(default)]
        min_chars: u32,
        max_chars: u32,
        #[serde(default)]
        per: Per,
    },
    /// A number below 2^bits, as so many bits.
    Bits {
        #[serde(default)]
        bits: u32,
        /// Gives the number; absent: every number equally often.
        of: Option<Box<GenPlan>>,
        #[serde(default)]
        per: Per,
    },
    Array {
        of: Box<GenPlan>,
        min_items: u32,
        max_items: u32,
        /// Share of the items that are NULL, and of floats that are no finite numbers.
        #[serde(default, skip_serializing_if = "is_zero")]
        null_ppm: u32,
        #[serde(default, skip_serializing_if = "is_zero")]
        nan_ppm: u32,
        #[serde(default, skip_serializing_if = "is_zero")]
        inf_ppm: u32,
        #[serde(default, skip_serializing_if = "is_zero")]
        minus_inf_ppm: u32,
    },
    /// The value of `column` for a random series of the table with stream `stream`.
    Foreign {
        stream: String,
        column: String,
        /// Series of that table.
        series: u64,
        /// Its generator there.
        of: Box<GenPlan>,
        /// Zipf's exponent; uniform if absent.
        exponent: Option<f64>,
    },
    /// Jobs of a power of two of neighbouring places, following each other.
    Job {
        from: i64,
        smallest: u64,
        largest: u64,
        /// Zipf's exponent over the sizes.
        exponent: f64,
        lives_from_s: u64,
        lives_to_s: u64,
    },
    /// Place within the job of column `of`.
    Rank {
        of: String,
    },
    /// What a row's place in files of chunks says, in a table with such files.
    Chunk {
        part: ChunkPart,
    },
}

/// A part of the keys of a survey, or of the file that a row is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChunkPart {
    Scan,
    /// 0 or 1.
    Letter,
    Frame,
    Source,
    /// The file, from 0.
    File,
    /// The number of its chunk.
    ChunkId,
    /// Scan, letter, frame and source as one number, in the order of their text.
    Key,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CounterPlan {
    #[serde(default)]
    pub start_from: u64,
    #[serde(default)]
    pub start_to: u64,
    pub increment: Increment,
    /// lognormal: median over the series of their mean rate.
    #[serde(default)]
    pub median_per_s: f64,
    /// lognormal.
    #[serde(default)]
    pub sigma: f64,
    /// poisson.
    #[serde(default)]
    pub mean_per_s: f64,
    /// burst: of one in any one sweep.
    #[serde(default)]
    pub probability_ppm: u32,
    /// burst: mean size, geometric.
    #[serde(default)]
    pub mean_size: f64,
    /// Share of series that never move.
    #[serde(default)]
    pub idle_ppm: u32,
    /// Columns of one group have the same idle series; the column's own name if absent.
    pub group: Option<String>,
    /// No increment is above it.
    pub cap_per_s: Option<u64>,
    #[serde(default = "whole")]
    pub width_bits: u32,
    #[serde(default)]
    pub at_limit: AtLimit,
    /// Back to 0 for all series; 0: never.
    #[serde(default)]
    pub reset_every_s: u64,
}

/// How a counter moves from one sweep to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Increment {
    /// A mean rate per series, log-normal over the series; increments triangular around it.
    Lognormal,
    Poisson,
    Burst,
}

/// What a counter does at the end of its width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtLimit {
    #[default]
    Wrap,
    Saturate,
}

/// Drawn anew for every row, or once for each series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    #[default]
    Row,
    Series,
}

/// Fractional bits of f32 and f64 where a generator does not say.
pub const DEFAULT_BITS: u32 = 8;

impl GenPlan {
    /// Of a column of type enum: the texts that it may hold, in their order.
    pub fn labels(&self) -> Vec<&str> {
        match self {
            GenPlan::Categorical { values, .. } => values.iter().filter_map(Json::as_str).collect(),
            GenPlan::Constant { value, .. } => value.as_str().into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Of a column of type bit: how many bits its values have.
    pub fn bits(&self) -> Option<u32> {
        match self {
            GenPlan::Bits { bits, .. } => Some(*bits),
            _ => None,
        }
    }
}

fn is_zero(ppm: &u32) -> bool {
    *ppm == 0
}

fn one() -> u64 {
    1
}

fn first() -> i64 {
    1
}

fn unit() -> f64 {
    1.0
}

fn whole() -> u32 {
    64
}

fn alphabet() -> String {
    "abcdefghijklmnopqrstuvwxyz0123456789".into()
}
