//! What a server refused, and whether waiting can change its mind.

use super::frame::ChunkHead;
use inrush_engines::engine::Outcome;

/// A row, a value or a statement that will be refused again however often it is sent. Not: a lost connection, a deadlock,
/// a full disk, too many connections, a server that takes no writes for now.
///
/// `why` is the engine's own message, with its code at the end of the server's words.
pub fn is_final(outcome: Outcome, why: &str) -> bool {
    match outcome {
        Outcome::Conflict | Outcome::Overloaded | Outcome::Lost | Outcome::Timeout => false,
        Outcome::Refused => match code_of(why) {
            Some(code) => !PASSING.contains(&code),
            None => !PASSING_WORDS.iter().any(|words| why.contains(words)),
        },
        _ => true,
    }
}

/// The server's code, as `Failure` of each engine writes it: at the end in brackets, of MySQL with an SQLSTATE behind, of PostgreSQL
/// perhaps before details. What else is in brackets are values of rows, of which any may look like a code.
fn code_of(why: &str) -> Option<&str> {
    let is_code = |code: &str| {
        (3..=5).contains(&code.len()) && code.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
    };
    let last = why.strip_suffix(')').and_then(|why| why.rsplit_once('('));
    let last = last.map(|(_, last)| last.split(',').next().unwrap_or(last));
    let mut parts = why.split(" (").skip(1).filter_map(|part| part.split_once("): "));
    let before_details = || parts.find_map(|(code, _)| (code.len() == 5 && is_code(code)).then_some(code));
    last.filter(|code| is_code(code)).or_else(before_details)
}

/// Whether the server refused a row for its values: another row may be taken. `why` is as of `is_final`.
pub fn is_of_a_row(why: &str) -> bool {
    code_of(why).is_some_and(is_code_of_a_row) || WORDS_OF_A_ROW.iter().any(|words| why.contains(words))
}

/// PostgreSQL's five letters: values (class 22), constraints (23), what a trigger raises, an index row that is too long. MySQL's and
/// MariaDB's four digits: keys, NULL, references, checks, ranges, lengths, texts, times, partitions, JSON, what a trigger raises.
fn is_code_of_a_row(code: &str) -> bool {
    const MYSQL: [&str; 17] = [
        "1062", "1048", "1451", "1452", "3819", "4025", "1264", "1406", "1366", "1292", "1265", "1526",
        "3140", "1644", "1690", "1367", "1416",
    ];
    let is_sqlstate = code.len() == 5 && code.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
    let of_class = code.starts_with("22") || code.starts_with("23") || ["P0001", "54000"].contains(&code);
    (is_sqlstate && of_class) || MYSQL.contains(&code)
}

/// DuckDB's and SQLite's.
const WORDS_OF_A_ROW: [&str; 12] = [
    "Constraint Error",
    "Conversion Error",
    "Out of Range Error",
    "constraint failed",
    "constraint violation",
    "Duplicate key",
    "violates unique constraint",
    "violates foreign key constraint",
    "violates primary key constraint",
    "Could not convert",
    "type mismatch in AppendDataChunk",
    "datatype mismatch",
];

/// Codes of refusals that pass, in the order of engines.
const PASSING: [&str; 26] = [
    // A deadlock, or a conflict of transactions, as a statement of ours hears of it.
    "40001", "40P01", "1213", "1205",
    // PostgreSQL: disk full, too many connections, out of a resource, read-only while it recovers.
    "53100", "53300", "53000", "53400", "25006",
    // MySQL, MariaDB: disk or table full, an error writing, too many connections, read-only.
    "1021", "1114", "1026", "1040", "1203", "1226", "1290", "1836",
    // ClickHouse: quota, too many queries or parts, read-only replica, no space, no quorum.
    "201", "202", "203", "242", "243", "252", "254", "319", "164",
];

/// The same of DuckDB and SQLite, which name no code.
const PASSING_WORDS: [&str; 2] = ["No space left on device", "database or disk is full"];

