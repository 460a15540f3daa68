//! Texts and the keys of other tables: generators with others inside.

use serde_json::Value as Json;

use super::params::{alias_of, kind_name, per_of, positive, Result};
use super::Setting;
use crate::plan::{GenPlan, LogicalType, Per, RowSource, TablePlan};
use crate::rows::decimals::{Decimals, Digits, PRECISION_MOST};
use crate::rows::documents::Documents;
use crate::rows::integers::{Draw, IntGenerator};
use crate::rows::text::{parse_format, Part, TextGenerator, MAX_FIELDS};
use crate::rows::uuids::Uuids;

impl Setting<'_> {
    /// ty: of the column, whose values are texts.
    pub(super) fn text(&self, ty: LogicalType, plan: &GenPlan, path: &[&str]) -> Result<TextGenerator> {
        let draw = |per: Per| Draw { key: self.key(path, "draw"), per };
        match plan {
            GenPlan::Constant { value: Json::String(text), .. } => {
                Ok(TextGenerator::Constant(one_form(ty, text)?))
            }
            GenPlan::Constant { value, .. } => Err(format!("value is {value}; a text stands in quotes")),
            GenPlan::Categorical { values, weights, per } => choice(ty, values, weights, draw(*per)),
            GenPlan::Format { pattern, fields, pad_to } => self.format(pattern, fields, *pad_to, path),
            GenPlan::Text { min_bytes, max_bytes, alphabet, per } => {
                if alphabet.is_empty() || !alphabet.is_ascii() || alphabet.len() > 128 {
                    return Err("alphabet has 1 … 128 ASCII letters".into());
                }
                let (min, range) = lengths(*min_bytes, *max_bytes)?;
                let alphabet = alphabet.clone().into_bytes();
                Ok(TextGenerator::Random { draw: draw(*per), min, range, alphabet })
            }
            GenPlan::Bytes { min_bytes, max_bytes, per } => {
                let (min, range) = lengths(*min_bytes, *max_bytes)?;
                Ok(TextGenerator::Bytes { draw: draw(*per), min, range })
            }
            GenPlan::Between { from, to, per } => between(ty, from, to, draw(*per)),
            GenPlan::Document { min_items, max_items, min_chars, max_chars, per } => {
                Ok(TextGenerator::Document(Documents {
                    draw: draw(*per),
                    items: in_order("items", *min_items, *max_items, 1 << 16)?,
                    chars: in_order("chars", *min_chars, *max_chars, 1 << 20)?,
                }))
            }
            GenPlan::Uuid {} => Ok(TextGenerator::Uuid(Uuids::new(self.key(path, "uuid")))),
            GenPlan::Decimal { precision, scale, of } => {
                self.decimals(*precision, *scale, of.as_deref(), path)
            }
            GenPlan::Foreign { stream, column, series, of, exponent } => {
                let chosen = Box::new(self.foreign_series(*series, *exponent, path)?);
                let of = self.foreign(stream, column, *series, of, |there, path| there.text(ty, of, path))?;
                Ok(TextGenerator::Foreign { series: chosen, of: Box::new(of), one_series: *series == 1 })
            }
            _ => Err(format!("`{}` makes no text", kind_name(plan))),
        }
    }

    fn format(&self, pattern: &str, fields: &[GenPlan], pad_to: u32, path: &[&str]) -> Result<TextGenerator> {
        let parts = parse_format(pattern)?;
        let wanted = parts.iter().filter(|p| !matches!(p, Part::Literal(_))).count();
        if wanted != fields.len() || wanted > MAX_FIELDS {
            return Err(format!(
                "pattern has {wanted} fields and fields {}; equal, at most {MAX_FIELDS}",
                fields.len()
            ));
        }
        let int_generators = fields.iter().enumerate().map(|(i, field)| {
            let number = i.to_string();
            let path: Vec<&str> = path.iter().copied().chain([number.as_str()]).collect();
            self.nested(LogicalType::I64, field, &path, 0).map_err(|e| format!("fields[{i}]: {e}"))
        });
        let fields = int_generators.collect::<Result<_>>()?;
        Ok(TextGenerator::Format { parts, fields, pad_to: pad_to as usize })
    }

    fn decimals(
        &self,
        precision: u32,
        scale: u32,
        of: Option<&GenPlan>,
        path: &[&str],
    ) -> Result<TextGenerator> {
        if !(1..=PRECISION_MOST).contains(&precision) || scale > precision {
            return Err(format!(
                "precision is {precision} and scale {scale}; 1 … {PRECISION_MOST} digits, not more of them behind the point"
            ));
        }
        let Some(of) = of else {
            let key = self.key(path, "draw");
            return Ok(TextGenerator::Decimal(Decimals { digits: Digits::Drawn { key, precision }, scale }));
        };
        let path: Vec<&str> = path.iter().copied().chain(["of"]).collect();
        let of = self.nested(LogicalType::I64, of, &path, 0).map_err(|e| format!("of: {e}"))?;
        let most = 10i128.pow(precision);
        let Some((low, high)) = of.bounds() else {
            return Err("of: its numbers have no bounds; give it from and to, or min and max".into());
        };
        if i128::from(low) <= -most || i128::from(high) >= most {
            return Err(format!("of: gives {low} … {high}, more than {precision} digits; narrow it"));
        }
        Ok(TextGenerator::Decimal(Decimals { digits: Digits::Of(of), scale }))
    }

    /// An integer generator within another: no derived columns, no times.
    pub(super) fn nested(
        &self,
        ty: LogicalType,
        plan: &GenPlan,
        path: &[&str],
        bits: u32,
    ) -> Result<IntGenerator> {
        if matches!(plan, GenPlan::SweepTime { .. } | GenPlan::Time { .. } | GenPlan::SeriesTime { .. }) {
            return Err(format!("`{}` cannot stand inside another generator", kind_name(plan)));
        }
        self.int_generator(ty, plan, path, bits, None)
    }

    pub(super) fn foreign_series(
        &self,
        series: u64,
        exponent: Option<f64>,
        path: &[&str],
    ) -> Result<IntGenerator> {
        let draw = Draw { key: self.key(path, "series"), per: Per::Row };
        match exponent {
            Some(exponent) => self.zipf(series, exponent, 0, true, draw, path),
            None => Ok(IntGenerator::Uniform { draw, from: 0, range: positive("series", series)? }),
        }
    }

    /// Compiles within the other table: same seed, its stream, its number of series.
    pub(super) fn foreign<T>(
        &self,
        stream: &str,
        column: &str,
        series: u64,
        of: &GenPlan,
        compile: impl FnOnce(&Setting, &[&str]) -> Result<T>,
    ) -> Result<T> {
        const KEYS: &str = "sequence, constant, cycle, pattern, uuid, format, text, or a draw per series";
        let by_place = match of {
            GenPlan::Constant { .. }
            | GenPlan::Cycle { .. }
            | GenPlan::Pattern { .. }
            | GenPlan::Uuid {}
            | GenPlan::Format { .. } => true,
            GenPlan::Sequence { .. } => series > 0,
            other => per_of(other) == Some(Per::Series),
        };
        if !by_place {
            return Err(format!("of is `{}`, which is no key; keys are {KEYS}", kind_name(of)));
        }
        let there = TablePlan {
            source: RowSource::Generated { series, period_ns: self.period_ns, events: None },
            stream: stream.to_string(),
            columns: Vec::new(),
            ..self.table.clone()
        };
        let there = Setting::new(&there, self.seed, self.epoch_ns)?;
        compile(&there, &[stream, column]).map_err(|e| format!("of: {e}"))
    }
}

