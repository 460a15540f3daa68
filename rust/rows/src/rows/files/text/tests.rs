//! The fast path against the full parser: the same bytes give the same rows and the same rejects.

use proptest::prelude::*;

use super::super::dialect::Quoting;
use super::super::fast_path::{FastPath, Room, PAD_BYTES};
use super::super::{ColumnSpec, BATCH_BYTES};
use super::*;
use crate::plan::{Limits, LogicalType, TimeForm};
use crate::rows::files::parse::TimeReader;
use crate::rows::Column;

const TYPES: [LogicalType; 16] = [
    LogicalType::I64,
    LogicalType::I32,
    LogicalType::F64,
    LogicalType::TimeMs,
    LogicalType::TimeUs,
    LogicalType::Text,
    LogicalType::Bool,
    LogicalType::I16,
    LogicalType::U64,
    LogicalType::F32,
    LogicalType::Date,
    LogicalType::Uuid,
    LogicalType::Text,
    LogicalType::U8,
    LogicalType::U16,
    LogicalType::U32,
];

/// Values at the edges of what is plain, of any type: most are wrong in most columns.
const EDGES: [&str; 80] = [
    "0",
    "-0",
    "+1",
    "-",
    "",
    " 7",
    "7 ",
    "00012",
    "12345678",
    "123456789",
    "-1234567890123456",
    "999999999999999999",
    "1000000000000000000",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551615",
    "99999999999999999999",
    "2147483647",
    "-2147483649",
    "32768",
    "1.5",
    "-.5",
    "5.",
    ".",
    "1e5",
    "1e",
    "1.5E-3",
    "1e400",
    "-1e-400",
    "9007199254740993",
    "0.1234567890123456789",
    "123456789.123456789",
    "16777217",
    "3.4028236e38",
    "inf",
    "nan",
    "2026-01-31",
    "2026-02-30",
    "2026-01-31 23:59",
    "2026-01-31 23:59:59",
    "2026-01-31T23:59:59Z",
    "2026-01-31 23:59:59.123",
    "2026-01-31 23:59:59.123456",
    "2026-01-31 23:59:59.1234567",
    "2026-01-31 23:59:59.",
    "2026-01-31 24:00:00",
    "2026-01-31 00:60:00",
    "2026-01-31 00:00:00+00",
    "2026-01-31 00:00:00+00:00",
    "2026-01-31 00:00:00.5+0000",
    "2026-01-31 00:00:00+01",
    "2026-01-31 0:00:00",
    "2026-1-1",
    "20260131",
    "t",
    "FALSE",
    "yes",
    "tru",
    "\\N",
    "é",
    "a\\tb",
    "\"a\"",
    "\"a\"\"b\"",
    "a\"b",
    "5\"",
    "37.8\"N 17.9\"W",
    " \"a\"",
    "\"a\" b",
    "0000-01-01",
    "9999-12-31",
    "2026-01-31x",
    " 2026-01-31 ",
    "\"2026-01-31\"",
    "00112233-4455-6677-8899-aabbccddeeff",
    "\"00112233-4455-6677-8899-aabbccddeeff\"",
    "{00112233445566778899AABBCCDDEEFF}",
    "0011-2233-4455-6677-8899-aabb-ccdd-eeff",
    " 00112233445566778899aabbccddeeff",
    "00112233-4455-6677-8899-aabbccddeef",
    "00112233-4455-6677-8899-aabbccddeefg",
]; // fmt: skip

/// What some values go beyond, and no good one of `good` with a small seed does.
fn limits(ty: LogicalType) -> Option<Limits> {
    match ty {
        LogicalType::Text => Some(Limits { chars: Some(8), ..Limits::default() }),
        LogicalType::I16 => Some(Limits { range: Some((-20_000, 32_766)), ..Limits::default() }),
        LogicalType::I64 => {
            Some(Limits { range: Some((-1_000_000_000_000_000, 1 << 50)), ..Limits::default() })
        }
        LogicalType::F64 => Some(Limits { no_nan: true, ..Limits::default() }),
        LogicalType::F32 => Some(Limits { no_nan: true, no_infinity: true, ..Limits::default() }),
        LogicalType::TimeMs => Some(Limits { range: Some((0, 1_769_817_600_000)), ..Limits::default() }),
        _ => None,
    }
}

