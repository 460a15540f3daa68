"""Figures of ClickHouse's checksum queries. Pure."""

from __future__ import annotations

from inrush.engines.base.checksum import ROW_DIVISOR, HashedFigures
from inrush.engines.base.sql import quote
from inrush.engines.clickhouse.tables import number_of
from inrush.workload import Column


class ClickhouseFigures(HashedFigures):
    """A sum of UInt64 or Int64 halves is exact up to 2^32 rows; sums of hashes wrap at 2^64, as ours do."""

    rows = "count()"

    def total(self, term: str) -> str:
        return f"sum({term})"

    def not_null(self, column: Column) -> str:
        name = quote(column.name)
        return f"countIf(notEmpty({name}))" if column.type.startswith("list") else f"count({name})"

    def count_true(self, name: str) -> str:
        return f"countIf({name} != 0)"

    def whole(self, column: Column) -> str:
        name, number = quote(column.name), number_of(column)
        if number is not None:
            return f"{number}({name})"
        return name if column.type == "u64" else f"toInt64({name})"

    def factor(self, whole: str) -> str:
        return f"toInt64(bitAnd({whole}, 65535))"

    def low(self, whole: str) -> str:
        return f"bitAnd({whole}, 4294967295)"

    def high(self, whole: str, signed: bool) -> str:
        return f"bitShiftRight({whole}, 32)"

    def length(self, column: Column) -> str:
        return f"length({quote(column.name)})"

    def scaled(self, name: str, by: int) -> str:
        return f"toInt64(toFloat64({name}) * {by})"

    def hashed(self, column: Column) -> str:
        """NULL has no hash. Of a text it is the same as of what it is the text of, where that is a text too."""
        name = quote(column.name)
        text = f"toString({name})" if column.type == "text" and column.declared else name
        return f"cityHash64({digits(column) if column.type == 'bytes' else text})"

    def hashed_row(self, number: str) -> str:
        return f"intHash64({number})"

    def truth(self, name: str) -> str:
        return f"({name} != 0)"

    def remainder(self, value: str) -> str:
        return f"ifNull(toInt64({value} % {ROW_DIVISOR}), {ROW_DIVISOR})"


def digits(column: Column) -> str:
    """The hexadecimal digits of a column of bytes, in lower case."""
    return f"lower(hex({quote(column.name)}))"
