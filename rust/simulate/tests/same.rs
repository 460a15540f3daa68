//! The same cluster and seed give the outcome that they gave before events were kept another way.
//!
//! `INRUSH_WRITE_GOLDEN=1 cargo test -p inrush-simulate` writes the outcomes anew: only where a model changes.

use std::collections::BTreeMap;
use std::path::Path;

use inrush_simulate::simulate_json;
use serde_json::Value;

#[test]
fn a_cluster_and_a_seed_give_what_they_gave() {
    let folder = Path::new("tests");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a golden file");
    let clusters: BTreeMap<String, Value> = serde_json::from_str(&read("clusters.json")).expect("clusters");
    let found: BTreeMap<&String, Value> = clusters
        .iter()
        .map(|(name, cluster)| {
            let outcome = simulate_json(&cluster.to_string()).unwrap_or_else(|e| panic!("{name}: {e}"));
            (name, serde_json::from_str(&outcome).expect("an outcome"))
        })
        .collect();
    if std::env::var_os("INRUSH_WRITE_GOLDEN").is_some() {
        let lines: Vec<String> = found.iter().map(|(name, o)| format!("\"{name}\": {o}")).collect();
        std::fs::write(folder.join("outcomes.json"), format!("{{\n{}\n}}\n", lines.join(",\n")))
            .expect("written");
    }
    let golden: BTreeMap<String, Value> = serde_json::from_str(&read("outcomes.json")).expect("outcomes");
    assert_eq!(golden.len(), found.len());
    for (name, outcome) in found {
        assert_eq!(outcome, golden[name], "{name}");
    }
}
