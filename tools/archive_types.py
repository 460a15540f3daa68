"""Writes archive-types: a table for each Tango type, scalar and array, read-only and read-write, and the study of them all.

The tables differ in a word or two, so they are made from one list. `python tools/archive_types.py` writes both files
again; a test compares them with this list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ARCHIVE = Path(__file__).parents[1] / "python" / "inrush" / "studies" / "archive"
#: Rows of a table at each scale, scalar and array.
ROWS = {"": (1_000_000, 10_000), "xs": (300, 60), "s": (100_000, 2_000), "full": (10_000_000, 100_000)}
#: Empty ones, and the longest that an event generator of Tango makes.
ITEMS = (0, 1_000)


#: Shares of NULL among the values of a scalar and of an array, so that the smallest scale has some of each.
NULL_SHARES = ("0.01", "0.05")


@dataclass(frozen=True)
class Tango:
    """A type of Tango: its logical type and generator as a scalar, then the type of its list and the generator of its items."""

    type: str
    gen: str
    list: str | None = None
    item: str = ""


def uniform(least: str, most: str) -> str:
    return f'gen = "uniform", from = {least}, to = {most}'


#: Values as hdbpp-timescale's test data has them: integers to 10,000 and to the ends of unsigned types, states of Tango.
TYPES: Mapping[str, Tango] = {
    "devboolean": Tango(
        "bool", 'gen = "flag", true_ppm = 500_000', "list_bool", 'gen = "flag", true_ppm = 500_000'
    ),
    "devshort": Tango("i16", uniform("-10_000", "10_000"), "list_i16", uniform("-10_000", "10_000")),
    "devlong": Tango("i32", uniform("-10_000", "10_000"), "list_i32", uniform("-10_000", "10_000")),
    "devfloat": Tango("f32", uniform("-1_000", "1_000"), "list_f32", uniform("-1_000", "1_000")),
    "devdouble": Tango("f64", 'gen = "walk", from = 0, to = 1_000', "list_f64", uniform("0", "1_000")),
    "devushort": Tango("u16", uniform("0", "65_535"), "list_u16", uniform("0", "65_535")),
    "devulong": Tango("u32", uniform("0", "4_294_967_295"), "list_u32", uniform("0", "4_294_967_295")),
    "devstring": Tango(
        "text",
        'gen = "text", min_bytes = 0, max_bytes = 40',
        "list_text",
        'gen = "text", min_bytes = 0, max_bytes = 40',
    ),
    "devstate": Tango("u8", uniform("0", "13"), "list_u8", uniform("0", "13")),
    "devuchar": Tango("u8", uniform("0", "255"), "list_u8", uniform("0", "255")),
    "devlong64": Tango(
        "i64",
        uniform("-4_000_000_000_000_000_000", "4_000_000_000_000_000_000"),
        "list_i64",
        uniform("-4_000_000_000_000_000_000", "4_000_000_000_000_000_000"),
    ),
    # The prefix makes all of them larger than a signed number can be; an item is one of the ends of both kinds of numbers.
    "devulong64": Tango(
        "u64",
        'gen = "pattern", prefix = "f5", every = 1',
        "list_u64",
        'gen = "categorical", '
        "values = [0, 9_223_372_036_854_775_807, 9_223_372_036_854_775_808, 18_446_744_073_709_551_615]",
    ),
    "devencoded": Tango("blob", 'gen = "bytes", min_bytes = 0, max_bytes = 256'),
    # Of an array an archive keeps the numbers of the labels.
    "devenum": Tango(
        "enum",
        'gen = "categorical", values = ["OFF", "ON", "MOVING", "FAULT"], weights = [8, 4, 2, 1]',
        "list_i16",
        uniform("0", "3"),
    ),
}
#: Tango has no attribute of this format and type, so an archive's table of it stays empty.
NO_ARRAYS = ("devencoded",)
ACCESS = ("ro", "rw")


def tables() -> Iterator[tuple[str, Tango, bool, str]]:
    """Name, type, whether it holds arrays, access."""
    for is_array in (False, True):
        for name, tango in TYPES.items():
            for access in ACCESS:
                if tango.list or not is_array:
                    yield f"{'array' if is_array else 'scalar'}_{name}_{access}", tango, is_array, access


def value(column: str, tango: Tango, is_array: bool) -> list[str]:
    """The columns of one value."""
    nulls = f", null_share = {NULL_SHARES[is_array]}"
    if not is_array:
        some = "" if tango.gen.startswith('gen = "walk"') else nulls
        return [f'{{ name = "value_{column}", type = "{tango.type}", {tango.gen}{some} }}']
    least, most = ITEMS
    items = f"min_items = {least}, max_items = {most:_}, of = {{ {tango.item} }}"
    return [f'{{ name = "value_{column}", type = "{tango.list}", gen = "array", {items}{nulls} }}']


def table(name: str, tango: Tango, is_array: bool, access: str) -> str:
    columns = [
        '{ name = "att_conf_id", type = "i32", gen = "cycle", from = 1, to = "attributes" }',
        '{ name = "data_time", type = "time_us", gen = "sweep_time" }',
        *value("r", tango, is_array),
        *(value("w", tango, is_array) if access == "rw" else ()),
        '{ name = "quality", type = "i16", gen = "flag", true_ppm = 1_000 }',
        '{ name = "att_error_desc_id", type = "i32", gen = "uniform", from = 1, to = 200, null_share = 0.999 }',
    ]
    return (
        f'[tables.att_{name}]\nseries = "attributes"\nperiod_s = 10\nidentity = ["att_conf_id", "data_time"]\n'
        'layouts = { pk = ["identity"] }\ncolumns = [\n' + "".join(f"  {c},\n" for c in columns) + "]\n"
    )


def compact(name: str) -> str:
    return f"""[operations.compact_{name}]
