//! ARCHITECTURE.md as it is in the code: a module knows those below it and none above.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The modules of each crate, from below to above. That a crate knows those below it alone is for the compiler.
const ORDER: [(&str, &[&str]); 3] = [
    ("rows", &["error", "handle", "clock", "lock", "types", "plan", "rows", "encode", "placement"]),
    ("engines", &["pace", "schedule", "engine", "mix"]),
    ("drive", &["record", "tables", "proof", "watch", "drive", "run", "calibrate"]),
];

fn height(order: &[&str], module: &str) -> usize {
    order.iter().position(|m| *m == module).unwrap_or_else(|| panic!("{module} has no place in {order:?}"))
}

/// Modules of the crate that a source text names, but in comments.
fn named(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in text.lines().map(|line| line.split("//").next().unwrap_or_default()) {
        assert!(!line.contains("use crate::{"), "one module a line, so that this test reads it: {line}");
        for (at, _) in line.match_indices("crate::") {
            let after_a_crate_of_another_name = line[..at].ends_with('_');
            let rest = &line[at + "crate::".len()..];
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if !after_a_crate_of_another_name && name.starts_with(char::is_lowercase) {
                found.insert(name);
            }
        }
    }
    found
}

/// What `module` names although it stands above.
fn upward(order: &[&str], module: &str, text: &str) -> Vec<String> {
    named(text).into_iter().filter(|name| height(order, name) > height(order, module)).collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.path() {
            path if path.is_dir() => sources(&path, found),
            path if path.extension().is_some_and(|e| e == "rs") => found.push(path),
            _ => {}
        }
    }
}

#[test]
fn a_module_knows_those_below_it_and_none_above() {
    let crates = Path::new("..");
    for (name, order) in ORDER {
        let src = crates.join(name).join("src");
        let mut files = Vec::new();
        sources(&src, &mut files);
        let mut modules = BTreeSet::new();
        let mut wrong = Vec::new();
        for file in &files {
            let place = file.strip_prefix(&src).unwrap();
            let module = place.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned();
            // Tests look at a module from above, as a caller does.
            if module == "lib" || place.ends_with("tests.rs") {
                continue;
            }
            let above = upward(order, &module, &fs::read_to_string(file).unwrap());
            wrong.extend(above.into_iter().map(|name| format!("{} names {name}", place.display())));
            modules.insert(module);
        }
        assert_eq!(wrong, Vec::<String>::new(), "{name}");
        assert_eq!(
            modules,
            order.iter().map(|m| (*m).to_owned()).collect(),
            "ORDER is the modules that there are in {name}"
        );
    }
}

#[test]
fn a_module_that_names_one_above_is_seen() {
    let (rows, engines) = (ORDER[0].1, ORDER[1].1);
    assert_eq!(upward(engines, "engine", "use crate::mix::problems;"), ["mix"]);
    assert_eq!(upward(rows, "rows", "fn f() { crate::encode::parts(); }"), ["encode"]);
    assert_eq!(
        upward(rows, "encode", "use crate::plan::RunPlan;\nuse crate::rows::Value;"),
        Vec::<String>::new()
    );
    assert_eq!(upward(engines, "engine", "// crate::mix is no use"), Vec::<String>::new());
}
