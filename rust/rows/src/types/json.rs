//! The table of types as JSON, which Python reads.

use serde_json::json;

use super::{ColumnType, Holds, TYPES};

/// The table, for Python: a list of objects with the names of [`ColumnType`], and of what the type holds.
pub fn types_json() -> String {
    let entry = |entry: &ColumnType| {
        let (holds, of) = match entry.holds {
            Holds::Truth => ("truth", json!(null)),
            Holds::Signed(bits) => ("signed", json!(bits)),
            Holds::Unsigned(bits) => ("unsigned", json!(bits)),
            Holds::Float(bits) => ("float", json!(bits)),
            Holds::Time(per_s) => ("time", json!(per_s)),
            Holds::Bits => ("bits", json!(null)),
            Holds::Text => ("text", json!(null)),
            Holds::Bytes => ("bytes", json!(null)),
            Holds::Spelled => ("spelled", json!(null)),
            Holds::List(item) => ("list", json!(item.name())),
        };
        let forms = entry.ty.forms();
        json!({
            "name": entry.name, "written": entry.written, "also": entry.also, "many": entry.many, "holds": holds, "of": of,
            "bytes": entry.bytes, "fed": entry.fed, "bound": entry.bound, "longest": forms.map(|f| f.longest),
            "postgresql": forms.map(|f| f.postgresql.name),
        })
    };
    json!(TYPES.iter().map(entry).collect::<Vec<_>>()).to_string()
}
