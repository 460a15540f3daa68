//! One program of the tests that may share a process: linked once, not once a file.
//!
//! Tests that look at their process (its memory, CPU, allocator), or that need the machine for themselves, are programs
//! of their own, named in `Cargo.toml`.

mod common;
mod rows_common;
mod servers;

mod border;
mod by_key;
mod depth;
mod drive;
mod encode_round_trip;
mod engines_embedded;
mod files;
mod layers;
mod lies;
mod line;
mod live;
mod mysql;
mod postgresql;
mod proofs;
mod properties_record;
mod properties_rows;
mod rows_chunks;
mod rows_events;
mod rows_golden;
mod rows_laws;
mod rows_order;
mod rows_uuids;
mod truth;

/// Cargo finds no programs here by itself (`autotests`), so that a file that nobody names would never run.
#[test]
fn every_file_of_tests_is_part_of_a_program() {
    let folder = std::path::Path::new(".");
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("our manifest");
    let mut forgotten = vec![];
    for entry in std::fs::read_dir(folder.join("tests")).expect("our tests").map(Result::unwrap) {
        let name = entry.file_name().into_string().expect("UTF-8");
        let Some(stem) = name.strip_suffix(".rs") else { continue };
        let is_program = manifest.contains(&format!("[[test]]\nname = \"{stem}\"\n"));
        let is_module = include_str!("all.rs").lines().any(|line| line == format!("mod {stem};"));
        if !is_program && !is_module {
            forgotten.push(name);
        }
    }
    assert!(forgotten.is_empty(), "name these files in tests/all.rs: {forgotten:?}");
}
