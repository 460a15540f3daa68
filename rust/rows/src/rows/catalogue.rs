//! What generators there are, what they take and which columns they fill: the one list that people,
//! study files and `compile` go by.

use serde_json::{json, Map, Value as JsonValue};

use crate::types::{filled_by, LogicalType};

pub struct Kind {
    pub name: &'static str,
    pub about: &'static str,
    pub params: &'static [Param],
}

/// `default` as JSON text; `None` with `required` false: absent means what `about` says.
pub struct Param {
    pub name: &'static str,
    pub ty: &'static str,
    pub required: bool,
    pub default: Option<&'static str>,
    pub about: &'static str,
}

const fn need(name: &'static str, ty: &'static str, about: &'static str) -> Param {
    Param { name, ty, required: true, default: None, about }
}

const fn may(name: &'static str, ty: &'static str, about: &'static str) -> Param {
    Param { name, ty, required: false, default: None, about }
}

const fn or(name: &'static str, ty: &'static str, default: &'static str, about: &'static str) -> Param {
    Param { name, ty, required: false, default: Some(default), about }
}

const FROM: Param = need("from", "integer", "smallest value");
const TO: Param = need("to", "integer", "largest value");
const BITS: Param = may("bits", "integer", "values are k·2^-bits; floats only, 8 if absent");
const PER: Param = or("per", "row|series", "\"row\"", "drawn for each row, or once for each series");
const EVERY: Param = or("every", "integer", "1", "so many neighbouring places share a value");
const MIN: Param = may("min", "number", "smaller values become this");
const MAX: Param = may("max", "number", "larger values become this");
const OF: Param = need("of", "column", "column of the same table that it derives from");
const EXPONENT: Param = need("exponent", "number", "Zipf's exponent, above 0");