fn iso() -> TimeReader {
    TimeReader::new(&TimeForm::Iso, None).expect("it is no pattern")
}

fn layout(path: &str, types: &[LogicalType], required: bool) -> Layout {
    let spec = |(k, ty): (usize, &LogicalType)| ColumnSpec { name: format!("c{k}"), ty: *ty };
    Layout {
        paths: vec![path.to_owned()],
        columns: types.iter().enumerate().map(spec).collect(),
        required: vec![required; types.len()],
        limits: types.iter().map(|ty| limits(*ty)).collect(),
        bytes: vec![false; types.len()],
        numbers: vec![false; types.len()],
        null_items: vec![false; types.len()],
        times: types.iter().map(|ty| (*ty == LogicalType::TimeUs).then(iso)).collect(),
        batch_bytes: BATCH_BYTES,
    }
}

fn dialect(quoting: Quoting) -> Dialect {
    match quoting {
        Quoting::Quotes => Dialect::usual("csv").unwrap(),
        _ => Dialect { quoting, ..Dialect::usual("tsv").unwrap() },
    }
}

/// Bits of all values, what was rejected, and where reading ended.
fn read(
    text: &[u8],
    quoting: Quoting,
    required: bool,
    fast_path: bool,
) -> (String, String, (usize, u64, u64)) {
    let dir = tempfile::TempDir::new().unwrap();
    let (path, rejected) = (dir.path().join("rows"), dir.path().join("rejects"));
    std::fs::write(&path, text).unwrap();
    let layout = layout(path.to_str().unwrap(), &TYPES, required);
    let mut files = TextFiles::new(layout, dialect(quoting), false, 300);
    assert!(files.fast_path.is_some(), "there is something to compare with");
    if !fast_path {
        files.fast_path = None;
    }
    let mut rejects = Rejects::new(rejected.to_str().unwrap(), u64::MAX);
    let columns = TYPES.iter().enumerate().map(|(k, ty)| Column::new(format!("c{k}"), *ty)).collect();
    let mut out = Columns::new(0, columns);
    files.fill(7, &mut out, &mut rejects).unwrap();
    files.fill(usize::MAX, &mut out, &mut rejects).unwrap();
    rejects.flush().unwrap();
    let nulls = |c: &Column| (0..out.rows).filter(|row| !c.is_present(*row)).collect::<Vec<_>>();
    let bits = |column: &Column| match &column.values {
        crate::rows::Values::F64(v) => format!("{:?}", v.iter().map(|x| x.to_bits()).collect::<Vec<_>>()),
        crate::rows::Values::F32(v) => format!("{:?}", v.iter().map(|x| x.to_bits()).collect::<Vec<_>>()),
        other => format!("{other:?}"),
    };
    let shown = out.columns.iter().map(|c| format!("{} {:?}\n", bits(c), nulls(c))).collect();
    let said = std::fs::read_to_string(&rejected).unwrap_or_default();
    (shown, said.replace(path.to_str().unwrap(), "rows"), files.place())
}

