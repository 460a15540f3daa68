"""Calls that read or write records of a file in place of rows: operations of kind `io`, and how a role calls them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, get_args

from inrush.study.document import Node, Reader, given
from inrush.study.forms import Factors, FromFactor, Ref, read_form, values_of
from inrush.study.sizes import parse_size
from inrush.workload import IoOrder, Operation

#: What calls do: `mixed` is some of each.
READ, WRITE, MIXED = "read", "write", "mixed"
DOES = (READ, WRITE, MIXED)
ORDERS = get_args(IoOrder)
#: Offsets and lengths of direct I/O are multiples of it; twin of IO_BLOCK in rust/rows/src/plan/io.rs.
IO_BLOCK = 4096
#: Of one record.
MOST_RECORD_BYTES = 1 << 30
#: Keys of an operation of kind `io`.
OPERATION_KEYS = frozenset({"kind", "file_bytes", "about"})
#: Keys of `io` of a role.
IO_KEYS = ("does", "order", "record_bytes", "read_share")


@dataclass(frozen=True)
class IoOf(Generic[Ref]):
    """What the calls of a role do."""

    does: str | Ref
    order: IoOrder | Ref
    record_bytes: int | Ref
    #: Of `mixed`, above 0 and below 1: so many of the calls read.
    read_share: float | Ref | None = None


def parse_io(node: Node, name: str, fields: Mapping[str, Node], sizes: Mapping[str, float]) -> Operation:
    """An operation of kind `io`: the size of the file that its records are of."""
    for key in fields.keys() - OPERATION_KEYS:
        fields[key].problem('kind = "io" has a file and no rows: it has file_bytes alone; remove it')
    if "file_bytes" not in fields:
        node.problem("write file_bytes, the size of the file that is read and written")
        return Operation(name, "io", file_bytes=IO_BLOCK)
    size = parse_size(fields["file_bytes"], sizes)
    if size < IO_BLOCK:
        fields["file_bytes"].problem(f"{size:,} bytes: the file has {IO_BLOCK:,} at least")
    # Whole blocks of it are laid out.
    return Operation(name, "io", file_bytes=max(size - size % IO_BLOCK, IO_BLOCK))


def parse_io_of(node: Node, factors: Factors) -> IoOf[FromFactor] | None:
    """`{ does = "@does", order = "random", record_bytes = 4096, read_share = 0.7 }`; None where a part is missing."""
    needed = IO_KEYS[:3]
    fields = node.fields(IO_KEYS, required=needed)
    readers: dict[str, Reader] = {
        "does": lambda one: read_form(one, factors, lambda of: of.text(DOES, "kind of call"), READ),
        "order": lambda one: read_form(
            one, factors, lambda of: of.text(ORDERS, "order of records"), ORDERS[0]
        ),
        "record_bytes": lambda one: read_form(one, factors, read_record_bytes, IO_BLOCK),
        "read_share": lambda one: read_form(one, factors, read_part, 0.5),
    }
    values = given(fields, readers)
    if any(key not in fields for key in needed):
        return None
    found: IoOf[FromFactor] = IoOf(**values)
    all_does = set(does_of(fields["does"], found.does, factors))
    if MIXED in all_does and "read_share" not in fields:
        node.problem("calls that are mixed need read_share, e.g. 0.7: so many of them read")
    elif "read_share" in fields and all_does <= {READ, WRITE}:
        fields["read_share"].problem("only calls that are mixed have it; remove it")
    return found


def does_of(node: Node, form: str | FromFactor, factors: Factors) -> list[Any]:
    """Everything that it may be; empty of what could not be read."""
    return (
        [value.value for value in values_of(node, form, factors)] if isinstance(form, FromFactor) else [form]
    )


def read_record_bytes(node: Node) -> int:
    found = node.integer(1, MOST_RECORD_BYTES)
    if found % IO_BLOCK:
        node.problem(f"direct I/O takes multiples of {IO_BLOCK:,} bytes")
    return found


def read_part(node: Node) -> float:
    found = node.number()
    if not 0 < found < 1:
        node.problem('some of each: above 0 and below 1; of one kind alone say does = "read" or "write"')
    return found