pub const KINDS: &[Kind] = &[
    Kind {
        name: "sequence",
        about: "start + step * row",
        params: &[need("start", "integer", "value of row 0"), need("step", "integer", "from row to row")],
    },
    Kind {
        name: "constant",
        about: "the same value in every row",
        params: &[need("value", "any", "of the column's type; times as integers in their unit"), BITS],
    },
    Kind { name: "version", about: "0, and after an update by key the number of the call that made it", params: &[] },
    Kind { name: "cycle", about: "from … to, again and again, along the places", params: &[FROM, TO, EVERY] },
    Kind { name: "shuffled", about: "from … to in random order, each once a round, by row", params: &[FROM, TO] },
    Kind { name: "uniform", about: "every value from … to equally often", params: &[FROM, TO, BITS, PER] },
    Kind {
        name: "normal",
        about: "normal, rounded",
        params: &[need("mean", "number", "mean"), need("sd", "number", "standard deviation"), MIN, MAX, BITS, PER],
    },
    Kind {
        name: "lognormal",
        about: "median * exp(sigma * Z), rounded",
        params: &[need("median", "number", "median"), need("sigma", "number", "sd of the logarithm"), MIN, MAX, BITS, PER],
    },
    Kind {
        name: "poisson",
        about: "Poisson counts",
        params: &[need("mean", "number", "mean, up to 10,000"), PER],
    },
    Kind {
        name: "beta",
        about: "scale * Beta(a, b), rounded",
        params: &[
            need("a", "number", "first shape"),
            need("b", "number", "second shape"),
            or("scale", "number", "1.0", "the distribution ends there"),
            BITS,
            PER,
        ],
    },
    Kind {
        name: "zipf",
        about: "ranks 1 … n with probability ∝ rank^-exponent",
        params: &[
            need("n", "integer", "number of ranks"),
            EXPONENT,
            or("from", "integer", "1", "value of the first rank"),
            or("scatter", "boolean", "false", "spread the frequent values over the range"),
            PER,
        ],
    },
    Kind {
        name: "categorical",
        about: "one of a list of values",
        params: &[
            need("values", "list", "integers or texts, as the column"),
            or("weights", "list of numbers", "[]", "one per value; equal if absent"),
            PER,
        ],
    },
    Kind {
        name: "flag",
        about: "true or 1 with a given share",
        params: &[need("true_ppm", "integer", "share of ones, parts per million"), PER],
    },
    Kind {
        name: "counter",
        about: "never falls within a series, except at a reset or wrap",
        params: &[
            or("start_from", "integer", "0", "smallest start of a series"),
            or("start_to", "integer", "0", "largest start of a series; start_from if smaller"),
            need("increment", "lognormal|poisson|burst", "how it moves from sweep to sweep"),
            or("median_per_s", "number", "0.0", "lognormal: median over the series of their mean rate"),
            or("sigma", "number", "0.0", "lognormal: sd of the rates' logarithm"),
            or("mean_per_s", "number", "0.0", "poisson: mean increment a second"),
            or("probability_ppm", "integer", "0", "burst: of one in any sweep, parts per million"),
            or("mean_size", "number", "0.0", "burst: mean size, geometric"),
            or("idle_ppm", "integer", "0", "share of series that never move, parts per million"),
            may("group", "text", "columns of one group have the same idle series; the column's own name if absent"),
            may("cap_per_s", "integer", "no increment is above it"),
            or("width_bits", "integer", "64", "width of the counter"),
            or("at_limit", "wrap|saturate", "\"wrap\"", "what it does at the end of its width"),
            or("reset_every_s", "integer", "0", "back to 0 in all series at once; 0: never"),
        ],
    },
    Kind {
        name: "ratio",
        about: "floor(of * numerator / denominator), the ratio to 2^-32",
        params: &[OF, need("numerator", "integer", "of the ratio"), need("denominator", "integer", "of the ratio")],
    },
    Kind { name: "sum", about: "sum of other columns", params: &[need("of", "list of columns", "the columns")] },
    Kind {
        name: "difference",
        about: "of - minus; u64 stops at 0",
        params: &[OF, need("minus", "column", "what is taken away")],
    },
    Kind { name: "offset", about: "of + uniform from … to, in the column's unit", params: &[OF, FROM, TO] },
    Kind {
        name: "excess",
        about: "grows with a lognormal counter in the series whose mean rate is above a threshold, else 0; stops at its width",
        params: &[
            OF,
            need("above_per_s", "integer", "threshold of the mean rate"),
            need("numerator", "integer", "of the ratio of growths"),
            need("denominator", "integer", "of the ratio of growths"),
            need("width_bits", "integer", "width of the counter"),
        ],
    },
    Kind { name: "walk", about: "wanders between from and to along the sweeps of a series", params: &[FROM, TO, BITS] },
    Kind {
        name: "sweep_time",
        about: "epoch + sweep * the table's period + jitter",
        params: &[or("jitter_ms", "integer", "0", "0 … this, per row; below the period")],
    },
    Kind {
        name: "time",
        about: "epoch + row * period + jitter",
        params: &[
            need("period_us", "integer", "from row to row"),
            or("jitter_us", "integer", "0", "0 … this; below the period"),
        ],
    },
    Kind {
        name: "series_time",
        about: "epoch + sweep * a period of the series' own, log-normal over the series, shifted by a part of it, + jitter",
        params: &[
            need("median_period_ms", "number", "median of the periods"),
            need("sigma", "number", "sd of their logarithm"),
            or("jitter_ms", "integer", "0", "0 … this, per row; periods are longer"),
        ],
    },
    Kind {
        name: "pattern",
        about: "unique 64-bit numbers: hexadecimal prefix, then scattered bits",
        params: &[
            need("prefix", "text", "up to 15 hexadecimal digits; from 8 on the numbers exceed 2^63"),
            EVERY,
            may("space", "text", "equal spaces give equal numbers in any table and column; the column's own if absent"),
        ],
    },
    Kind {
        name: "uuid",
        about: "a UUID of version 4's shape for each place, no two equal; in a text column its 36 characters",
        params: &[],
    },
    Kind {
        name: "decimal",
        about: "numbers of the column's digits, of every length and sign, the greatest and the least among them",
        params: &[
            or("precision", "integer", "0", "digits; those of the column's type"),
            or("scale", "integer", "0", "digits behind the point; those of the column's type"),
            may("of", "generator", "gives the number without its point: 1234 is 12.34; every number if absent"),
        ],
    },
    Kind {
        name: "format",
        about: "text from integer generators",
        params: &[
            need("pattern", "text", "%d %5d %05d %x %08x %c (letter a + value) %%"),
            need("fields", "list of generators", "one per field, at most 8"),
            or("pad_to", "integer", "0", "padded with blanks to so many bytes: CHAR(n)"),
        ],
    },
    Kind {
        name: "text",
        about: "random letters",
        params: &[
            need("min_bytes", "integer", "shortest"),
            need("max_bytes", "integer", "longest; the same for CHAR(n)"),
            or("alphabet", "text", "\"abcdefghijklmnopqrstuvwxyz0123456789\"", "ASCII letters to choose from"),
            PER,
        ],
    },
    Kind {
        name: "bytes",
        about: "random bytes of every value",
        params: &[need("min_bytes", "integer", "shortest"), need("max_bytes", "integer", "longest"), PER],
    },
    Kind {
        name: "between",
        about: "every value from … to equally often: days, times of day, addresses of IPv4",
        params: &[
            need("from", "text", "first value, as 2026-01-31"),
            need("to", "text", "last value"),
            PER,
        ],
    },
    Kind {
        name: "document",
        about: "documents of JSON with a number, a truth value, a list of numbers, texts and lists, and a text",
        params: &[
            or("min_items", "integer", "0", "items of the shortest list"),
            need("max_items", "integer", "items of the longest list"),
            or("min_chars", "integer", "0", "characters of the shortest text"),
            need("max_chars", "integer", "characters of the longest text"),
            PER,
        ],
    },
    Kind {
        name: "bits",
        about: "strings of bits: every one equally often, or those of numbers",
        params: &[
            or("bits", "integer", "0", "how many; those of the column's type"),
            may("of", "generator", "gives the number that the bits are, 0 or above; every number if absent"),
            PER,
        ],
    },
    Kind {
        name: "array",
        about: "a list of values of another generator",
        params: &[
            need("of", "generator", "sequence, constant, uniform, normal, lognormal, poisson, beta, zipf, categorical or flag, by row; of texts constant, categorical, format or text"),
            need("min_items", "integer", "shortest"),
            need("max_items", "integer", "longest"),
            or("null_ppm", "integer", "0", "share of the items that are NULL, parts per million"),
            or("nan_ppm", "integer", "0", "share of NaN in items that are floats, parts per million"),
            or("inf_ppm", "integer", "0", "share of infinity in items that are floats"),
            or("minus_inf_ppm", "integer", "0", "share of negative infinity in items that are floats"),
        ],
    },
    Kind {
        name: "foreign",
        about: "the value that a column of another table has for a random series",
        params: &[
            need("stream", "text", "stream of the other table"),
            need("column", "text", "its column"),
            need("series", "integer", "its series"),
            need("of", "generator", "the column's generator there"),
            may("exponent", "number", "Zipf's exponent, frequent series scattered; uniform if absent"),
        ],
    },
    Kind {
        name: "job",
        about: "numbers of jobs: powers of two of neighbouring series, one after the other",
        params: &[
            need("from", "integer", "smallest number"),
            need("smallest", "integer", "series of the smallest job, a power of two"),
            need("largest", "integer", "series of the largest job, a power of two"),
            need("exponent", "number", "Zipf's exponent over the sizes"),
            need("lives_from_s", "integer", "shortest life"),
            need("lives_to_s", "integer", "longest life"),
        ],
    },
    Kind {
        name: "chunk",
        about: "what a row's place in the files of `chunks` says",
        params: &[need("part", "scan|letter|frame|source|file|chunk_id|key", "of the key, or of the file")],
    },
    Kind { name: "rank", about: "place of a series within its job", params: &[OF] },
];

impl Kind {
    /// That it fills, as the table of types says.
    pub fn types(&self) -> Vec<LogicalType> {
        filled_by(self.name)
    }
}

pub fn kind(name: &str) -> &'static Kind {
    KINDS.iter().find(|kind| kind.name == name).expect("every variant of GenPlan is listed: a test says so")
}

/// kind -> `{"about", "types", "params": {name: {"type", "required", "default"?, "about"}}}`.
pub fn generators_json() -> String {
    let kinds = KINDS.iter().map(|kind| {
        let params = kind.params.iter().map(|p| {
            let mut entry = json!({"type": p.ty, "required": p.required, "about": p.about});
            if let Some(default) = p.default {
                entry["default"] = serde_json::from_str(default).expect("defaults are JSON");
            }
            (p.name.to_string(), entry)
        });
        let types = serde_json::to_value(kind.types()).expect("types have names");
        let params: Map<String, JsonValue> = params.collect();
        (kind.name.to_string(), json!({"about": kind.about, "types": types, "params": params}))
    });
    JsonValue::Object(kinds.collect()).to_string()
}
