"""The checksum query of a proof: what engine and generator both count and sum, and one walk that makes SQL of it. Pure."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar

from inrush.border.plan import ChecksumItem, Product, ValueHash
from inrush.engines.base.plans import Proof, TablePlan
from inrush.engines.base.sql import quote
from inrush.workload import FLOAT_TYPES, SPELLED, Column, Table, holding

#: A `ChecksumItem`, for the dialects that read one.
Item = Mapping[str, Any]
#: Fractional bits of a generated float whose generator does not say: value = k * 2**-bits. Twin of DEFAULT_BITS in rows.
DEFAULT_FLOAT_BITS = 8
#: The checksum query multiplies every value with this many key columns, so that a value moved to another row shows.
PRODUCT_KEYS = 2

WHOLE_TYPES = frozenset(holding("signed", "unsigned", "bits", "time"))
#: Types with values that a function of `ValueHash` is asked for, and that no other sum holds.
HASHED_TYPES = frozenset({*SPELLED, "decimal"} - {"date"})
#: A whole row as a number: what its values are divided by, and stands for NULL. Twin of rust/rows/src/rows/row_sum.rs.
ROW_DIVISOR = 2**31 - 1
#: Types whose values end in blanks that are not theirs.
PADDED = re.compile(r"(char|character|bpchar)(\(|$)")


class ChecksumFigures(ABC):
    """The figures of a dialect: its words for what is counted and summed. Sums are wrapped so that an empty table gives 0, as the
    generator's twin does."""

    rows = "count(*)"
    #: A sum of whole numbers of 64 bits is exact; else both halves are summed.
    exact_sums: ClassVar[bool] = False

    def figure(self, item: Item, column: Callable[[str], Column]) -> str:
        """One item as an SQL aggregate."""
        kind = item["kind"]
        if kind == "rows":
            return self.rows
        if kind == "product":
            key, value = (self.factor(self.whole(column(item[name]))) for name in ("key", "value"))
            return self.total(f"{key} * {value}")
        of = column(item["column"])
        name = quote(of.name)
        if kind == "not_null":
            return self.not_null(of)
        if kind == "count_true":
            return self.count_true(name)
        if kind == "sum_length":
            return self.total(self.length(of))
        if kind == "sum_scaled":
            # Scaling a double by a power of two is exact, and so is the cast of a whole one.
            return self.total(self.scaled(name, 2 ** item["bits"]))
        whole = self.whole(of)
        if kind == "sum":
            return self.total(whole)
        return self.total(self.low(whole) if kind == "sum_low" else self.high(whole, item["signed"]))

    def total(self, term: str) -> str:
        return f"coalesce(sum({term}), 0)"

    def not_null(self, column: Column) -> str:
        return f"count({quote(column.name)})"

    def count_true(self, name: str) -> str:
        return f"count(*) FILTER (WHERE {name})"

    def whole(self, column: Column) -> str:
        """A whole column as a number of 64 bits: times in their own unit since 1970."""
        return quote(column.name)

    def factor(self, whole: str) -> str:
        """The lowest 16 bits, of which a product fits into 64."""
        return f"({whole} & 65535)"

    def low(self, whole: str) -> str:
        return f"{whole} & 4294967295"

    def high(self, whole: str, signed: bool) -> str:
        return f"{whole} >> 32"

    @abstractmethod
    def length(self, column: Column) -> str:
        """Of a text, in bytes of UTF-8."""

    @abstractmethod
    def scaled(self, name: str, by: int) -> str:
        """A float times what makes it whole, as a whole number."""


class HashedFigures(ChecksumFigures):
    """Of an engine with a function of `ValueHash`: it also sums hashes of values and of rows."""

    def figure(self, item: Item, column: Callable[[str], Column]) -> str:
        if item["kind"] == "sum_rows":
            return self.total(self.hashed_row(self.row_number(item, column)))
        if item["kind"] == "sum_hash":
            return self.total(self.hashed(column(item["column"])))
        return super().figure(item, column)

    def row_number(self, item: Item, column: Callable[[str], Column]) -> str:
        """The number of a row, below 2^63 for 4,096 columns."""
        names = item["columns"]
        return " + ".join(
            f"{weight} * {self.remainder(self.number(column(name)))}"
            for weight, name in zip(row_weights(len(names)), names, strict=True)
        )

    def number(self, column: Column) -> str:
        """A value, or its hash, as a whole number."""
        if column.type == "bool":
            return self.truth(quote(column.name))
        return self.whole(column) if column.type in WHOLE_TYPES else self.hashed(column)

    @abstractmethod
    def hashed(self, column: Column) -> str: ...

    @abstractmethod
    def hashed_row(self, number: str) -> str: ...

    @abstractmethod
    def truth(self, name: str) -> str:
        """0 or 1."""

    @abstractmethod
    def remainder(self, value: str) -> str:
        """A number modulo `ROW_DIVISOR` with the sign of the dividend, which stands for NULL itself; as an integer of 64 bits."""


def row_weights(columns: int) -> list[int]:
    """What the remainders of so many columns are multiplied by. Twin of rust/rows/src/rows/row_sum.rs."""
    return [pow(48_271, k + 1, 1_048_573) for k in range(columns)]


