//! Inserts without an answer, distinguished by sums: some of them, and all rows that were acknowledged, add up to what
//! was found.

use super::{item, Table, Unanswered, WHOLE_OR_NONE};
use crate::proof::{checksum_figures, compared, digest_text, read_digest, screened, Expected};
use crate::tables::ProofRow;
use inrush_engines::engine::Engine;
use inrush_rows::error::Error;
use inrush_rows::plan::{ProofPlan, RunPlan};
use inrush_rows::rows::{Checksums, Digest};

/// Every choice among so many inserts is tried.
const MOST_INSERTS: usize = 20;

/// Of a table that is too large to be read back: the checksum query decides.
pub(super) fn of_generated(table: &Table<'_>, limit_ns: u64) -> Result<Vec<ProofRow>, Error> {
    let mut acknowledged = table.empty()?;
    table.each_acknowledged(|columns| acknowledged.sums.add(columns));
    acknowledged.digest.rows = table.acknowledged();
    let mut inserts = Vec::with_capacity(table.unanswered.len());
    for batch in table.unanswered {
        let mut one = table.empty()?;
        table.each(batch.range(), |columns| one.sums.add(columns));
        one.digest.rows = batch.rows;
        inserts.push(one);
    }
    let figures = checksum_figures(table.engine, table.proof, limit_ns)?;
    let added =
        Added { name: table.name(), proof: table.proof, batches: table.unanswered, acknowledged, inserts };
    Ok(added.proven(&figures, None))
}

/// Of a table with rows from files: what is read back decides, by its digest; without it the checksum query.
pub(super) fn of_files(
    plan: &RunPlan,
    engine: &dyn Engine,
    proof: &ProofPlan,
    stored: &Expected,
    batches: &[Unanswered],
    limit_ns: u64,
) -> Result<Vec<ProofRow>, Error> {
    let figures = checksum_figures(engine, proof, limit_ns)?;
    let found = match proof.read_back.is_empty() {
        true => None,
        false => {
            let (digest, session) = read_digest(plan, engine, proof)?;
            session.close()?;
            Some(digest)
        }
    };
    let inserts = batches.iter().filter_map(|batch| batch.of_files.as_deref().cloned()).collect();
    let name = &plan.tables[proof.table].name;
    let added = Added { name, proof, batches, acknowledged: stored.clone(), inserts };
    Ok(added.proven(&figures, found))
}

struct Added<'a> {
    name: &'a str,
    proof: &'a ProofPlan,
    batches: &'a [Unanswered],
    acknowledged: Expected,
    /// What each of `batches` adds up to.
    inserts: Vec<Expected>,
}

impl Added<'_> {
    /// figures: of the checksum query, as text. found: of what was read back.
    fn proven(&self, figures: &[String], found: Option<Digest>) -> Vec<ProofRow> {
        let many = self.batches.len();
        if many > MOST_INSERTS || self.inserts.len() != many {
            let most =
                format!("at most {MOST_INSERTS} inserts without an answer, to be distinguished by sums");
            return vec![compared(self.name, "unanswered".into(), most, format!("{many} inserts"))];
        }
        let chosen = match found {
            Some(found) => choice(&self.inserts, &self.acknowledged, &|sum: &Expected| sum.digest == found),
            None => {
                choice(&self.inserts, &self.acknowledged, &|sum: &Expected| figures_of(&sum.sums) == figures)
            }
        };
        let mut rows = Vec::new();
        let mut sum = self.acknowledged.clone();
        match &chosen {
            Some(chosen) => {
                for ((batch, one), stored) in self.batches.iter().zip(&self.inserts).zip(chosen) {
                    let is = if *stored { "whole" } else { "none" };
                    let mut row = compared(self.name, item(batch), WHOLE_OR_NONE.into(), is.into());
                    row.holds = true;
                    rows.push(row);
                    if *stored {
                        sum.merge(one);
                    }
                }
                // A choice is one of exact sums: what was acknowledged is there.
                let rows_there = self.acknowledged.digest.rows.to_string();
                let acknowledged = compared(self.name, "acknowledged".into(), rows_there.clone(), rows_there);
                rows.insert(0, acknowledged);
            }
            None => {
                let expected = format!("all acknowledged rows, and of {many} inserts without an answer some");
                rows.push(compared(self.name, "unanswered".into(), expected, "other rows".into()));
            }
        }
        if let Some(found) = found {
            let (expected, found) = (digest_text(&sum.digest), digest_text(&found));
            rows.push(compared(self.name, "read_back".into(), expected, found));
        }
        rows.extend(screened(self.proof, self.name, &sum, figures));
        rows
    }
}

