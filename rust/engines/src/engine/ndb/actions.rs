//! Statements without a language: tables, marks, and what is asked of them.

use std::sync::Arc;

use super::address::Address;
use super::connection::{Connection, Opened, Refused};
use super::{library, management};
use crate::engine::Answer;
use inrush_rows::encode::record::Record;
use inrush_rows::error::Error;
use inrush_rows::plan::{ColumnPlan, LogicalType, NdbAction, NdbColumn, RowCall, RowSource, TablePlan};
use inrush_rows::rows::Value;

/// The table that says a database is inrush's: no row, or one with its holder.
const MARK: &str = "inrush_mark";
/// Its columns.
const MARK_KEY: &str = "id";
const HOLDER: &str = "holder";
const HOLDER_BYTES: u32 = 1000;
/// No row is looked for longer than this, ms.
const WAIT_MS: i32 = 10_000;

/// What `action` does, and what it answers. text: the statement, for messages.
pub fn done(
    connection: &Arc<Connection>,
    address: &Address,
    action: &NdbAction,
    text: &str,
) -> Result<Answer, Error> {
    let failed = |refused: Refused| Error::Statement {
        target: address.to_string(),
        statement: text.to_owned(),
        message: refused.message,
    };
    let on = On { connection, address };
    match action {
        NdbAction::CreateTable { table, columns } => on.create(table, columns).map_err(failed),
        NdbAction::DropTable { table } => on.drop_table(table).map_err(failed),
        NdbAction::Mark { database, holder } => on.mark(database, holder.as_deref()).map_err(failed),
        NdbAction::Holder { database } => on.holder(database).map_err(failed),
        NdbAction::DropDatabase { database, force } => on.drop_database(database, *force).map_err(failed),
        NdbAction::Foreign { databases } => on.foreign(databases).map_err(failed),
        NdbAction::Count { table } => on.count(table).map_err(failed),
        NdbAction::Sizes { tables } => on.sizes(tables).map_err(failed),
        NdbAction::Version {} => Ok(pairs([("version".to_owned(), management::version(address)?)])),
        NdbAction::Settings {} => on.settings(),
        NdbAction::Scan { .. } => Err(failed(Refused::said("rows are read by a session".into()))),
    }
}

struct On<'a> {
    connection: &'a Arc<Connection>,
    address: &'a Address,
}

