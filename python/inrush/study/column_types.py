"""The type of a column as a workload file names it, and the message about a name that is none. Pure."""

from __future__ import annotations

import difflib
import re
from typing import Final

from inrush.study.document import Node
from inrush.workload import LOGICAL_TYPES, TYPES

KINDS: Final = tuple(kind.name for kind in TYPES.values() if kind.written == kind.name)
CHAR: Final = "char(n)"
#: All that may be written, and those of tables that are fed from files.
NAMES: Final = (*KINDS, CHAR, *(kind.written for kind in TYPES.values() if kind.written != kind.name))
NAMES_OF_FILES: Final = (*LOGICAL_TYPES, CHAR)
#: Names that databases and languages have -> ours.
ELSEWHERE: Final = {
    **{name: kind.written for kind in TYPES.values() for name in kind.also},
    **dict.fromkeys(("char", "varchar", "character", "character varying", "fixedstring"), CHAR),
}
#: A name this near to one of ours is a slip of the hand. Nearer names of two characters differ in what they hold.
NEAR: Final = 0.8


def read_type(node: Node, from_files: bool) -> str:
    name = node.text()
    if name and name not in KINDS:
        node.problem(unknown_type(name, from_files))
        return ""
    return name


def unknown_type(name: str, from_files: bool) -> str:
    """Remedy: the type that was meant, where that is clear, and all there are."""
    names = NAMES_OF_FILES if from_files else NAMES
    plain = re.sub(r"\s*\(.*", "", name.strip().lower())
    near = difflib.get_close_matches(plain, [n for n in names if len(n) > 3], n=1, cutoff=NEAR)
    guess = ELSEWHERE.get(plain) or (near[0] if near and same_width(near[0], plain) else None)
    meant = f"; did you mean `{guess}`?" if guess in names else ";"
    return f"unknown type{meant} choose from: {', '.join(names)}"


def same_width(one: str, other: str) -> bool:
    """list_f16 is not list_u16, nor list_f64 list_f46: what holds so many bits is no slip."""
    return re.findall(r"\D\d+", one) == re.findall(r"\D\d+", other)