fn figures_of(sums: &Checksums) -> Vec<String> {
    sums.sums().iter().map(i128::to_string).collect()
}

/// Which of `inserts` to add to `sum` so that it fits; the first choice found.
fn choice(inserts: &[Expected], sum: &Expected, fits: &dyn Fn(&Expected) -> bool) -> Option<Vec<bool>> {
    let Some((last, before)) = inserts.split_last() else { return fits(sum).then(Vec::new) };
    let mut with = sum.clone();
    with.merge(last);
    let of = |stored: bool, sum: &Expected| {
        let mut chosen = choice(before, sum, fits)?;
        chosen.push(stored);
        Some(chosen)
    };
    of(false, sum).or_else(|| of(true, &with))
}

#[cfg(test)]
mod tests {
    use super::*;
    use inrush_rows::plan::{ChecksumItem, LogicalType};
    use inrush_rows::rows::{Column, Columns, Values};

    /// Rows with their number as the key; `value` of each.
    fn sums(keys: std::ops::Range<i64>, value: impl Fn(i64) -> i64) -> Expected {
        let column = |name: &str, values: Vec<i64>| {
            let mut column = Column::new(name, LogicalType::I64);
            column.values = Values::I64(values);
            column
        };
        let values = keys.clone().map(value).collect();
        let rows = (keys.end - keys.start) as usize;
        let columns = Columns::new(rows, vec![column("k", keys.collect()), column("v", values)]);
        let items = [
            ChecksumItem::Rows {},
            ChecksumItem::SumLow { column: "k".into() },
            ChecksumItem::Product { key: "k".into(), value: "v".into() },
        ];
        let mut expected = Expected::empty(&items, &columns).expect("sums of integers");
        expected.add(&columns, &mut Vec::new());
        expected
    }

    fn square(k: i64) -> i64 {
        k * k
    }

    /// By sums and by digest, of a hundred acknowledged rows and four inserts of ten.
    fn chosen(found: &[Expected]) -> [Option<Vec<bool>>; 2] {
        let inserts: Vec<Expected> = (0..4).map(|b| sums(100 + b * 10..110 + b * 10, square)).collect();
        let acknowledged = sums(0..100, square);
        let mut there = found[0].clone();
        found[1..].iter().for_each(|part| there.merge(part));
        let by_sums = |sum: &Expected| figures_of(&sum.sums) == figures_of(&there.sums);
        let by_digest = |sum: &Expected| sum.digest == there.digest;
        [choice(&inserts, &acknowledged, &by_sums), choice(&inserts, &acknowledged, &by_digest)]
    }

    #[test]
    fn sums_and_digests_tell_which_inserts_are_there() {
        let acknowledged = || sums(0..100, square);
        let none = Some(vec![false; 4]);
        assert_eq!(chosen(&[acknowledged()]), [none.clone(), none]);
        let two = Some(vec![false, true, false, true]);
        let found = [acknowledged(), sums(110..120, square), sums(130..140, square)];
        assert_eq!(chosen(&found), [two.clone(), two]);
    }

    #[test]
    fn no_choice_explains_rows_that_are_lost_doubled_halved_or_changed() {
        let acknowledged = || sums(0..100, square);
        let wrong = [
            vec![sums(10..100, square)],
            vec![sums(10..100, square), sums(100..110, square)],
            vec![acknowledged(), sums(100..105, square)],
            vec![acknowledged(), sums(100..110, square), sums(100..110, square)],
            vec![acknowledged(), sums(100..110, |k| k * k + i64::from(k == 103))],
            vec![sums(0..100, |k| k * k + i64::from(k == 7)), sums(100..110, square)],
        ];
        for found in wrong {
            assert_eq!(chosen(&found), [None, None]);
        }
    }
}