impl On<'_> {
    fn create(&self, table: &str, columns: &[NdbColumn]) -> Result<Answer, Refused> {
        let options = &self.address.options;
        let name = self.address.parts(table);
        self.connection.create_table(name, columns, options.by_first, options.logging)?;
        Ok(Answer::default())
    }

    fn drop_table(&self, table: &str) -> Result<Answer, Refused> {
        let name = self.address.parts(table);
        if self.is_marked(name.0)? {
            self.connection.drop_table(name)?;
        }
        Ok(Answer::default())
    }

    fn is_marked(&self, database: &str) -> Result<bool, Refused> {
        Ok(self.connection.tables()?.iter().any(|(of, name)| of == database && name == MARK))
    }

    fn mark(&self, database: &str, holder: Option<&str>) -> Result<Answer, Refused> {
        let wire = format!("Longvarbinary({HOLDER_BYTES})");
        let column = |name: &str, wire: &str, key| NdbColumn {
            name: name.into(),
            wire: wire.into(),
            key,
            nullable: false,
        };
        let columns = [column(MARK_KEY, "Unsigned", true), column(HOLDER, &wire, false)];
        self.connection.create_table((database, MARK), &columns, false, true)?;
        if let Some(holder) = holder {
            let (session, record, access) = self.marks(database)?;
            let mut image = vec![0u8; record.bytes as usize];
            for (field, value) in record.fields.iter().zip([Value::I64(0), Value::Text(holder.into())]) {
                field.write(&value, &mut image).map_err(Refused::said)?;
            }
            insert(&session, access, &image)?;
        }
        Ok(Answer::default())
    }

    fn holder(&self, database: &str) -> Result<Answer, Refused> {
        let (session, record, access) = self.marks(database)?;
        let mut rows = Vec::new();
        session.scan(access, record.bytes as usize, |image| {
            let mut row = vec![Value::Null; record.fields.len()];
            record.read(image, &mut row);
            rows.extend(row.pop().map(|holder| vec![holder]));
        })?;
        match rows.is_empty() {
            true => Err(Refused::said(format!("{database}.{MARK} has no holder"))),
            false => Ok(Answer { names: [HOLDER.to_owned()].into(), rows }),
        }
    }

    /// A session on the table of the mark.
    fn marks(&self, database: &str) -> Result<(Opened, Record, i32), Refused> {
        let column = |name: &str, ty, wire: String| ColumnPlan {
            name: name.into(),
            ty,
            wire,
            null_ppm: 0,
            not_finite: None,
            gen: None,
        };
        let columns = vec![
            column(MARK_KEY, LogicalType::U32, "Unsigned".into()),
            column(HOLDER, LogicalType::Text, format!("Longvarbinary({HOLDER_BYTES})")),
        ];
        let source = RowSource::Generated { series: 1, period_ns: 1, events: None };
        let table =
            TablePlan { name: MARK.into(), stream: MARK.into(), columns, source, identity: Vec::new() };
        let mut record = Record::of(&table).map_err(|e| Refused::said(e.to_string()))?;
        let session = self.session(database)?;
        let access = session.access(MARK, &mut record, &[0, 1])?;
        Ok((session, record, access))
    }

    fn session(&self, database: &str) -> Result<Opened, Refused> {
        self.connection.open_session(database, 2, 1).map_err(|e| Refused::said(e.to_string()))
    }

    fn drop_database(&self, database: &str, force: bool) -> Result<Answer, Refused> {
        let tables = self.connection.tables()?;
        let mut own: Vec<&String> =
            tables.iter().filter(|(of, _)| of == database).map(|(_, name)| name).collect();
        let is_marked = own.iter().any(|name| *name == MARK);
        if !is_marked && !force {
            return Ok(Answer::default());
        }
        // The mark goes last: what is left of a database that is dropped in part is still inrush's.
        own.sort_by_key(|name| *name == MARK);
        for name in own {
            self.connection.drop_table((database, name))?;
        }
        Ok(Answer::default())
    }

    fn foreign(&self, databases: &[String]) -> Result<Answer, Refused> {
        let tables = self.connection.tables()?;
        let has = |database: &String, mark: bool| {
            tables.iter().any(|(of, name)| of == database && (!mark || name == MARK))
        };
        let foreign = databases.iter().filter(|database| has(database, false) && !has(database, true));
        let rows = foreign.map(|database| vec![Value::Text(database.clone())]).collect();
        Ok(Answer { names: ["name".to_owned()].into(), rows })
    }

    /// Rows are read, and not asked for: a count that a fragment keeps is no proof.
    fn count(&self, table: &str) -> Result<Answer, Refused> {
        let (database, name) = self.address.parts(table);
        let session = self.session(database)?;
        // Of no column is a value read.
        let mut nothing = Record { fields: Vec::new(), bytes: 8 };
        let access = session.access(name, &mut nothing, &[])?;
        let mut rows = 0u64;
        session.scan(access, 8, |_| rows += 1)?;
        Ok(Answer { names: ["rows".to_owned()].into(), rows: vec![vec![Value::U64(rows)]] })
    }

    fn sizes(&self, tables: &[String]) -> Result<Answer, Refused> {
        let mut found = Vec::new();
        for table in tables {
            let [fixed, variable] = self.connection.sizes(self.address.parts(table))?;
            found.push((format!("table:{table}"), (fixed + variable).to_string()));
        }
        Ok(pairs(found))
    }

    fn settings(&self) -> Result<Answer, Error> {
        let nodes = management::nodes(self.address)?;
        let version = management::version(self.address)?;
        // Every node of a group has the same rows.
        let replicas = nodes.started.checked_div(nodes.groups).unwrap_or(0);
        let of_cluster = [
            ("version".to_owned(), version),
            ("data_nodes".to_owned(), nodes.started.to_string()),
            ("data_nodes_configured".to_owned(), self.connection.data_nodes().to_string()),
            ("node_groups".to_owned(), nodes.groups.to_string()),
            ("replicas".to_owned(), replicas.to_string()),
        ];
        Ok(pairs(of_cluster.into_iter().chain(self.address.options.said.clone())))
    }
}

/// One row, at once.
fn insert(session: &Opened, access: i32, image: &[u8]) -> Result<(), Refused> {
    let shim = session.connection.shim;
    let (mut why, mut absent) = (library::Failure::none(), [0u8; 1]);
    let mut ended: *const library::Ended = std::ptr::null();
    // SAFETY: the image and the byte outlive the call, which has ended when this returns or the session is leaked.
    let found = unsafe {
        let does = library::does(RowCall::Insert);
        let (keys, rows) = (image.as_ptr(), std::ptr::null_mut());
        let end = (shim.prepare)(
            session.handle,
            access,
            does,
            0,
            1,
            keys,
            rows,
            absent.as_mut_ptr(),
            1,
            0,
            &mut why,
        );
        if end != 0 {
            return Err(Refused::of(&why));
        }
        (shim.send)(session.handle, 1);
        match (shim.poll)(session.handle, WAIT_MS, 1, &mut ended) {
            1.. => *ended,
            _ => return Err(Refused::said("the cluster did not answer".into())),
        }
    };
    match found.code {
        0 => Ok(()),
        code => Err(Refused {
            code,
            classification: found.classification,
            message: shim.said(session.handle, code),
        }),
    }
}

fn pairs(of: impl IntoIterator<Item = (String, String)>) -> Answer {
    let rows = of.into_iter().map(|(name, value)| vec![Value::Text(name), Value::Text(value)]);
    Answer { names: ["name".to_owned(), "value".to_owned()].into(), rows: rows.collect() }
}
