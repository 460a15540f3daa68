//! The first line of each request: what is the same in all of them, and an id by which a query can be killed.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use super::address::Address;
use crate::engine::url::escape;

/// Answers come in blocks of a size that a buffer holds, without dictionaries.
const ANSWERS: &str = "&max_block_size=8192&low_cardinality_allow_in_native_format=0&";

/// Ids of this process: sessions differ by the second number, their queries by the third.
static SESSIONS: AtomicU64 = AtomicU64::new(0);

/// Paths of one connection's requests.
pub struct Requests {
    path: String,
    base: String,
    /// `inrush-<process>-<session>-`.
    id: String,
    /// Of queries so far: an id may come again only when the server has forgotten it.
    count: u64,
}

impl Requests {
    pub fn new(address: &Address) -> Requests {
        let session = SESSIONS.fetch_add(1, Ordering::Relaxed);
        // The process alone may come again on another machine, or after a crash.
        let since = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |t| t.as_micros() as u64);
        let id = format!("inrush-{}-{since:x}-{session}-", std::process::id());
        Requests { path: String::with_capacity(4096), base: address.base.clone(), id, count: 0 }
    }

    /// What the server's list of queries is searched by: all queries of this connection.
    pub fn own_queries(&self) -> String {
        format!("startsWith(query_id, '{}')", self.id)
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// A query or statement, with its text as the body.
    pub fn next_query(&mut self) {
        self.next_answer("Native");
    }

    /// The same with an answer in this format.
    pub fn next_answer(&mut self, format: &str) {
        self.begin();
        self.path.push_str("default_format=");
        self.path.push_str(format);
        self.path.push_str(ANSWERS);
        self.put_id();
    }

    /// An INSERT, with its rows as the body. `query` is escaped.
    pub fn next_insert(&mut self, query: &str) {
        self.begin();
        self.path.push_str("query=");
        self.path.push_str(query);
        self.path.push('&');
        self.put_id();
    }

    fn begin(&mut self) {
        self.path.clear();
        self.path.push_str(&self.base);
        self.count += 1;
    }

    fn put_id(&mut self) {
        write!(self.path, "query_id={}{}", self.id, self.count).expect("a string takes what is written");
    }
}

/// `INSERT INTO … FORMAT …`, as it stands in a path.
pub fn insert(text: &str, format: &str) -> String {
    let mut escaped = String::new();
    escape(&format!("{} FORMAT {format}", text.trim()), &mut escaped);
    escaped
}