/// `rows 1 to 20000 of file 1 (up to line 20001)`, for each file once. Pure.
pub fn places(heads: &[&ChunkHead]) -> String {
    let mut files: Vec<(u32, u64, u64, &ChunkHead)> = Vec::new();
    for head in heads {
        let (first, last) =
            (head.after.stored.saturating_sub(head.rows).saturating_add(1), head.after.stored);
        match files.iter_mut().find(|(file, ..)| *file == head.file) {
            Some((_, from, to, end)) => {
                *from = first.min(*from);
                if last > *to {
                    (*to, *end) = (last, head);
                }
            }
            None => files.push((head.file, first, last, head)),
        }
    }
    let said = files.iter().map(|(file, from, to, end)| {
        format!(
            "rows {from} to {to} of file {} (up to line {})",
            u64::from(*file) + 1,
            end.after.line.saturating_sub(1)
        )
    });
    said.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use inrush_rows::rows::files::Position;

    #[test]
    fn a_row_that_is_refused_for_itself_is_final_and_a_server_in_trouble_is_not() {
        for why in [
            "duplicate key value violates unique constraint \"t_pkey\" (23505): Key (id)=(0) already exists.",
            "Duplicate entry '0' for key 'PRIMARY' (1062, 23000)",
            "UNIQUE constraint failed: t.id",
            "Constraint Error: Duplicate key \"id: 0\" violates primary key constraint",
            "Constraint `c` for table t is violated (469)",
            "new row violates check constraint \"c\" (23514): Failing row contains (12050, -1, x12050).",
            "new row violates check constraint \"c\" (23514): Failing row contains (1205, -1, x).",
            "new row violates check constraint \"c\" (23514): Failing row contains (40001).",
            "invalid input syntax for type integer: \"(53100)\" (22P02)",
            "Incorrect integer value: '(1205)' for column 'a' at row 1 (1366, HY000)",
        ] {
            assert!(is_final(Outcome::Refused, why), "{why}");
        }
        for why in [
            "could not extend file: No space left on device (53100)",
            "sorry, too many clients already (53300)",
            "cannot execute INSERT in a read-only transaction (25006)",
            "The table 't' is full (1114, HY000)",
            "deadlock detected (40P01)",
            "could not serialize access due to concurrent update (40001)",
            "Deadlock found when trying to get lock; try restarting transaction (1213, 40001)",
            "Lock wait timeout exceeded; try restarting transaction (1205, HY000)",
            "Too many connections (1040, 08004)",
            "Too many parts (252)",
            "database or disk is full",
        ] {
            assert!(!is_final(Outcome::Refused, why), "{why}");
        }
        for passing in [Outcome::Conflict, Outcome::Overloaded, Outcome::Lost, Outcome::Timeout] {
            assert!(!is_final(passing, "deadlock detected (40P01)"));
        }
        for last in [Outcome::Other, Outcome::Auth, Outcome::Undefined, Outcome::TooLarge] {
            assert!(is_final(last, "invalid input syntax (22P02)"));
        }
    }

    #[test]
    fn a_row_is_refused_for_itself_and_a_table_that_is_gone_for_none() {
        for why in [
            "duplicate key value violates unique constraint \"t_pkey\" (23505): Key (id)=(0) already exists.",
            "invalid input syntax for type numeric: \"x\" (22P02)",
            "value too long for type character varying(3) (22001)",
            "Duplicate entry '0' for key 'PRIMARY' (1062, 23000)",
            "Duplicate entry '7' for key 't.PRIMARY' (1062)",
            "new row violates check constraint \"c\" (23514): Failing row contains (12050, -1, x12050).",
            "Incorrect string value: '\\xF0' for column 'a' at row 1 (1366, HY000)",
            "UNIQUE constraint failed: t.id",
            "Constraint Error: Duplicate key \"id: 0\" violates primary key constraint",
        ] {
            assert!(is_of_a_row(why), "{why}");
        }
        for why in [
            "relation \"t\" does not exist (42P01)",
            "permission denied for table t (42501)",
            "permission denied for table t (42501): Row (23505) is not yours.",
            "could not extend file: No space left on device (53100)",
            "Table 'd.t' doesn't exist (1146, 42S02)",
            "no such table: t",
        ] {
            assert!(!is_of_a_row(why), "{why}");
        }
    }

    #[test]
    fn refused_chunks_are_named_by_rows_and_lines_of_their_files() {
        let head = |file, chunk, stored, line| ChunkHead {
            file,
            chunk,
            rows: 10,
            after: Position { stored, line, ..Position::default() },
            last: false,
            sums: String::new(),
            left_out: Vec::new(),
        };
        let (one, two) = (head(0, 0, 10, 11), head(0, 1, 20, 21));
        let other = head(3, 0, 10, 11);
        assert_eq!(
            places(&[&one, &two, &other]),
            "rows 1 to 20 of file 1 (up to line 20); rows 1 to 10 of file 4 (up to line 10)"
        );
    }
}
