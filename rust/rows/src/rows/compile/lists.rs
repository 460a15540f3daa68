//! From a generator of lists in a plan to a compiled one.

use super::params::{bits_of, check_bounds, kind_name, per_of, share, Result};
use super::Setting;
use crate::plan::{GenPlan, LogicalType, NotFinite, Per};
use crate::rows::lists::{Items, ListGenerator};
use crate::rows::not_finite::NotFiniteShares;

/// What items that are texts are made by, and all other items.
const TEXTS: [&str; 4] = ["constant", "categorical", "format", "text"];
const NUMBERS: [&str; 10] = [
    "sequence",
    "constant",
    "uniform",
    "normal",
    "lognormal",
    "poisson",
    "beta",
    "zipf",
    "categorical",
    "flag",
];

impl Setting<'_> {
    pub(super) fn list(&self, ty: LogicalType, plan: &GenPlan, path: &[&str]) -> Result<ListGenerator> {
        let &GenPlan::Array { ref of, min_items, max_items, null_ppm, nan_ppm, inf_ppm, minus_inf_ppm } =
            plan
        else {
            return Err(format!("`{}` makes no list", kind_name(plan)));
        };
        if min_items > max_items || max_items > 1 << 20 {
            return Err(format!("min_items is {min_items} and max_items {max_items}; in order, up to 2^20"));
        }
        let item_type = ty.item().expect("this is a type of lists");
        let float = matches!(item_type, LogicalType::F32 | LogicalType::F64);
        let not_finite = NotFinite { nan_ppm, inf_ppm, minus_inf_ppm };
        let ppm = [null_ppm, nan_ppm, inf_ppm, minus_inf_ppm].iter().map(|&ppm| u64::from(ppm)).sum::<u64>();
        if ppm > 1_000_000 {
            return Err(format!("its shares are {ppm} in all; parts per million end at 1,000,000"));
        }
        if !float && not_finite != NotFinite::default() {
            return Err("NaN and infinities are of lists of floats".into());
        }
        let path: Vec<&str> = path.iter().copied().chain(["items"]).collect();
        let null_below = share("null_ppm", null_ppm)?;
        Ok(ListGenerator {
            key: self.key(&path, "length"),
            min: min_items as u64,
            range: (max_items - min_items) as u64 + 1,
            of: self.items(item_type, of, &path)?,
            null: (null_ppm > 0).then(|| (self.key(&path, "null"), null_below)),
            not_finite: (not_finite != NotFinite::default())
                .then(|| NotFiniteShares::new(not_finite, self.key(&path, "not finite"))),
        })
    }

    fn items(&self, ty: LogicalType, of: &GenPlan, path: &[&str]) -> Result<Items> {
        let kind = kind_name(of);
        let is_one_of = |kinds: &[&str]| kinds.contains(&kind.as_str()) && per_of(of) != Some(Per::Series);
        if ty == LogicalType::Text {
            if !is_one_of(&TEXTS) {
                return Err(format!("of is `{kind}`; texts are one of {}, by row", TEXTS.join(", ")));
            }
            return Ok(Items::Texts(self.text(ty, of, path).map_err(|e| format!("of: {e}"))?));
        }
        if !is_one_of(&NUMBERS) {
            return Err(format!("of is `{kind}`; items are one of {}, by row", NUMBERS.join(", ")));
        }
        let bits = bits_of(ty, of).map_err(|e| format!("of: {e}"))?;
        let int_generator = self.nested(ty, of, path, bits).map_err(|e| format!("of: {e}"))?;
        check_bounds(ty, &int_generator, bits).map_err(|e| format!("of: {e}"))?;
        Ok(Items::Integers { of: int_generator, unit: 1.0 / (1u64 << bits) as f64 })
    }
}
