"""Figures of PostgreSQL's checksum queries, of inrush's own tables and of those that `inrush load` fills. Pure."""

from __future__ import annotations

from inrush.engines.base.checksum import ROW_DIVISOR, HashedFigures
from inrush.engines.base.sql import bits_of, quote
from inrush.workload import FLOAT_TYPES, Column

#: Twin of SEED in rust/rows/src/rows/lookup3.rs.
HASH_SEED = 0x7A5B_2236_7996_DCFD
#: Times whose distance from 1970 is below 2^31 s.
EXACT_FROM, EXACT_UNTIL = "1902-01-01 00:00:00Z", "2038-01-01 00:00:00Z"


class PostgresqlFigures(HashedFigures):
    """The sum of bigint is a numeric: exact, without overflow."""

    exact_sums = True

    def whole(self, column: Column) -> str:
        name = quote(column.name)
        per_s = {"time_ms": 1_000, "time_us": 1_000_000}.get(column.type)
        return f"{name}::bigint" if per_s is None else f"(extract(epoch FROM {name}) * {per_s})::bigint"

    def length(self, column: Column) -> str:
        return f"octet_length({quote(column.name)})"

    def scaled(self, name: str, by: int) -> str:
        return f"({name}::float8 * {by})::bigint"

    def hashed(self, column: Column) -> str:
        """A value's hash of 64 bits: twin of rust/rows/src/rows/lookup3.rs. `bpchar` loses its blanks as it becomes text."""
        name = quote(column.name)
        if column.type in FLOAT_TYPES:
            return f"hash{'float4' if column.type == 'f32' else 'float8'}extended({name}, {HASH_SEED})"
        # A cast of an `inet` writes the bits of its network where the type itself leaves them out.
        as_text = f"abbrev({name})" if column.type == "inet" else f"{name}::text"
        text = digits(column) if column.type == "bytes" else as_text
        return f'hashtextextended({text} COLLATE "C", {HASH_SEED})'

    def hashed_row(self, number: str) -> str:
        return f"hashint8extended({number}, {HASH_SEED})"

    def truth(self, name: str) -> str:
        return f"{name}::int::bigint"

    def remainder(self, value: str) -> str:
        return f"coalesce({value} % {ROW_DIVISOR}, {ROW_DIVISOR})"


class LoadedFigures(PostgresqlFigures):
    """The same where the table is a user's: long, and read once."""

    def whole(self, column: Column) -> str:
        """`extract` gives a numeric, and takes half of the time of a proof by that.

        A double holds microseconds of these years with an error below 0.25. 2^31 s are 68 years.
        """
        if column.type != "time_us":
            return super().whole(column)
        name = quote(column.name)
        seconds = f"date_part('epoch', {name})"
        return (
            f"(CASE WHEN {name} BETWEEN '{EXACT_FROM}' AND '{EXACT_UNTIL}' THEN ({seconds} * 1000000)::bigint "
            f"ELSE {super().whole(column)} END)"
        )


def digits(column: Column) -> str:
    """The hexadecimal digits of a column of bytes or bits, in lower case."""
    name, bits = quote(column.name), bits_of(column.declared)
    return f"lpad(to_hex({name}::bigint), {(bits + 7) // 8 * 2}, '0')" if bits else f"encode({name}, 'hex')"