/// A value that column `k` takes, in its usual form.
fn good(k: usize, seed: u64) -> String {
    match TYPES[k] {
        LogicalType::Bool => (if seed.is_multiple_of(2) { "t" } else { "false" }).into(),
        LogicalType::I16 => format!("{}", seed as i16),
        LogicalType::I32 => format!("{}", seed as i32),
        LogicalType::U8 => format!("{}", seed as u8),
        LogicalType::U16 => format!("{}", seed as u16),
        LogicalType::U32 => format!("{}", seed as u32),
        LogicalType::I64 => format!("{}", (seed as i64) >> (seed % 64)),
        LogicalType::U64 => format!("{}", seed >> (seed % 64)),
        LogicalType::F32 => format!("{}", f32::from_bits(seed as u32)),
        LogicalType::F64 if seed.is_multiple_of(2) => format!("{}", (seed % 1_000_000) as f64 / 1e3),
        LogicalType::F64 => format!("{:e}", f64::from_bits(seed)),
        LogicalType::TimeMs => {
            format!("2026-01-{:02} 0{}:{:02}:59.{:03}Z", seed % 28 + 1, seed % 9, seed % 60, seed % 1000)
        }
        LogicalType::TimeUs => format!("{:04}-12-31T23:00:00.{}", seed % 9999 + 1, seed % 1_000_000),
        LogicalType::Date => format!("{:04}-02-{:02}", seed % 2400 + 1, seed % 28 + 1),
        LogicalType::Uuid => {
            let digits = format!("{seed:016x}");
            format!("{}-{}-{}-0123-456789abcdef", &digits[..8], &digits[8..12], &digits[12..])
        }
        _ => format!("text {}", seed % 1000),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn fast_path_and_full_parser_give_the_same_rows_and_rejects(
        records in prop::collection::vec(
            (any::<u64>(), prop::collection::vec((0usize..TYPES.len() + 1, 0usize..EDGES.len()), 0..3), 0u8..20),
            0..40,
        ),
        quoting in prop::sample::select(vec![Quoting::Quotes, Quoting::PostgresEscapes, Quoting::MysqlEscapes]),
        required: bool,
        crlf: bool,
    ) {
        let d = dialect(quoting);
        let mut text = Vec::new();
        for (seed, odd, last) in &records {
            let mut fields: Vec<String> =
                (0..TYPES.len()).map(|k| good(k, seed.wrapping_mul(k as u64 * 2 + 1).rotate_left(k as u32 * 5))).collect();
            for (at, edge) in odd {
                // One beyond the columns is a field too many.
                match fields.get_mut(*at) {
                    Some(field) => *field = EDGES[*edge].into(),
                    None => fields.push(EDGES[*edge].into()),
                }
            }
            text.extend(fields.join(&(d.delimiter as char).to_string()).into_bytes());
            text.extend(match last {
                0 => &b"\0\n"[..],
                1 => b"\xff\n",
                2 => b"\r",
                _ if crlf => b"\r\n",
                _ => b"\n",
            });
        }
        text.truncate(text.len() - records.last().map_or(0, |(seed, ..)| (*seed % 3) as usize).min(text.len()));
        prop_assert_eq!(read(&text, quoting, required, true), read(&text, quoting, required, false));
    }
}

#[test]
fn every_edge_in_every_column_is_read_alike() {
    for quoting in [Quoting::Quotes, Quoting::PostgresEscapes, Quoting::MysqlEscapes] {
        let mut text = String::new();
        for edge in EDGES {
            for k in 0..TYPES.len() {
                let mut fields: Vec<String> = (0..TYPES.len()).map(|k| good(k, 4)).collect();
                fields[k] = edge.into();
                text += &(fields.join(&(dialect(quoting).delimiter as char).to_string()) + "\n");
            }
        }
        for required in [false, true] {
            let fast_path = read(text.as_bytes(), quoting, required, true);
            assert_eq!(fast_path, read(text.as_bytes(), quoting, required, false));
        }
    }
}

#[test]
fn plain_records_are_all_taken_and_what_is_cut_is_not() {
    let mut text = Vec::new();
    for seed in 0..50 {
        // Even: floats without an exponent. Small: within their columns.
        let fields: Vec<String> = (0..TYPES.len()).map(|k| good(k, seed * 2)).collect();
        text.extend(fields.join(",").into_bytes());
        text.push(b'\n');
    }
    let whole = text.len();
    text.extend(b"1,2");
    text.extend([0; PAD_BYTES]);
    let order: Vec<Option<usize>> = (0..TYPES.len()).map(Some).collect();
    let mut fast_path = FastPath::new(&layout("", &TYPES, true), &dialect(Quoting::Quotes), &order).unwrap();
    let columns = TYPES.iter().enumerate().map(|(k, ty)| Column::new(format!("c{k}"), *ty)).collect();
    let mut out = Columns::new(0, columns);
    let room = Room { rows: 1_000, bytes: usize::MAX, record_bytes: 1_000 };
    let taken = fast_path.take(&text, false, &room, &mut out);
    assert_eq!((taken.records, taken.bytes, out.rows), (50, whole, 50));
    let few = Room { rows: 1_000, bytes: 300, record_bytes: 1_000 };
    let mut again = Columns::new(0, TYPES.iter().map(|ty| Column::new("c", *ty)).collect());
    let taken = fast_path.take(&text, false, &few, &mut again);
    assert!((300..600).contains(&taken.bytes), "no record begins behind the limit");
    let short = Room { rows: 1_000, bytes: usize::MAX, record_bytes: 10 };
    let mut none = Columns::new(0, TYPES.iter().map(|ty| Column::new("c", *ty)).collect());
    assert_eq!(fast_path.take(&text, false, &short, &mut none).records, 0);
}
