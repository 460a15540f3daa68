//! What a generated row costs: ns of thread CPU time, best of interleaved rounds, per instruction set.
//!
//! `cargo bench --bench rows` prints one line per table and level; `--json` one JSON object per line.

use inrush_rows::clock::thread_cpu_ns;
use inrush_rows::plan::TablePlan;
use inrush_rows::rows::{row_hashes, Columns, Level, RowGen};

const EPOCH_NS: i64 = 1_767_225_600_000_000_000;
const BATCH: usize = 8192;
const ROUNDS: usize = 7;
const MANY: u64 = 100_000_000;

fn main() {
    let json = std::env::args().any(|a| a == "--json");
    let mut tables = vec![ten_columns()];
    tables.extend(telemetry());
    for table in &tables {
        for level in Level::supported() {
            let gen = make(table).with_level(level);
            let fill = |first: u64, out: &mut Columns| gen.fill(first, BATCH, out);
            report(json, &table.name, &format!("{level:?}"), measure(&gen, 1_000_000, fill));
        }
        let gen = make(table);
        let mut hashes = Vec::new();
        let hash = |first: u64, out: &mut Columns| {
            if first == 0 || out.rows == 0 {
                gen.fill(first, BATCH, out);
            }
            row_hashes(out, &mut hashes);
        };
        report(json, &table.name, "row_hashes", measure(&gen, 500_000, hash));
    }
    scale_free(json, &make(&tables[0]));
    orders(json);
    chunks(json);
}

/// The key index of a survey, as it was loaded: its key alone, and whole rows, file by file and at random.
fn chunks(json: bool) {
    for (columns, order, what) in [(1, "key", "the key"), (3, "key", "by key"), (3, "random", "by random")] {
        let before = resident_bytes();
        let gen = make(&secondary_index(columns, order));
        let fill = |first: u64, out: &mut Columns| gen.fill(first, BATCH, out);
        report(json, "secondary_index", what, measure(&gen, 2_000_000, fill));
        let grown = resident_bytes().saturating_sub(before) as f64 / 1e6;
        assert!(grown < 100.0, "{what}: {grown} MB");
    }
}

/// 10^8 rows of 4,000 series at unequal rates, in each order, and the memory that they take.
fn orders(json: bool) {
    let orders = [
        serde_json::json!({"by": "key"}),
        serde_json::json!({"by": "time"}),
        serde_json::json!({"by": "file", "files": 60}),
        serde_json::json!({"by": "random"}),
    ];
    for order in orders {
        let table = archive(&order);
        let before = resident_bytes();
        let ns = measure_once(&make(&table), MANY);
        report(json, "archive", &format!("by {}", order["by"].as_str().expect("a word")), ns);
        let grown = resident_bytes().saturating_sub(before) as f64 / 1e6;
        assert!(grown < 100.0, "{order}: {grown} MB for {MANY} rows");
    }
}

fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("this process");
    4096 * pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("resident pages")
}

fn report(json: bool, table: &str, what: &str, ns_per_row: f64) {
    let rows_per_s = 1e9 / ns_per_row;
    if json {
        println!(
            "{}",
            serde_json::json!({"table": table, "what": what, "ns_per_row": ns_per_row, "rows_per_cpu_s": rows_per_s})
        );
    } else {
        println!("{table:20} {what:12} {ns_per_row:8.2} ns/row {:8.1} M rows/CPU-s", rows_per_s / 1e6);
    }
}

/// Best of the rounds, ns of CPU per row.
fn measure(gen: &RowGen, rows: u64, mut step: impl FnMut(u64, &mut Columns)) -> f64 {
    let mut columns = gen.columns(BATCH);
    let batches = rows / BATCH as u64;
    (0..ROUNDS)
        .map(|_| {
            let start = thread_cpu_ns();
            (0..batches).for_each(|batch| step(batch * BATCH as u64, &mut columns));
            std::hint::black_box(&columns);
            (thread_cpu_ns() - start) as f64 / (batches * BATCH as u64) as f64
        })
        .fold(f64::INFINITY, f64::min)
}

/// 10^6 and 10^8 rows, CPU per row, in turns.
fn scale_free(json: bool, gen: &RowGen) {
    let run = |rows: u64| measure_once(gen, rows);
    let (mut few, mut many) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..3 {
        few = few.min(run(1_000_000));
        many = many.min(run(MANY));
    }
    report(json, "ten_columns", "10^6 rows", few);
    report(json, "ten_columns", "10^8 rows", many);
}

