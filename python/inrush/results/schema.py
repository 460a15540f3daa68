"""The tables of a run: the border out, as pyarrow schemas. `docs/results.md` says what each column means."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

#: Number of the result schema. Results with any other number are refused.
RESULT_SCHEMA = 10

_U16, _U32, _U64, _UTF8 = pa.uint16(), pa.uint32(), pa.uint64(), pa.string()

#: Where a figure belongs: segment, repetition, role.
_WHERE = [("segment", _U16), ("repetition", _U32), ("role", _UTF8)]
_PROBED = [("segment", _U16), ("t_ns", _U64), ("name", _UTF8), ("value", _UTF8)]

SCHEMAS: dict[str, pa.Schema] = {
    "segments": pa.schema(
        [
            ("segment", _U16),
            ("kind", _UTF8),
            ("label", _UTF8),
            ("phase", _UTF8),
            ("start_ns", _U64),
            ("end_ns", _U64),
            ("ended_by", _UTF8),
            ("client_cpu_ns", _U64),
            ("step", _UTF8),
        ]
    ),
    "repetitions": pa.schema(
        [
            *_WHERE,
            ("start_ns", _U64),
            ("end_ns", _U64),
            ("rows", _U64),
            ("bytes", _U64),
            ("ops", _U64),
            ("ok", _U64),
            ("errors", _U64),
            ("wrong", _U64),
            ("late", _U64),
            ("unsent", _U64),
            ("sessions", _U32),
            ("cpu_ns", _U64),
            ("unseen", _U64),
            ("queued_ns", _U64),
        ]
    ),
    "samples": pa.schema(
        [
            *_WHERE,
            ("sample", _U64),
            ("due_ns", _U64),
            ("collected_ns", _U64),
            ("sent_ns", _U64),
            ("done_ns", _U64),
            ("rows", _U64),
            ("missing", _U32),
            ("seen_ns", _U64),
            ("sent_on_time_ns", _U64),
            ("done_on_time_ns", _U64),
        ]
    ),
    "files": pa.schema(
        [
            *_WHERE,
            ("file", _U32),
            ("pipeline", _U32),
            ("due_ns", _U64),
            ("start_ns", _U64),
            ("sent_ns", _U64),
            ("end_ns", _U64),
            ("bytes", _U64),
            ("rows", _U64),
            ("rejected", _U64),
            ("runs", _U32),
        ]
    ),
    "intervals": pa.schema(
        [
            *_WHERE,
            ("op", _UTF8),
            ("t_ns", _U64),
            ("dt_ns", _U64),
            ("rows", _U64),
            ("bytes", _U64),
            ("ops", _U64),
            ("errors", _U64),
            ("late", _U64),
            ("in_flight", _U32),
            ("backlog", _U64),
            ("cum_rows", _U64),
        ]
    ),
    "sends": pa.schema(
        [*_WHERE, ("t_ns", _U64), ("dt_ns", _U64), ("ops", _U64), ("sends", _U64), ("bytes", _U64)]
    ),
    "hist": pa.schema(
        [
            *_WHERE,
            ("op", _UTF8),
            ("kind", _UTF8),
            ("t_ns", _U64),
            ("dt_ns", _U64),
            ("grouping_power", pa.uint8()),
            ("bucket", pa.list_(_U32)),
            ("count", pa.list_(_U64)),
            ("n", _U64),
            ("min_ns", _U64),
            ("max_ns", _U64),
            ("sum_ns", _U64),
        ]
    ),
    "failures": pa.schema(
        [
            *_WHERE,
            ("op", _UTF8),
            ("outcome", _UTF8),
            ("count", _U64),
            ("first_message", _UTF8),
            ("first_ns", _U64),
        ]
    ),
    "sessions": pa.schema(
        [*_WHERE, ("session", _U32), ("cpu_ns", _U64), ("busy_ns", _U64), ("ops", _U64), ("rows", _U64)]
    ),
    "resources": pa.schema(
        [("role", _UTF8), ("t_ns", _U64), ("metric", _UTF8), ("device", _UTF8), ("value", pa.float64())]
    ),
    "counters": pa.schema(_PROBED),
    "sizes": pa.schema(_PROBED),
    "settings": pa.schema(_PROBED),
    "proofs": pa.schema(
        [
            ("segment", _U16),
            ("repetition", _U32),
            ("table", _UTF8),
            ("item", _UTF8),
            ("expected", _UTF8),
            ("found", _UTF8),
            ("holds", pa.bool_()),
        ]
    ),
    "answers": pa.schema(
        [
            ("segment", _U16),
            ("op", _UTF8),
            ("params", _UTF8),
            ("row", _U32),
            ("col", _U32),
            ("name", _UTF8),
            ("value", _UTF8),
        ]
    ),
    "steps": pa.schema(
        [
            ("segment", _U16),
            ("step", _UTF8),
            ("statement", _U32),
            ("text", _UTF8),
            ("start_ns", _U64),
            ("end_ns", _U64),
            ("ended_by", _UTF8),
            ("rows", _U64),
            ("message", _UTF8),
        ]
    ),
}


def conform(name: str, table: pa.Table) -> pa.Table:
    """The table with the columns and types of the schema."""
    schema = SCHEMAS[name]
    return table.select(schema.names).cast(schema)


#: The core's own process only watches a load by client and load server, and its client is the load's.
ROLES_OF_LOAD = {"client": "inrush", "load_client": "client"}


def of_load(resources: pa.Table) -> pa.Table:
    """What was watched, under the names that a load has for its roles."""
    return renamed(resources, ROLES_OF_LOAD)


def renamed(table: pa.Table, names: Mapping[str, str]) -> pa.Table:
    """With other names for some roles."""
    roles = pa.array([names.get(role, role) for role in table["role"].to_pylist()], pa.string())
    return table.set_column(table.schema.get_field_index("role"), "role", roles)


def empty(name: str) -> pa.Table:
    return SCHEMAS[name].empty_table()
