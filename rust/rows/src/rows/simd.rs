//! One body, three instances: baseline, AVX2, AVX-512, chosen at run time. All integer, so bit-identical.

use std::sync::OnceLock;

/// Instruction set of the fill loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Baseline,
    Avx2,
    Avx512,
}

impl Level {
    /// What this machine runs, slowest first.
    pub fn supported() -> Vec<Level> {
        #[allow(unused_mut)]
        let mut levels = vec![Level::Baseline];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                levels.push(Level::Avx2);
            }
            let wide = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw");
            if wide && levels.contains(&Level::Avx2) {
                levels.push(Level::Avx512);
            }
        }
        levels
    }

    pub fn best() -> Level {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| *Level::supported().last().expect("baseline is always there"))
    }
}

/// Defines `fn name(level, args…)` from a body that the compiler vectorises for each level.
///
/// The caller passes a level of `Level::supported()`; `RowGen` checks that once.
macro_rules! vectorised {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments)]
        $vis fn $name(level: $crate::rows::simd::Level, $($arg: $ty),*) {
            #[allow(clippy::too_many_arguments)]
            #[inline(always)]
            fn body($($arg: $ty),*) $body
            #[cfg(target_arch = "x86_64")]
            #[allow(clippy::too_many_arguments)]
            #[target_feature(enable = "avx2")]
            fn avx2($($arg: $ty),*) { body($($arg),*) }
            #[cfg(target_arch = "x86_64")]
            #[allow(clippy::too_many_arguments)]
            #[target_feature(enable = "avx2,avx512f,avx512dq,avx512vl,avx512bw")]
            fn avx512($($arg: $ty),*) { body($($arg),*) }
            match level {
                // SAFETY: levels are taken from `Level::supported`.
                #[cfg(target_arch = "x86_64")]
                $crate::rows::simd::Level::Avx2 => unsafe { avx2($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::rows::simd::Level::Avx512 => unsafe { avx512($($arg),*) },
                _ => body($($arg),*),
            }
        }
    };
}
pub(crate) use vectorised;
