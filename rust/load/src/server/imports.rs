//! The imports of a load server: opened for the first of their clients, closed behind the last one.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{json, Value as Json};

use super::{Server, NOT_OPEN};
use crate::import::Import;
use crate::plan::ImportPlan;
use inrush_rows::lock::Unpoisoned;

pub(super) enum Entry {
    /// Being connected, or stored to its end: a client that wants it waits.
    Busy,
    Open {
        import: Arc<Import>,
        guests: usize,
    },
}

impl Server {
    /// The import of that name, opened if `setup` describes it. `Err` in words for the client.
    pub(super) fn join(&self, name: &str, setup: Option<Json>) -> Result<Arc<Import>, String> {
        let plan = setup.map(|setup| self.plan_of(name, setup)).transpose()?;
        let mut imports = self.imports.lock().unpoisoned();
        loop {
            match (imports.get_mut(name), &plan) {
                (Some(Entry::Open { import, .. }), Some(plan)) if !import.placer.plan.is_alike(plan) => {
                    return Err(format!(
                        "import {name} is being loaded with other options; wait for its end"
                    ));
                }
                (Some(Entry::Open { import, guests }), _) => {
                    *guests += 1;
                    return Ok(import.clone());
                }
                (Some(Entry::Busy), _) => {
                    let waited = self.changed.wait_timeout(imports, Duration::from_millis(100));
                    imports = waited.unpoisoned().0;
                    if self.event_sender.stopped() {
                        return Err("the load server is being stopped".into());
                    }
                }
                (None, None) => {
                    let own: Vec<&str> = imports.keys().map(String::as_str).collect();
                    return Err(format!(
                        "the client loads import {name}, the load server {}",
                        own.join(", ")
                    ));
                }
                (None, Some(plan)) => {
                    imports.insert(name.to_owned(), Entry::Busy);
                    drop(imports);
                    let mut becomes = Becomes { server: self, name, entry: None };
                    let opened = Import::open(plan.clone(), self.hash_threads, &self.event_sender);
                    let import = opened.map_err(|e| e.to_string())?;
                    becomes.entry = Some(Entry::Open { import: import.clone(), guests: 1 });
                    return Ok(import);
                }
            }
        }
    }

    /// A client's import on this server's own targets, whatever it calls them.
    fn plan_of(&self, name: &str, setup: Json) -> Result<ImportPlan, String> {
        let serves = self.serves.as_ref().ok_or(NOT_OPEN)?;
        let mut plan: ImportPlan =
            serde_json::from_value(setup).map_err(|e| format!("the client's import cannot be read: {e}"))?;
        if plan.import != name || plan.shards.len() != serves.shards.len() {
            let (theirs, ours) = (plan.shards.len(), serves.shards.len());
            return Err(format!("the client places rows on {theirs} shards, the load server has {ours}"));
        }
        for (shard, target) in plan.shards.iter_mut().zip(&serves.shards) {
            shard.plan.target = target.clone();
        }
        // A copy is on the shard after its own, those of the last on the first.
        for (copy, target) in plan.replicas.iter_mut().zip(serves.shards.iter().cycle().skip(1)) {
            copy.plan.target = target.clone();
        }
        Ok(plan)
    }

    /// The last client to leave waits until its rows are stored; a client that comes meanwhile begins after that.
    fn leave(&self, name: &str) {
        let mut imports = self.imports.lock().unpoisoned();
        let Some(Entry::Open { import, guests }) = imports.get_mut(name) else { return };
        *guests -= 1;
        if *guests > 0 {
            return;
        }
        let import = import.clone();
        imports.insert(name.to_owned(), Entry::Busy);
        drop(imports);
        let _becomes = Becomes { server: self, name, entry: None };
        if let Err(e) = import.close() {
            self.event_sender.send(json!({"event": "note", "text": format!("import {name}: {e}")}));
        }
    }
}

/// A client of an import: it leaves also where its thread broke an assumption, for others would wait for it for ever.
pub(super) struct Guest<'a> {
    pub(super) server: &'a Server,
    pub(super) import: &'a str,
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        self.server.leave(self.import);
    }
}

/// What an import becomes that is busy, being opened or closed: none, however that ended, unless it is open.
struct Becomes<'a> {
    server: &'a Server,
    name: &'a str,
    entry: Option<Entry>,
}

impl Drop for Becomes<'_> {
    fn drop(&mut self) {
        let mut imports = self.server.imports.lock().unpoisoned();
        match self.entry.take() {
            Some(entry) => imports.insert(self.name.to_owned(), entry),
            None => imports.remove(self.name),
        };
        self.server.changed.notify_all();
    }
}
