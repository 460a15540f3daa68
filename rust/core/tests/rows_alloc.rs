//! While the clock runs, rows are made in the buffers that are there.

mod rows_common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use inrush_engines::mix::{Share, Shared};
use inrush_rows::plan::RunPlan;
use inrush_rows::rows::{Generators, SeriesIndex};
use rows_common::{chunked, every_kind, made, telemetry};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static HELD_BYTES: Cell<i64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|n| n.set(n.get() + 1));
        HELD_BYTES.with(|n| n.set(n.get() + layout.size() as i64));
        System.alloc(layout)
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD_BYTES.with(|n| n.set(n.get() - layout.size() as i64));
        System.dealloc(at, layout)
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn filling_allocates_nothing_from_the_first_batch_on() {
    let survey = chunked(1_000, "survey", 3_700, 1_000_000_000, "key");
    for table in telemetry().iter().chain([&every_kind(1), &every_kind(7), &survey]) {
        let gen = made(table, 1);
        let mut columns = gen.columns(5000);
        let before = ALLOCATIONS.get();
        for (first, rows) in [(0, 5000), (5000, 5000), (10_000, 17), (50_000, 5000)] {
            gen.fill(first, rows, &mut columns);
        }
        assert_eq!(ALLOCATIONS.get() - before, 0, "{}", table.name);
    }
}

#[test]
fn a_billion_rows_in_files_of_chunks_hold_no_more_memory_than_the_files() {
    let held = |rows: u64, run_rows: u64| {
        let plan = chunked(1_000, "survey", run_rows, rows, "random");
        drop(made(&plan, 1));
        let before = HELD_BYTES.get();
        let gen = made(&plan, 1);
        let index = SeriesIndex::new(&gen, &plan).expect("a key");
        let row = gen.row(rows / 2);
        let number = index.number_of(|column| row.get(column)).expect("a row");
        assert_eq!(gen.row_of(number), rows / 2);
        drop(row);
        HELD_BYTES.get() - before
    };
    let few = held(1_000, 7);
    assert!(few > 20_000, "what is counted has the files in it: {few}");
    let many = held(1_000_000_000, 3_700);
    assert!(many < few + 16 * 1_000, "16 bytes a file are more where there are many rows: {many}, {few}");
    assert_eq!(held(1_000_000_000, 70), many, "runs are not kept");
}

/// A key of every type that keys have, a list of them, and what stands beside them.
fn looking() -> Arc<RunPlan> {
    let host = serde_json::json!({"kind": "format", "pattern": "host-%d", "fields": [{"kind": "cycle", "from": 0, "to": 99_999_999}]});
    let column = |name: &str, ty: &str, gen: serde_json::Value| serde_json::json!({"name": name, "type": ty, "wire": "", "gen": gen});
    let columns = [
        column("guid", "u64", serde_json::json!({"kind": "pattern", "prefix": "b8599f03", "every": 40})),
        column("at", "time_ms", serde_json::json!({"kind": "sweep_time"})),
        column("host", "text", host),
        column("word", "text", serde_json::json!({"kind": "text", "min_bytes": 1, "max_bytes": 40})),
    ];
    let table = serde_json::json!({"name": "t", "stream": "t", "columns": columns,
        "source": {"kind": "generated", "series": 50_000, "period_ns": 1_000_000_000}});
    let key = |k: usize, column: &str, ty: &str, draw: usize| serde_json::json!({"name": format!("k{k}"), "type": ty, "gen": {"kind": "key", "keys": 0, "draw": draw, "column": column}});
    let of_series = serde_json::json!({"kind": "of_series", "table": 0, "column": "host"});
    let mut params = vec![
        serde_json::json!({"name": "c", "type": "text", "gen": {"kind": "constant", "value": "a text of the statement"}}),
        serde_json::json!({"name": "s", "type": "text", "gen": of_series}),
        key(0, "guid", "u64", 0),
        key(1, "at", "time_ms", 0),
        key(2, "word", "text", 0),
    ];
    params.extend((0..100).map(|k| key(k + 3, "host", "text", k + 1)));
    let operations: Vec<_> = [
        serde_json::json!({"kind": "uniform"}),
        serde_json::json!({"kind": "zipf", "exponent": 1.1}),
        serde_json::json!({"kind": "hot_set", "draws_ppm": 900_000, "rows_ppm": 1_000}),
        serde_json::json!({"kind": "own_range"}),
        serde_json::json!({"kind": "each_once"}),
    ]
    .into_iter()
    .map(|by| {
        serde_json::json!({"name": by["kind"], "kind": "query", "params": params,
            "keys": [{"table": 0, "rows": 1_000_000_000u64, "by": by}]})
    })
    .collect();
    let plan = serde_json::json!({"version": 1, "run_id": "", "study": "", "seed": 1, "epoch_ns": 0,
        "target": {"engine": "null", "url": ""}, "tables": [table], "operations": operations, "segments": [],
        "record": {"interval_ns": 1, "flush_ns": 1}, "watch": {"every_ns": 0, "processes": {}}});
    Arc::new(serde_json::from_value(plan).expect("a plan of this build"))
}

#[test]
fn parameters_allocate_nothing_once_texts_have_had_their_length() {
    let plan = looking();
    let generators = Generators::new(plan.clone());
    for op in 0..plan.operations.len() {
        let mut params = Shared::new(&generators, op, "users").unwrap().in_session(Share::WHOLE).unwrap();
        let mut values = params.values();
        (0..10_000).for_each(|ticket| params.fill(ticket, 0, &mut values));
        let before = ALLOCATIONS.get();
        (10_000..12_000).for_each(|ticket| params.fill(ticket, 0, &mut values));
        let allocated = ALLOCATIONS.get() - before;
        // 204,000 texts: a buffer grows only for one longer than all before it.
        assert!(allocated < 20, "{}: {allocated}", plan.operations[op].name);
    }
}

#[test]
fn sessions_share_one_generator_and_one_index_of_a_table() {
    let mut plan = Arc::into_inner(looking()).expect("nothing else has it");
    plan.tables = telemetry();
    plan.operations.clear();
    let generators = Generators::new(Arc::new(plan));
    let (one, index) = (generators.of(0).unwrap(), generators.index(0).unwrap());
    let of_sessions: Vec<_> = std::thread::scope(|scope| {
        let made: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| (generators.of(0).unwrap(), generators.index(0).unwrap())))
            .collect();
        made.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (generator, its_index) in &of_sessions {
        assert!(Arc::ptr_eq(&one, generator) && Arc::ptr_eq(&index, its_index));
    }
    assert!(!Arc::ptr_eq(&one, &generators.of(1).unwrap()), "each table has its own");
}
