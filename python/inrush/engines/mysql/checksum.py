"""Figures of the checksum queries of MySQL and MariaDB. Pure."""

from __future__ import annotations

from inrush.engines.base.checksum import ROW_DIVISOR, HashedFigures
from inrush.engines.base.sql import bits_of, quote
from inrush.workload import FLOAT_TYPES, Column


class MysqlFigures(HashedFigures):
    """The sum of integers is a DECIMAL: exact, without overflow."""

    exact_sums = True

    def count_true(self, name: str) -> str:
        return self.total(self.truth(name))

    def truth(self, name: str) -> str:
        return f"({name} <> 0)"

    def whole(self, column: Column) -> str:
        name = quote(column.name)
        since = f"TIMESTAMPDIFF(MICROSECOND, TIMESTAMP '1970-01-01 00:00:00', {name})"
        return {"time_ms": f"({since} DIV 1000)", "time_us": since, "bit": f"({name} + 0)"}.get(
            column.type, name
        )

    def high(self, whole: str, signed: bool) -> str:
        # Shifts are of unsigned numbers: the upper half of a negative one comes out 2^32 too large.
        return (
            f"CAST({whole} >> 32 AS SIGNED) - IF({whole} < 0, 4294967296, 0)" if signed else f"{whole} >> 32"
        )

    def length(self, column: Column) -> str:
        # The generator counts bytes in UTF-8.
        name = quote(column.name)
        return f"LENGTH({name if column.charset == 'utf8mb4' else f'CONVERT({name} USING utf8mb4)'})"

    def scaled(self, name: str, by: int) -> str:
        return f"CAST({name} * {by}e0 AS SIGNED)"

    def hashed(self, column: Column) -> str:
        """A value's CRC-32: of a text's bytes in UTF-8, of a float's bits, which nothing but a geometry shows."""
        name = quote(column.name)
        if column.type in FLOAT_TYPES:
            return f"CRC32(ST_AsBinary(Point({name} + 0e0, 0)))"
        if column.type == "bytes":
            return f"CRC32({digits(column)})"
        return f"CRC32(CAST({name} AS CHAR CHARACTER SET utf8mb4))"

    def hashed_row(self, number: str) -> str:
        return f"CRC32({number})"

    def remainder(self, value: str) -> str:
        # One unsigned operand would make every sum unsigned.
        return f"CAST(IFNULL({value} % {ROW_DIVISOR}, {ROW_DIVISOR}) AS SIGNED)"


def digits(column: Column) -> str:
    """The hexadecimal digits of a column of bytes or bits, in lower case. Of a number HEX gives no zeros before it."""
    name, bits = quote(column.name), bits_of(column.declared)
    upper = f"LPAD(HEX({name} + 0), {(bits + 7) // 8 * 2}, '0')" if bits else f"HEX({name})"
    return f"CAST(LOWER({upper}) AS CHAR CHARACTER SET utf8mb4)"
