"""Figures of DuckDB's checksum queries. Pure."""

from __future__ import annotations

from inrush.engines.base.checksum import ChecksumFigures
from inrush.engines.base.sql import quote
from inrush.workload import Column

#: Type -> its 64 bits; of other types their number.
WHOLE = {"time_ms": "epoch_ms({})", "time_us": "epoch_us({})", "bit": "{}::UBIGINT", "u64": "{}"}


class DuckDBFigures(ChecksumFigures):
    """As text: sums are 128-bit integers, which Arrow has not."""

    exact_sums = True

    def total(self, term: str) -> str:
        return f"{super().total(term)}::VARCHAR"

    def whole(self, column: Column) -> str:
        return WHOLE.get(column.type, "{}::BIGINT").format(quote(column.name))

    def factor(self, whole: str) -> str:
        return f"{super().factor(whole)}::BIGINT"

    def length(self, column: Column) -> str:
        return f"strlen({quote(column.name)})"

    def scaled(self, name: str, by: int) -> str:
        return f"({name}::DOUBLE * {by})::HUGEINT"
