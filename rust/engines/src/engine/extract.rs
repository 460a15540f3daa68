//! Rows of a call of kind `extract`, on their way from the wire to the driver.

use super::shared::{are_many_bytes, clear};
use super::{Context, OpId};
use inrush_rows::error::Error;
use inrush_rows::plan::OpPlan;
use inrush_rows::rows::{Column, Columns};

/// Rows are handed over so many at a time, where the wire does not say: they stay in a near cache.
pub const BATCH_ROWS: usize = 4096;

/// Looks at rows while they come.
pub trait Sink {
    /// The first row has come.
    fn first(&mut self);
    /// More rows, in the order in which they came. They are gone afterwards.
    fn rows(&mut self, batch: &Columns);
}

/// One batch that is used again and again: memory does not grow with the rows of an answer.
pub struct Extraction<'a> {
    /// Rows that were not handed over yet; a wire appends to them.
    pub batch: &'a mut Columns,
    sink: &'a mut dyn Sink,
    /// Columns of texts and lists.
    varying: Vec<usize>,
    rows: u64,
    has_come: bool,
}

impl<'a> Extraction<'a> {
    pub fn new(batch: &'a mut Columns, sink: &'a mut dyn Sink) -> Extraction<'a> {
        clear(batch);
        let varying = batch.varying();
        Extraction { batch, sink, varying, rows: 0, has_come: false }
    }

    /// To be called when rows were added: hands them over where they are many.
    #[inline]
    pub fn added(&mut self) {
        if !self.has_come && self.batch.rows > 0 {
            self.has_come = true;
            self.sink.first();
        }
        if self.batch.rows >= BATCH_ROWS || are_many_bytes(self.batch, &self.varying) {
            self.hand_over();
        }
    }

    /// The same of rows that are handed over however few they are.
    pub fn came(&mut self) {
        self.added();
        if self.batch.rows > 0 {
            self.hand_over();
        }
    }

    /// Hands over the rest; how many rows it was in all.
    pub fn end(&mut self) -> u64 {
        self.came();
        self.rows
    }

    #[inline(never)]
    fn hand_over(&mut self) {
        self.rows += self.batch.rows as u64;
        self.sink.rows(self.batch);
        clear(self.batch);
    }
}

/// The columns of the answers of `op`, without rows. Errors: it has neither a range nor a dump.
pub fn answer_columns(ctx: &Context, op: OpId) -> Result<Columns, Error> {
    let plan = ctx.op(op);
    let refuse = |why: &str| Error::Plan(format!("operation {}: {why}", plan.name));
    let table = |at: usize| ctx.plan.tables.get(at).ok_or_else(|| refuse("there is no such table"));
    if let Some(dump) = &plan.dump {
        return Ok(Columns::of(table(dump.table)?));
    }
    let range = plan.range.as_ref().ok_or_else(|| refuse("an extract asks for a range or is a dump"))?;
    let table = table(range.table)?;
    let column = |name: &String| {
        let found = table.columns.iter().find(|c| &c.name == name);
        found
            .map(|c| Column::new(c.name.clone(), c.ty))
            .ok_or_else(|| refuse(&format!("{} has no column {name}", table.name)))
    };
    Ok(Columns::new(0, range.columns.iter().map(column).collect::<Result<_, _>>()?))
}

/// Rows that a cursor fetches at a time.
pub fn fetch_rows(op: &OpPlan) -> u32 {
    const FETCH_ROWS: u32 = 10_000;
    let said = match (&op.range, &op.dump) {
        (Some(range), _) => range.fetch_rows,
        (None, dump) => dump.as_ref().and_then(|dump| dump.fetch_rows),
    };
    said.unwrap_or(FETCH_ROWS)
}

/// Errors: this way out is none of the engine's.
pub fn check_way(ctx: &Context, op: OpId, engine: &str, ways: &[&str]) -> Result<(), Error> {
    let plan = ctx.op(op);
    if ways.contains(&plan.method.as_str()) {
        return Ok(());
    }
    let (name, method, all) = (&plan.name, &plan.method, ways.join(", "));
    Err(Error::Plan(format!("operation {name}: {engine} has no way out {method:?}; it has {all}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use inrush_rows::plan::LogicalType;
    use inrush_rows::rows::Values;

    struct Handed(Vec<usize>);

    impl Sink for Handed {
        fn first(&mut self) {}

        fn rows(&mut self, rows: &Columns) {
            self.0.push(rows.rows);
        }
    }

    #[test]
    fn wide_rows_are_handed_over_by_their_bytes() {
        let mut batch =
            Columns::new(0, vec![Column::new("k", LogicalType::I64), Column::new("t", LogicalType::Text)]);
        let mut handed = Handed(Vec::new());
        let mut extraction = Extraction::new(&mut batch, &mut handed);
        let wide = vec![b'x'; 33 << 20];
        for _ in 0..5 {
            let Values::Text(texts) = &mut extraction.batch.columns[1].values else { panic!("texts") };
            texts.push(&wide);
            extraction.batch.rows += 1;
            extraction.added();
        }
        assert_eq!(extraction.end(), 5);
        assert_eq!(handed.0, [2, 2, 1]);
    }
}
