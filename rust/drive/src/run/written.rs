//! What the sessions of one process have written, as the other processes of its run are sent it when a segment ends.
//!
//! Answers and proofs are judged by counts of rows in the memory of a process. Where each writes a part, all are sent the
//! parts of the others before the next segment: from then on each knows what one process alone would know.

use serde::{Deserialize, Serialize};

use crate::drive::source::TableCount;
use crate::proof::Unanswered;
use inrush_rows::plan::{DriveSegment, Work};

/// Of one table, in one segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    pub table: usize,
    pub issued: u64,
    pub acknowledged: u64,
    /// First row and rows of inserts of which no answer came.
    pub unanswered: Vec<(u64, u64)>,
}

/// A word to go on from a barrier.
#[derive(Debug, Clone, Default)]
pub struct Start {
    /// CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// What the other processes have written in the segment that is over.
    pub others: Vec<Written>,
}

/// So far in the run, of each table that the segment writes.
pub fn so_far(segment: &DriveSegment, counts: &[TableCount]) -> Vec<Written> {
    let mut tables: Vec<usize> = segment
        .roles
        .iter()
        .filter_map(|role| match role.work {
            Work::Rows { table, .. } => Some(table),
            _ => None,
        })
        .collect();
    tables.sort_unstable();
    tables.dedup();
    let of = |table: usize| {
        let count = &counts[table];
        let unanswered = count.unanswered().iter().map(|insert| (insert.first_row, insert.rows)).collect();
        Written { table, issued: count.issued(), acknowledged: count.acknowledged(), unanswered }
    };
    tables.into_iter().map(of).collect()
}

/// What came behind `before`, which is of the same segment.
pub fn since(before: &[Written], now: Vec<Written>) -> Vec<Written> {
    let mut found = now;
    for (of, before) in found.iter_mut().zip(before) {
        of.issued -= before.issued;
        of.acknowledged -= before.acknowledged;
        of.unanswered.drain(..before.unanswered.len());
    }
    found
}

/// From now on these rows count as those of this process do.
pub fn add(others: &[Written], counts: &[TableCount]) {
    for of in others {
        let count = &counts[of.table];
        count.issue(of.issued);
        count.acknowledge(of.acknowledged);
        let open = of.unanswered.iter();
        let mut open =
            open.map(|&(first_row, rows)| Unanswered { first_row, rows, of_files: None }).collect();
        count.leave_open(&mut open);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment() -> DriveSegment {
        let role = |name: &str, table: usize| {
            serde_json::json!({"name": name, "operations": [], "sessions": 1, "depth": 1,
                "schedule": {"kind": "closed", "think_ns": 0}, "until": {"kind": "work"},
                "work": {"kind": "rows", "table": table, "first_row": 0, "rows": 10, "batch_rows": 1}})
        };
        let segment = serde_json::json!({"label": "load", "phase": "measure", "limit_ns": 0,
            "roles": [role("b", 1), role("a", 0), role("again", 1)]});
        serde_json::from_value(segment).expect("a segment")
    }

    fn counts() -> [TableCount; 2] {
        [TableCount::default(), TableCount::default()]
    }

    fn write(count: &TableCount, issued: u64, acknowledged: u64, open: &[(u64, u64)]) {
        add(
            &[Written { table: 0, issued, acknowledged, unanswered: open.to_vec() }],
            std::slice::from_ref(count),
        );
    }

    #[test]
    fn each_process_is_told_what_the_others_have_written_since_the_segment_began() {
        let segment = segment();
        let processes = [counts(), counts(), counts()];
        for (process, counts) in processes.iter().enumerate() {
            // Of a segment before, which all know of.
            write(&counts[1], 100, 90, &[(40, 10)]);
            let before = so_far(&segment, counts);
            assert_eq!(before.len(), 2, "a table is written once, however many roles write it");
            write(&counts[0], 10 + process as u64, 10, &[]);
            write(&counts[1], 20, 15, &[(100 * process as u64, 5)]);
            let own = since(&before, so_far(&segment, counts));
            assert_eq!(own[0].issued, 10 + process as u64);
            assert_eq!((own[1].issued, own[1].acknowledged), (20, 15));
            assert_eq!(own[1].unanswered, [(100 * process as u64, 5)]);
            for (other, to) in processes.iter().enumerate().filter(|(other, _)| *other != process) {
                // Those that come later have yet to write down where they were.
                if other < process {
                    add(&own, to);
                }
            }
        }
        let first = so_far(&segment, &processes[0]);
        assert_eq!((first[0].issued, first[0].acknowledged), (10 + 11 + 12, 30));
        assert_eq!((first[1].issued, first[1].acknowledged), (160, 135));
        assert_eq!(first[1].unanswered, [(40, 10), (0, 5), (100, 5), (200, 5)]);
    }
}