fn choice(ty: LogicalType, values: &[Json], weights: &[f64], draw: Draw) -> Result<TextGenerator> {
    let alias = alias_of(values.len(), weights)?;
    let text = |value: &Json| match value.as_str() {
        Some(text) => one_form(ty, text),
        None => Err("values has one that is no text".into()),
    };
    let texts = values.iter().map(text).collect::<Result<_>>()?;
    Ok(TextGenerator::Choice { int_generator: IntGenerator::Choice { draw, alias, from: 0 }, texts })
}

fn between(ty: LogicalType, from: &str, to: &str, draw: Draw) -> Result<TextGenerator> {
    let counted = ty.forms().and_then(|forms| forms.counted.as_ref());
    let counted = counted.ok_or_else(|| format!("values of type {} have no order", ty.name()))?;
    let number = |name: &str, text: &str| {
        (counted.number)(text.as_bytes()).ok_or_else(|| format!("{name} is {text:?}; {}", counted.what))
    };
    let (from, to) = (number("from", from)?, number("to", to)?);
    if from > to {
        return Err("from is a later value than to".into());
    }
    Ok(TextGenerator::Between { draw, from, range: (to - from) as u64 + 1, ty })
}

/// The least length of a text, and how many lengths there are.
fn lengths(min_bytes: u32, max_bytes: u32) -> Result<(u64, u64)> {
    if min_bytes > max_bytes || max_bytes > 1 << 24 {
        return Err(format!("min_bytes is {min_bytes} and max_bytes {max_bytes}; in order, up to 16 MiB"));
    }
    Ok((u64::from(min_bytes), u64::from(max_bytes - min_bytes) + 1))
}

