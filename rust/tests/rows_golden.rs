//! Same seed, same rows, on any machine: the telemetry tables against committed values.

use inrush_core::plan::TablePlan;
use inrush_core::rows::{digest, RowGen};

const EPOCH_NS: i64 = 1_767_225_600_000_000_000;

#[test]
fn any_telemetry_row_made_alone_is_the_row_of_its_batch() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../python/tests/golden/rows/telemetry.json");
    let tables: Vec<TablePlan> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for table in &tables {
        let gen = RowGen::new(table, 1, EPOCH_NS).unwrap_or_else(|e| panic!("{e}"));
        let mut batch = gen.columns(5000);
        gen.fill(49_000, 5000, &mut batch);
        for row in [49_000, 49_999, 50_000, 50_024, 53_999] {
            let there: Vec<_> = batch.columns.iter().map(|c| c.value((row - 49_000) as usize)).collect();
            assert_eq!(gen.row(row), there, "{} row {row}", table.name);
        }
        assert_eq!(digest(&gen, 0, 1000).rows, 1000);
    }
}
