//! H2 histograms: HdrHistogram's buckets, as a flat array.
//!
//! Bucket of `v`, with g = [`GROUPING_POWER`], e = floor(log2 v), s = max(e, g) - g:
//! `(v >> s) + (s << g)`. Every value has a bucket; the relative width is 2^-g at most.

use serde::Serialize;

/// 2^7 buckets per power of two: 0.78 %, HdrHistogram's two significant digits.
pub const GROUPING_POWER: u32 = 7;
/// Buckets of all 64-bit values.
pub const BUCKETS: usize = (64 - GROUPING_POWER as usize + 1) << GROUPING_POWER;
/// The next power of two: an index masked to it needs no bounds check. The tail stays untouched.
const SLOTS: usize = BUCKETS.next_power_of_two();

/// Bucket of a value.
#[inline(always)]
pub fn bucket_of(value: u64) -> usize {
    let exponent = 63 - (value | (1 << GROUPING_POWER)).leading_zeros();
    let shift = exponent - GROUPING_POWER;
    (value >> shift) as usize + ((shift as usize) << GROUPING_POWER)
}

/// Smallest and largest value of a bucket.
pub fn bucket_range(bucket: usize) -> (u64, u64) {
    let per_power = 1usize << GROUPING_POWER;
    let shift = (bucket >> GROUPING_POWER).saturating_sub(1);
    let low = ((bucket - shift * per_power) as u64) << shift;
    (low, low + ((1u64 << shift) - 1))
}

/// A dense histogram with exact count, sum and extremes. Memory is touched where values fall.
#[derive(Clone)]
pub struct Hist {
    counts: Box<[u64; SLOTS]>,
    n: u64,
    sum: u64,
    min: u64,
    max: u64,
}

impl Default for Hist {
    fn default() -> Hist {
        Hist::new()
    }
}

impl Hist {
    pub fn new() -> Hist {
        // From a zeroed vector, not `Box::new([0; SLOTS])`: its pages are not touched.
        let counts: Box<[u64; SLOTS]> =
            vec![0u64; SLOTS].into_boxed_slice().try_into().expect("the length is SLOTS");
        Hist { counts, n: 0, sum: 0, min: u64::MAX, max: 0 }
    }

    #[inline(always)]
    pub fn record(&mut self, value: u64) {
        self.counts[bucket_of(value) & (SLOTS - 1)] += 1;
        self.n += 1;
        self.sum = self.sum.wrapping_add(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds `n` times the same value.
    pub fn record_n(&mut self, value: u64, n: u64) {
        if n == 0 {
            return;
        }
        self.counts[bucket_of(value)] += n;
        self.n += n;
        self.sum += value * n;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Afterwards `self` is as if it had recorded both.
    pub fn merge(&mut self, other: &Hist) {
        for bucket in other.touched() {
            self.counts[bucket] += other.counts[bucket];
        }
        self.n += other.n;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    pub fn clear(&mut self) {
        let touched = self.touched();
        self.counts[touched].fill(0);
        self.n = 0;
        self.sum = 0;
        self.min = u64::MAX;
        self.max = 0;
    }

    /// Buckets that may hold a count.
    fn touched(&self) -> std::ops::Range<usize> {
        if self.n == 0 {
            0..0
        } else {
            bucket_of(self.min)..bucket_of(self.max) + 1
        }
    }

    pub fn n(&self) -> u64 {
        self.n
    }

    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// 0 when empty.
    pub fn min(&self) -> u64 {
        if self.n == 0 {
            0
        } else {
            self.min
        }
    }

    /// 0 when empty.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// NaN when empty.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.n as f64
    }

    pub fn count(&self, bucket: usize) -> u64 {
        self.counts[bucket]
    }

    /// Values in buckets wholly above that of `value`.
    pub fn count_above(&self, value: u64) -> u64 {
        let from = (bucket_of(value) + 1).max(self.touched().start);
        (from..self.touched().end).map(|bucket| self.counts[bucket]).sum()
    }

    /// Upper end of the smallest bucket at which the cumulated count reaches ceil(q n), and no more
    /// than the largest value; `None` when empty. `q` from 0 to 1.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let rank = rank_of(q, self.n)?;
        let mut seen = 0;
        self.touched()
            .find(|bucket| {
                seen += self.counts[*bucket];
                seen >= rank
            })
            .map(|bucket| bucket_range(bucket).1.min(self.max))
    }

    pub fn to_sparse(&self) -> SparseHist {
        let touched = self.touched().filter(|bucket| self.counts[*bucket] > 0);
        let (bucket, count) = touched.map(|bucket| (bucket as u32, self.counts[bucket])).unzip();
        SparseHist { bucket, count, n: self.n, min: self.min(), max: self.max, sum: self.sum }
    }

    pub fn from_sparse(sparse: &SparseHist) -> Hist {
        let mut hist = Hist::new();
        for (bucket, count) in sparse.bucket.iter().zip(&sparse.count) {
            hist.counts[*bucket as usize] = *count;
        }
        hist.n = sparse.n;
        hist.sum = sparse.sum;
        hist.min = if sparse.n == 0 { u64::MAX } else { sparse.min };
        hist.max = sparse.max;
        hist
    }
}

/// 1-based rank of quantile `q` among `n` values; `None` when there are none.
fn rank_of(q: f64, n: u64) -> Option<u64> {
    assert!((0.0..=1.0).contains(&q), "quantile {q} is not in 0..=1");
    (n > 0).then(|| ((q * n as f64).ceil() as u64).clamp(1, n))
}

/// Buckets with counts, rising: how a histogram is stored and merged later.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SparseHist {
    pub bucket: Vec<u32>,
    pub count: Vec<u64>,
    pub n: u64,
    /// 0 when empty.
    pub min: u64,
    pub max: u64,
    pub sum: u64,
}

impl std::fmt::Debug for Hist {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.to_sparse().fmt(f)
    }
}

impl PartialEq for Hist {
    fn eq(&self, other: &Hist) -> bool {
        self.to_sparse() == other.to_sparse()
    }
}

impl Eq for Hist {}
