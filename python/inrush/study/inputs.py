"""`files` of a load step: rows as files that are made before the run and loaded from there. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Generic

from inrush.study.document import Node, Reader, given
from inrush.study.forms import Factors, FromFactor, Ref, count, read_form

CLIENT_FILE: Final = "client_file"
SERVER_FILE: Final = "server_file"
PARSED: Final = "parsed"
#: How a file comes into the database: its bytes through the client, read by the server, or read and parsed by the client.
WAYS_IN = (CLIENT_FILE, SERVER_FILE, PARSED)
#: Connections of a session: one for all files, or one for each.
CONNECTS = ("once", "each_file")
MOST_FILES = 1_000_000
#: Types that every engine reads from the same text.
WRITTEN = frozenset({"i16", "i32", "i64", "u8", "u16", "u32", "f32", "f64", "text", "decimal", "date"})


@dataclass(frozen=True, kw_only=True)
class StepFiles(Generic[Ref]):
    #: None: the first that the engine has.
    way: str | Ref | None = None
    #: None: those that the table is cut into by itself.
    count: int | Ref | None = None
    connect: str | Ref = CONNECTS[0]
    #: The kernel forgets them before.
    cold: bool = True
    #: The step that sorts them; empty: none. At points without that step they are as they were made.
    sorted: str = ""


def parse_files(node: Node, factors: Factors) -> StepFiles[FromFactor]:
    readers: dict[str, Reader] = {
        "way": one_of(WAYS_IN, "way in", factors),
        "count": count(factors, 1, MOST_FILES),
        "connect": one_of(CONNECTS, "connection", factors),
        "cold": Node.flag,
        "sorted": Node.text,
    }
    return StepFiles(**given(node.fields(readers), readers))


def one_of(words: Sequence[str], what: str, factors: Factors) -> Reader:
    return lambda node: read_form(node, factors, lambda one: one.text(words, what), words[0])
