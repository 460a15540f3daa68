//! Proofs of a table that the test holds: what was lost, doubled, changed, or is there without an answer.

use std::sync::Arc;

use inrush_engines::engine::{Answer, Caps, Done, Ns, Submit, Ticket, Work};
use inrush_rows::plan::RowSource;
use inrush_rows::rows::Checksums;

use super::*;
use crate::tables::ProofRow;

const ROWS: u64 = 10;

/// An engine whose table has these rows of the generator, by their numbers; one of them with another value.
#[derive(Clone)]
struct Held {
    plan: Arc<RunPlan>,
    items: Vec<ChecksumItem>,
    rows: Vec<u64>,
    changed: Option<u64>,
    inserts_whole: bool,
}

impl Held {
    fn each(&self, each: &mut dyn FnMut(&Columns)) {
        let generator =
            RowGen::new(&self.plan.tables[0], self.plan.seed, self.plan.epoch_ns).expect("a table");
        let mut columns = generator.columns(1);
        for row in &self.rows {
            generator.fill(*row, 1, &mut columns);
            if self.changed == Some(*row) {
                let inrush_rows::rows::Values::I64(values) = &mut columns.columns[1].values else {
                    unreachable!("v is a number")
                };
                values[0] += 1;
            }
            each(&columns);
        }
    }
}

impl Engine for Held {
    fn caps(&self) -> Caps {
        Caps { inserts_whole: self.inserts_whole, ..Caps::default() }
    }

    fn open(&self, _: &[OpId]) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(self.clone()))
    }

    fn control(&self, _: &str, _: u64) -> Result<Answer, Error> {
        let mut sums = Checksums::new(&self.items, &Columns::of(&self.plan.tables[0]))?;
        self.each(&mut |columns| sums.add(columns));
        let figures = sums.sums().iter().map(|sum| Value::Text(sum.to_string())).collect();
        Ok(Answer { names: [].into(), rows: vec![figures] })
    }
}

impl Session for Held {
    fn submit(&mut self, _: Ticket, _: OpId, _: Work<'_>) -> Submit {
        unreachable!("a proof calls nothing")
    }

    fn poll(&mut self, _: Ns, _: &mut Vec<Done>) {}

    fn scan(&mut self, _: &Statement, _: &Columns, each: &mut dyn FnMut(&Columns)) -> Result<u64, Error> {
        Held::each(self, each);
        Ok(self.rows.len() as u64)
    }

    fn close(self: Box<Self>) -> Result<(), Error> {
        Ok(())
    }
}

/// A table in which rows 0 and 5 are equal, 1 and 6, and so on, if `repeats`.
fn plan(repeats: bool) -> Arc<RunPlan> {
    let v = match repeats {
        true => serde_json::json!({"kind": "cycle", "from": 0, "to": 4}),
        false => serde_json::json!({"kind": "sequence", "start": 100, "step": 3}),
    };
    let k = match repeats {
        true => v.clone(),
        false => serde_json::json!({"kind": "sequence", "start": 0, "step": 1}),
    };
    let table = serde_json::json!({"name": "t", "stream": "t", "source": {"kind": "generated", "series": 1, "period_ns": 1},
        "columns": [{"name": "k", "type": "i64", "wire": "", "gen": k}, {"name": "v", "type": "i64", "wire": "", "gen": v}]});
    let target = serde_json::from_value(serde_json::json!({"engine": "null", "url": ""})).expect("a target");
    Arc::new(RunPlan::of_target(target, vec![serde_json::from_value(table).expect("a table")]))
}

/// What a proof says of its items.
#[derive(Debug)]
struct Proven(Vec<ProofRow>);

impl Proven {
    fn broken(&self) -> Vec<&str> {
        self.0.iter().filter(|row| !row.holds).map(|row| row.item.as_str()).collect()
    }

    fn items(&self) -> Vec<&str> {
        self.0.iter().map(|row| row.item.as_str()).collect()
    }

    fn of(&self, item: &str) -> (&str, &str) {
        let row = self
            .0
            .iter()
            .find(|row| row.item == item)
            .unwrap_or_else(|| panic!("{item}: {:?}", self.items()));
        (&row.expected, &row.found)
    }
}

/// What a table is found to hold beside the rows 0 to 9. whole: by the checksum query too; else by the read-back alone.
fn proven(held: &Held, whole: bool, read_back: bool, unanswered: &[(u64, u64)]) -> Proven {
    let proof = serde_json::json!({"table": 0, "first_row": 0, "rows": ROWS,
        "screen": if whole { "sums" } else { "" }, "read_back": if read_back { "rows" } else { "" },
        "items": if whole { serde_json::to_value(&held.items).expect("items") } else { serde_json::json!([]) }});
    let proof: ProofPlan = serde_json::from_value(proof).expect("a proof");
    let insert = |&(first_row, rows)| Unanswered { first_row, rows, of_files: None };
    let unanswered: Vec<Unanswered> = unanswered.iter().map(insert).collect();
    let of = FromSessions { unanswered: &unanswered, ..FromSessions::default() };
    Proven(prove(&held.plan, held, &proof, of, &mut Expectations::default(), 1).expect("it answers"))
}