/// The same of parts of a document.
fn in_order(what: &str, least: u32, most: u32, limit: u32) -> Result<(u64, u64)> {
    match least <= most && most <= limit {
        true => Ok((u64::from(least), u64::from(most - least) + 1)),
        false => Err(format!("min_{what} is {least} and max_{what} {most}; in order, up to {limit}")),
    }
}

/// A text that a study gives, as the type has it.
fn one_form(ty: LogicalType, text: &str) -> Result<Vec<u8>> {
    let Some(forms) = ty.forms() else { return Ok(text.into()) };
    let mut form = Vec::new();
    (forms.push)(text.as_bytes(), &mut form).ok_or_else(|| format!("{text:?} is not {}", ty.entry().one))?;
    Ok(form)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::plan::TablePlan;
    use crate::rows::{value_text, RowGen};

    fn table(ty: &str, gen: serde_json::Value) -> TablePlan {
        let column = json!({"name": "c", "type": ty, "wire": "", "gen": gen});
        let source = json!({"kind": "generated", "series": 1, "period_ns": 1});
        serde_json::from_value(json!({"name": "t", "stream": "t", "columns": [column], "source": source}))
            .unwrap()
    }

    #[test]
    fn a_text_that_a_study_gives_becomes_the_one_form_of_its_type() {
        let id = "00112233-4455-6677-8899-AABBCCDDEEFF";
        for gen in [json!({"kind": "constant", "value": id}), json!({"kind": "categorical", "values": [id]})]
        {
            let rows = RowGen::new(&table("uuid", gen.clone()), 1, 0).unwrap();
            assert_eq!(value_text(&rows.value(0, 0)), id.to_lowercase());
            let said = RowGen::new(&table("date", gen), 1, 0).err().expect("no date").to_string();
            assert!(said.contains("is not a date"), "{said}");
        }
    }

    #[test]
    fn values_between_two_are_all_there_and_no_others() {
        let gen = json!({"kind": "between", "from": "2024-02-28", "to": "2024-03-01"});
        let rows = RowGen::new(&table("date", gen), 1, 0).unwrap();
        let found: std::collections::BTreeSet<String> =
            (0..100).map(|row| value_text(&rows.value(row, 0))).collect();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["2024-02-28", "2024-02-29", "2024-03-01"]);
        for (from, to, why) in
            [("2024-02-30", "2024-03-01", "from is"), ("2024-03-01", "2024-02-28", "later")]
        {
            let gen = json!({"kind": "between", "from": from, "to": to});
            let said = RowGen::new(&table("date", gen), 1, 0).err().expect("no days").to_string();
            assert!(said.contains(why), "{said}");
        }
    }
}