fn measure_once(gen: &RowGen, rows: u64) -> f64 {
    let mut columns = gen.columns(BATCH);
    gen.fill(0, BATCH, &mut columns);
    let start = thread_cpu_ns();
    let batches = rows / BATCH as u64;
    for batch in 0..batches {
        gen.fill(batch * BATCH as u64, BATCH, &mut columns);
    }
    std::hint::black_box(&columns);
    (thread_cpu_ns() - start) as f64 / (batches * BATCH as u64) as f64
}

fn make(table: &TablePlan) -> RowGen {
    RowGen::new(table, 1, EPOCH_NS).unwrap_or_else(|e| panic!("{e}"))
}

/// A time, an integer and eight counters that never fall.
fn ten_columns() -> TablePlan {
    let mut columns = vec![
        serde_json::json!({"name": "at", "type": "time_ms", "wire": "", "gen": {"kind": "sweep_time"}}),
        serde_json::json!({"name": "port", "type": "i32", "wire": "", "gen": {"kind": "cycle", "from": 1, "to": 40}}),
    ];
    for i in 0..8 {
        columns.push(serde_json::json!({"name": format!("c{i}"), "type": "u64", "wire": "", "gen": {
            "kind": "counter", "start_from": 1_000_000_000_000u64, "start_to": 300_000_000_000_000u64,
            "increment": "lognormal", "median_per_s": 156_250_000, "sigma": 1.2, "idle_ppm": 200_000,
            "group": "link", "cap_per_s": 3_125_000_000u64}}));
    }
    let table = serde_json::json!({"name": "ten_columns", "stream": "ten_columns", "columns": columns,
        "source": {"kind": "generated", "series": 50_000, "period_ns": 1_000_000_000}});
    serde_json::from_value(table).expect("a table of this build")
}

/// A row of a control system's archive: which attribute, when, its value and its quality.
fn archive(order: &serde_json::Value) -> TablePlan {
    let column = |name: &str, ty: &str, gen: serde_json::Value| serde_json::json!({"name": name, "type": ty, "wire": "", "gen": gen});
    let columns = [
        column("attribute", "i32", serde_json::json!({"kind": "cycle", "from": 1, "to": 4_000})),
        column("data_time", "time_us", serde_json::json!({"kind": "sweep_time"})),
        column("value", "f64", serde_json::json!({"kind": "walk", "from": 0, "to": 1_000, "bits": 16})),
        column(
            "quality",
            "i16",
            serde_json::json!({"kind": "categorical", "values": [0, 1, 2], "weights": [0.98, 0.01, 0.01]}),
        ),
    ];
    let rates = serde_json::json!({"sigma": 1.2, "pinned": {"series": 17, "share_ppm": 12_000}});
    let events = serde_json::json!({"rows": MANY, "order": order, "rates": rates});
    let table = serde_json::json!({"name": "archive", "stream": "archive", "columns": columns,
        "source": {"kind": "generated", "series": 4_000, "period_ns": 5_000_000_000u64, "events": events}});
    serde_json::from_value(table).expect("a table of this build")
}

/// Its first columns, of 7.34e9 rows in 106,892 files.
fn secondary_index(columns: usize, order: &str) -> TablePlan {
    let part = |part: &str| serde_json::json!({"kind": "chunk", "part": part});
    let column = |name: &str, ty: &str, gen: serde_json::Value| serde_json::json!({"name": name, "type": ty, "wire": "", "gen": gen});
    let key = serde_json::json!({"kind": "format", "pattern": "%05d%c%03d-%06d",
        "fields": [part("scan"), part("letter"), part("frame"), part("source")]});
    let mut all = vec![
        column("source_id", "text", key),
        column("chunk_id", "i32", part("chunk_id")),
        column("sub_chunk_id", "i32", serde_json::json!({"kind": "uniform", "from": 0, "to": 155})),
    ];
    all.truncate(columns);
    let events = serde_json::json!({"rows": 7_337_642_955u64, "order": {"by": order},
        "chunks": {"files": 106_892, "profile": "survey", "run_rows": 3_700}});
    let table = serde_json::json!({"name": "secondary_index", "stream": "secondary_index", "columns": all,
        "source": {"kind": "generated", "series": 1, "period_ns": 1_000_000_000, "events": events}});
    serde_json::from_value(table).expect("a table of this build")
}

fn telemetry() -> Vec<TablePlan> {
    let path = "../../python/tests/golden/rows/telemetry.json";
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}"));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}"))
}