fn table(rows: impl IntoIterator<Item = u64>) -> Held {
    let items = serde_json::json!([{"kind": "rows"}, {"kind": "sum_low", "column": "v"}]);
    let items = serde_json::from_value(items).expect("items");
    Held { plan: plan(false), items, rows: rows.into_iter().collect(), changed: None, inserts_whole: true }
}

#[test]
fn a_table_that_has_every_row_once_is_proven_by_each_of_its_figures() {
    let found = proven(&table((0..ROWS).rev()), true, true, &[]);
    assert_eq!((found.items(), found.broken().len()), (vec!["rows", "sum_low(v)", "read_back"], 0));
    assert_eq!(found.of("sum_low(v)"), ("1135", "1135"));
    let range = proven(&table(0..ROWS), false, true, &[]);
    assert_eq!((range.items(), range.broken().len()), (vec!["read_back(0..10)"], 0));
}

#[test]
fn a_row_that_is_lost_doubled_or_changed_is_named() {
    let lost = proven(&table((0..ROWS).filter(|row| *row != 3)), true, true, &[]);
    assert_eq!(lost.broken(), ["rows", "sum_low(v)", "read_back", "difference"]);
    let (missing, foreign) = lost.of("difference");
    assert!(missing.starts_with("1 rows missing, first row 3: ") && missing.contains("109"), "{missing}");
    assert_eq!(foreign, NONE_FOREIGN);
    let doubled = proven(&table((0..ROWS).chain([7])), false, true, &[]);
    let (missing, foreign) = doubled.of("difference");
    assert!(
        missing == NONE_MISSING && foreign.starts_with("1 foreign rows, first: ") && foreign.contains("121")
    );
    let changed = proven(&Held { changed: Some(4), ..table(0..ROWS) }, false, true, &[]);
    let (missing, foreign) = changed.of("difference");
    assert!(
        missing.starts_with("1 rows missing, first row 4: ") && foreign.contains("113"),
        "{missing}; {foreign}"
    );
}

#[test]
fn equal_rows_are_each_there_or_missing() {
    let repeated = |rows: &[u64]| Held { plan: plan(true), ..table(rows.iter().copied()) };
    assert!(proven(&repeated(&[0, 1, 2, 3, 4, 0, 1, 2, 3, 4]), true, true, &[]).broken().is_empty());
    let lost = proven(&repeated(&[1, 2, 3, 4, 1, 2, 3, 4]), false, true, &[]);
    assert!(lost.of("difference").0.starts_with("2 rows missing, first row "), "{:?}", lost.of("difference"));
}

#[test]
fn an_insert_without_an_answer_is_there_whole_or_not_at_all() {
    let rows = |there: &[u64]| table([0, 1, 5, 6, 7, 8, 9].into_iter().chain(there.iter().copied()));
    for (there, said) in [(&[2, 3, 4][..], "whole"), (&[], "none")] {
        let found = proven(&rows(there), true, true, &[(2, 3)]);
        assert_eq!(found.items(), ["acknowledged", "unanswered(2..5)", "read_back", "rows", "sum_low(v)"]);
        assert_eq!((found.broken().len(), found.of("unanswered(2..5)").1), (0, said));
        assert_eq!(found.of("acknowledged"), ("7", "7"));
        // Between repetitions only what does not hold is said, beside the read-back.
        assert_eq!(proven(&rows(there), false, true, &[(2, 3)]).items(), ["read_back(0..10)"]);
        // Of a table that is too large to be read, by the sums alone.
        let summed = proven(&rows(there), true, false, &[(2, 3)]);
        assert_eq!((summed.broken().len(), summed.of("unanswered(2..5)").1), (0, said));
    }
    let part = rows(&[3]);
    let found = proven(&part, true, true, &[(2, 3)]);
    assert_eq!(
        (found.broken(), found.of("unanswered(2..5)").1),
        (vec!["unanswered(2..5)", "difference"], "in part, 1 of 3 rows")
    );
    assert_eq!(found.of("difference"), (NONE_MISSING, NONE_FOREIGN), "each of them may be missing");
    // Where the server keeps rows one by one, that is what may be.
    assert!(proven(&Held { inserts_whole: false, ..part }, true, true, &[(2, 3)]).broken().is_empty());
    let twice = proven(&rows(&[2, 3, 4, 3]), true, true, &[(2, 3)]);
    assert_eq!(twice.of("unanswered(2..5)").1, "whole, and 1 rows more than once");
    assert!(twice.broken().contains(&"unanswered(2..5)"));
}