kind = "maintain"
table = "att_{name}"
sql.mysql = ["ALTER TABLE {{table}} ROW_FORMAT = COMPRESSED"]
sql.mariadb = ["ALTER TABLE {{table}} ROW_FORMAT = COMPRESSED"]
sql.clickhouse = ["OPTIMIZE TABLE {{table}} FINAL"]
sql.sqlite = ["VACUUM"]
sql.duckdb = ["CHECKPOINT"]
unsupported.postgresql = "it compresses single values above 2 kB and no rows"
unsupported.timescaledb = "not every edition compresses; archive-compress asks the server"
"""


def history(name: str, access: str) -> str:
    returned = ["data_time", "value_r", *(["value_w"] if access == "rw" else []), "quality"]
    return f"""[operations.history_{name}]
kind = "extract"
table = "att_{name}"
params.id = {{ gen = "range", column = "att_conf_id" }}
params.from = {{ gen = "range", end = "from" }}
params.to = {{ gen = "range", end = "to" }}
range = {{ share = 0.5 }}
returns = [{", ".join(f'"{c}"' for c in returned)}]
sql.default = \"\"\"
SELECT {", ".join(returned)} FROM {{table}}
WHERE att_conf_id = :id AND data_time >= :from AND data_time < :to ORDER BY data_time\"\"\"
"""


MADE = "# Made by tools/archive_types.py; change that list, not this file.\n"


def workload() -> str:
    return "\n".join(
        [
            MADE + "# Sources: the tables of hdbpp-mysql, one for each format, type and access.\nschema = 1\n"
            'epoch = "2016-01-01T00:00:00Z"\nsizes = { attributes = 10 }\n',
            *(table(*each) for each in tables()),
            '[operations.insert]\nkind = "insert"\n',
            *(compact(name) for name, *_ in tables()),
            *(history(name, access) for name, _, _, access in tables()),
        ]
    )


def step(name: str, do: str, **keys: str) -> str:
    return f'[[steps]]\nname = "{name}"\ndo = "{do}"\n' + "".join(f"{k} = {v}\n" for k, v in keys.items())


def steps() -> Iterator[str]:
    for name, _, is_array, _ in tables():
        rows = ROWS[""][is_array]
        yield step(
            f"load_{name}",
            "load",
            table=f'"att_{name}"',
            rows=f"{{ total = {rows:_} }}",
            batch_rows="100" if is_array else "1_000",
        )
    for name, *_ in tables():
        yield step(f"compact_{name}", "statement", operation=f'"compact_{name}"', limit_s="3_600")
    yield step("settle", "settle", seconds="2")
    for name, *_ in tables():
        yield step(f"read_{name}", "extract", operation=f'"history_{name}"', calls="2")


def scale(name: str) -> str:
    rows = ROWS[name]
    lines = [f"[scale.{name}]"]
    for table_name, _, is_array, _ in tables():
        batch = (
            ", batch_rows = 20" if name == "xs" and is_array else ", batch_rows = 100" if name == "xs" else ""
        )
        lines.append(f"steps.load_{table_name} = {{ rows = {{ total = {rows[is_array]:_} }}{batch} }}")
    if name == "xs":
        lines += ["steps.settle = { seconds = 0.2 }", "repeats.count = 1"]
    return "\n".join(lines) + "\n"


def study() -> str:
    accepted = "".join(f'"read_{name}.wrong" = 0\n' for name, *_ in tables())
    return "\n".join(
        [
            MADE
            + """# Experiment: every type of Tango, scalar and array, read-only and read-write: written, compressed, read back and compared.
schema = 1
title = "Archive: every type of Tango"
question = "Which types of Tango does an engine give back value by value, and what does an event of each weigh, before and after compression?"
expect = "Every engine gives back every value, and none of the reads is wrong."
workload = "types-workload.toml"
kind = "steps"
engines = ["duckdb", "sqlite"]
layout = "pk"
""",
            *steps(),
            """[repeats]
count = 2
seed = 1

[answer]
kind = "comparison"
of = "load_scalar_devdouble_ro.rows_per_s"
asked = ["read_*.wrong", "load_*.bytes_per_row", "compact_*.grown_bytes"]

[[expected]]
claim = "an extract of an array has no wrong answer"
values = { all = 0 }
rule = { kind = "at_most", of = "read_array_devdouble_rw.wrong" }

[accept]
"""
            + accepted,
            *(scale(name) for name in ROWS if name),
        ]
    )


def files() -> dict[Path, str]:
    return {ARCHIVE / "types-workload.toml": workload(), ARCHIVE / "types.toml": study()}


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text)