def proof(
    table: Table,
    plan: TablePlan,
    figures: ChecksumFigures,
    unsigned_is_signed: bool,
    hashing: ValueHash | None = None,
    hashed: Collection[str] = HASHED_TYPES,
    lengths: Collection[str] = ("text",),
    read_column: Callable[[Column], str] = lambda column: quote(column.name),
) -> Proof:
    """Screen and read-back. hashing, hashed, lengths: as of `checksum_items`. read_column: a column as the read-back selects it."""
    items = checksum_items(table, unsigned_is_signed, hashing, hashed, lengths, figures.exact_sums)
    return Proof(
        checksum_query=f"SELECT {', '.join(figures.figure(item, table.column) for item in items)} FROM {plan.name}",
        items=items,
        read_back=f"SELECT {', '.join(map(read_column, table.columns))} FROM {plan.name}",
    )


def checksum_items(
    table: Table,
    unsigned_is_signed: bool,
    hashing: ValueHash | None = None,
    hashed: Collection[str] = HASHED_TYPES,
    lengths: Collection[str] = ("text",),
    exact_sums: bool = False,
) -> tuple[ChecksumItem, ...]:
    """What engine and generator both count and sum.

    unsigned_is_signed: u64 is stored with its bits reinterpreted, so its upper half shifts arithmetically.
    hashing: the engine's function of `ValueHash`, for values of types in `hashed`; without one they are proven by the
    read-back alone. lengths: types whose values the engine keeps as the bytes that were sent, so that it can sum their
    lengths. exact_sums: as of `ChecksumFigures`.
    Floats from files are not summed: only generated ones are known to be k * 2**-bits. Nor are columns with NaN or an
    infinity, whose sum would be one.
    """
    items: list[ChecksumItem] = [{"kind": "rows"}]
    for column in table.columns:
        name = column.name
        items += _counted(column, unsigned_is_signed, exact_sums)
        if column.type in FLOAT_TYPES and column.gen is not None and not column.not_finite:
            items.append({"kind": "sum_scaled", "column": name, "bits": float_bits(column)})
        elif column.type in lengths:
            items.append({"kind": "sum_length", "column": name})
        elif column.type in hashed and hashing is not None:
            items.append({"kind": "sum_hash", "column": name, "hash": hashing})
    return (*items, *_products(table))


def load_items(
    table: Table,
    hashing: ValueHash,
    unsigned_is_signed: bool,
    declared: Mapping[str, str],
    loose: Collection[str] = (),
    exact_sums: bool = False,
) -> tuple[ChecksumItem, ...]:
    """What client and server of a load both count and sum: figures of every column, whatever its type, and of whole rows.

    hashing: the engine's function of `ValueHash` in rust/rows/src/rows/value_hash.rs, for texts and floats. Lists have none, and
    are read back. declared: column -> type in the database; blanks at the end of a `char(n)` do not count. loose: columns
    whose values the database may round, which are in no figure of rows. exact_sums: as of `ChecksumFigures`.
    """
    items: list[ChecksumItem] = [{"kind": "rows"}]
    trimmed = []
    for column in table.columns:
        name = column.name
        items += _counted(column, unsigned_is_signed, exact_sums)
        if column.type in WHOLE_TYPES:
            continue
        if column.type == "bool":
            items.append({"kind": "count_true", "column": name})
        elif column.type.startswith("list"):
            items.append({"kind": "sum_hash", "column": name, "hash": "read_back"})
        else:
            padded = PADDED.match(declared.get(name, "").lower()) is not None
            trimmed += [name] if padded else []
            items.append({"kind": "sum_hash", "column": name, "hash": hashing, "trimmed": padded})
    readable = hashing == "read_back"
    in_rows = [
        c for c in table.columns if c.name not in loose and (readable or not c.type.startswith("list"))
    ]
    if len(in_rows) > 1:  # two values of a single column cannot change places
        unsigned = [c.name for c in in_rows if c.type == "u64" and not unsigned_is_signed]
        items.append(
            {
                "kind": "sum_rows",
                "hash": hashing,
                "columns": [c.name for c in in_rows],
                "unsigned": unsigned,
                "trimmed": [name for name in trimmed if name not in loose],
            }
        )
    return tuple(items)


def _counted(column: Column, unsigned_is_signed: bool, exact_sums: bool) -> list[ChecksumItem]:
    """The values of a column that may be NULL, and whole numbers, or both halves of them."""
    items: list[ChecksumItem] = [{"kind": "not_null", "column": column.name}] if column.nullable else []
    if column.type in WHOLE_TYPES:
        signed = unsigned_is_signed or column.type not in ("u64", "bit")
        if exact_sums:
            return [*items, {"kind": "sum", "column": column.name, "signed": signed}]
        items.append({"kind": "sum_low", "column": column.name})
        items.append({"kind": "sum_high", "column": column.name, "signed": signed})
    return items


def float_bits(column: Column) -> int:
    """Fractional bits of a generated float column."""
    return int((column.gen or {}).get("bits", DEFAULT_FLOAT_BITS))


def _products(table: Table) -> tuple[Product, ...]:
    whole = [c.name for c in table.columns if c.type in WHOLE_TYPES]
    keys = [name for name in table.identity if name in whole][:PRODUCT_KEYS] or whole[:1]
    return tuple(
        {"kind": "product", "key": key, "value": value}
        for k, key in enumerate(keys)
        for value in whole
        if value not in keys[: k + 1]
    )
