//! A batch stored: all of its rows or none.

use rusqlite::Connection;

use super::failure::Failure;
use super::statement::Statement;
use inrush_rows::rows::Columns;

pub struct Transaction {
    pub begin: Statement,
    pub commit: Statement,
    pub rollback: Statement,
}

/// All rows or none. The lock is taken at the start: a transaction that grows into a writer may be refused half-way.
/// A transaction that was begun before is ended by its caller.
pub fn insert(
    open: &Connection,
    transaction: &mut Transaction,
    sizes: &mut [(usize, Statement)],
    columns: &Columns,
) -> Result<(), Failure> {
    if !open.is_autocommit() {
        return insert_rows(sizes, columns);
    }
    transaction.begin.run()?;
    let mut begun = Begun { transaction, is_committed: false };
    insert_rows(sizes, columns)?;
    begun.commit()
}

/// A transaction that is rolled back where it was not committed: after an error, and after a panic, of which the next call
/// of the session would take it for one that its caller had begun.
struct Begun<'a> {
    transaction: &'a mut Transaction,
    is_committed: bool,
}

impl Begun<'_> {
    fn commit(&mut self) -> Result<(), Failure> {
        self.transaction.commit.run()?;
        self.is_committed = true;
        Ok(())
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if !self.is_committed {
            // An error may have ended the transaction already: then there is nothing to roll back.
            let _ = self.transaction.rollback.run();
        }
    }
}

fn insert_rows(sizes: &mut [(usize, Statement)], columns: &Columns) -> Result<(), Failure> {
    let mut row = 0;
    for (rows, statement) in sizes {
        while row + *rows <= columns.rows {
            statement.bind_rows(columns, row, *rows)?;
            statement.run()?;
            row += *rows;
        }
    }
    Ok(())
}