#[test]
fn a_row_that_was_acknowledged_is_missed_beside_inserts_without_an_answer() {
    let lost = proven(&table([0, 1, 2, 3, 4, 5, 6, 7, 8]), true, true, &[(2, 3)]);
    assert_eq!(lost.of("acknowledged"), ("7", "6"));
    let (missing, foreign) = lost.of("difference");
    assert!(missing.starts_with("1 rows missing, first row 9: "), "{missing}");
    assert_eq!(foreign, NONE_FOREIGN);
    let between = proven(&table([0, 1, 2, 3, 4, 5, 6, 7, 8]), false, true, &[(2, 3)]);
    assert_eq!(between.broken(), ["acknowledged", "read_back(0..10)", "difference"]);
    let summed = proven(&table([0, 1, 2, 3, 4, 5, 6, 7, 8]), true, false, &[(2, 3)]);
    assert_eq!(summed.of("unanswered").1, "other rows");
}

/// What rows of files add up to.
fn added(held: &Held) -> Expected {
    let mut expected = Expected::empty(&held.items, &Columns::of(&held.plan.tables[0])).expect("items");
    held.each(&mut |columns| expected.add(columns, &mut Vec::new()));
    expected
}

#[test]
fn rows_of_files_whose_insert_had_no_answer_are_found_by_the_digest_or_the_sums_of_all() {
    let stored = added(&table([0, 1, 5, 6, 7, 8, 9]));
    let open = Unanswered { first_row: 2, rows: 3, of_files: Some(Box::new(added(&table([2, 3, 4])))) };
    let prove = |held: &Held, read_back: &str, open: &Unanswered| {
        let proof = serde_json::json!({"table": 0, "first_row": 0, "rows": 7, "screen": "sums", "read_back": read_back,
            "items": serde_json::to_value(&held.items).expect("items")});
        let proof: ProofPlan = serde_json::from_value(proof).expect("a proof");
        let unanswered =
            [Unanswered { first_row: open.first_row, rows: open.rows, of_files: open.of_files.clone() }];
        let of = FromSessions { stored: Some(&stored), unanswered: &unanswered, ..FromSessions::default() };
        Proven(
            super::prove(&held.plan, held, &proof, of, &mut Expectations::default(), 1).expect("it answers"),
        )
    };
    for read_back in ["rows", ""] {
        for (rows, said) in [((0..ROWS).collect::<Vec<_>>(), "whole"), (vec![0, 1, 5, 6, 7, 8, 9], "none")] {
            let found = prove(&table(rows), read_back, &open);
            assert_eq!(
                (found.broken().len(), found.of("unanswered(2..5)").1),
                (0, said),
                "{read_back}: {found:?}"
            );
        }
        let part = prove(&table([0, 1, 3, 5, 6, 7, 8, 9]), read_back, &open);
        assert_eq!(part.of("unanswered").1, "other rows", "{read_back}");
    }
    // Of one that was not kept nothing can be said.
    let unknown = prove(&table(0..ROWS), "rows", &Unanswered { of_files: None, ..open });
    assert_eq!((unknown.of("unanswered").1, unknown.broken()), ("1 inserts", vec!["unanswered"]));
}

#[test]
fn some_series_are_read_back_and_nothing_is_summed_of_them() {
    let mut plan = (*plan(false)).clone();
    let RowSource::Generated { series, .. } = &mut plan.tables[0].source else { unreachable!() };
    *series = 5;
    let plan = Arc::new(plan);
    let held = |rows: &[u64]| Held { plan: plan.clone(), ..table(rows.iter().copied()) };
    let prove = |held: &Held, items: serde_json::Value, open: &[Unanswered]| {
        let proof = serde_json::json!({"table": 0, "first_row": 0, "rows": ROWS, "screen": "", "read_back": "rows",
            "items": items, "series": {"first": 1, "count": 2}});
        let proof: ProofPlan = serde_json::from_value(proof).expect("a proof");
        let of = FromSessions { unanswered: open, ..FromSessions::default() };
        super::prove(&held.plan, held, &proof, of, &mut Expectations::default(), 1).map(Proven)
    };
    let none = || serde_json::json!([]);
    let whole = prove(&held(&[1, 2, 6, 7]), none(), &[]).expect("it answers");
    assert_eq!((whole.items(), whole.broken().len()), (vec!["read_back(series 1..3)"], 0));
    let lost = prove(&held(&[1, 2, 7]), none(), &[]).expect("it answers");
    assert!(lost.of("difference").0.starts_with("1 rows missing, first row 6: "), "{lost:?}");
    let summed = prove(&held(&[1, 2, 6, 7]), serde_json::json!([{"kind": "rows"}]), &[]);
    assert!(summed
        .expect_err("a plan that is none")
        .to_string()
        .contains("the checksum query is of the whole"));
    // Beside an insert without an answer its rows may be missing, no other may, and none may be foreign.
    let open = || [Unanswered { first_row: 6, rows: 1, of_files: None }];
    for (rows, holds) in
        [(&[1, 2, 6, 7][..], true), (&[1, 2, 7], true), (&[1, 6, 7], false), (&[1, 2, 6, 7, 7], false)]
    {
        let found = prove(&held(rows), none(), &open()).expect("it answers");
        assert_eq!(
            (found.items(), found.broken().is_empty()),
            (vec!["difference"], holds),
            "{rows:?}: {found:?}"
        );
    }
}
