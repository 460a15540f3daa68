"""A TOML document under validation: values with their place, and every problem found in them.

A `Node` never raises for a wrong value: it notes a `Problem` and gives a harmless default, so that one pass finds
everything. The reader of the document refuses it (`errors.refuse`) at the end if anything was noted.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from inrush.border.address import masked
from inrush.errors import Problem

#: Bounds of what the core reads.
I64 = (-(2**63), 2**63 - 1)
U64_MAX = 2**64 - 1
#: In place of a value.
FACTOR = re.compile(r"@\w+")


@dataclass(frozen=True)
class Node:
    """One value of a document."""

    file: str
    key: str
    value: Any
    problems: list[Problem]

    def problem(self, remedy: str) -> None:
        self.problems.append(Problem(self.file, self.key or "the file", without_login(self.value), remedy))

    def at(self, key: str | int, value: Any) -> Node:
        """A value inside this one."""
        name = f"[{key}]" if isinstance(key, int) else f".{key}" if self.key else key
        return Node(self.file, self.key + name, value, self.problems)

    # --- plain values

    def text(self, choices: Iterable[str] | None = None, what: str = "value") -> str:
        """A string that is not empty; one of `choices` where they are given."""
        if not isinstance(self.value, str) or not self.value.strip():
            self.problem("write a text in quotes")
            return ""
        if choices is not None and self.value not in (known := list(choices)):
            self.problem(unknown(what, self.value, known))
            return ""
        return self.value

    def integer(self, low: int = 0, high: int = I64[1], default: int = 1) -> int:
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            self.problem("write a whole number")
            return default
        if not low <= self.value <= high:
            self.problem(f"write a whole number from {low:,} to {high:,}")
            return default
        return self.value

    def number(self, low: float = 0.0, above: bool = False, default: float = 1.0) -> float:
        """A finite number >= low, or > low if `above`."""
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            self.problem("write a number")
            return default
        if not (abs(self.value) <= 1e18 and math.isfinite(self.value)):
            self.problem("write a finite number")
            return default
        if self.value < low or (above and self.value == low):
            self.problem(f"write a number {'above' if above else 'of at least'} {low:g}")
            return default
        return float(self.value)

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            self.problem("write true or false")
            return False
        return self.value

    # --- values made of values

    def items(self, at_least: int = 0) -> list[Node]:
        if not isinstance(self.value, list):
            self.problem("write a list in [ ]")
            return []
        if len(self.value) < at_least:
            self.problem(f"write at least {at_least} value{'s' * (at_least > 1)}")
        return [self.at(i, item) for i, item in enumerate(self.value)]

    def texts(
        self, choices: Iterable[str] | None = None, what: str = "value", at_least: int = 0
    ) -> tuple[str, ...]:
        """A list of strings without doubles."""
        found: list[str] = []
        for node in self.items(at_least):
            text = node.text(choices, what)
            if text and text in found:
                node.problem("named twice; remove one")
            elif text:
                found.append(text)
        return tuple(found)

    def members(self) -> dict[str, Node]:
        """The entries of a table with the author's own names as keys."""
        if not isinstance(self.value, dict):
            self.problem("write a table, { key = value }")
            return {}
        return {key: self.at(key, value) for key, value in self.value.items()}

    def fields(self, allowed: Iterable[str], required: Iterable[str] = ()) -> dict[str, Node]:
        """The entries of a table with keys of ours: unknown ones are problems, so are missing ones.

        A misspelt key stands for the one that was meant, and there is no other message about it.
        """
        members = self.members()
        if not isinstance(self.value, dict):
            return {}
        known = list(allowed)
        fields = {key: node for key, node in members.items() if key in known}
        for key, node in members.items():
            if key not in known:
                node.problem(unknown("key", key, known))
                if guess := nearest(key, known):
                    fields.setdefault(guess, Node(node.file, node.key, node.value, []))
        for key in required:
            if key not in fields:
                self.problems.append(
                    Problem(
                        self.file, self.at(key, None).key, "", "is missing; every file of this kind says it"
                    )
                )
        return fields


#: What reads one field of a table, e.g. `Node.flag`.
Reader: TypeAlias = Callable[[Node], Any]


def given(fields: Mapping[str, Node], readers: Mapping[str, Reader], **otherwise: Any) -> dict[str, Any]:
    """Each field that is there, read by its reader, in the order of the readers; `otherwise` for those that are not."""
    return otherwise | {key: read(fields[key]) for key, read in readers.items() if key in fields}


def word(choices: Sequence[str], what: str) -> Reader:
    """One of `choices`; the first where another is written."""
    return lambda node: node.text(choices, what) or choices[0]


def whole(low: int, high: int) -> Reader:
    return lambda node: node.integer(low, high)


def without_login(value: Any) -> str:
    """A value as it is shown, up to the first address in it; `@batch_rows` names a factor and is none."""
    return shown(value) if names_factors(value) else masked(shown(value))


def names_factors(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(map(names_factors, value))
    return isinstance(value, (int, float)) or (isinstance(value, str) and bool(FACTOR.fullmatch(value)))


def shown(value: Any, limit: int = 60) -> str:
    """A value as its author wrote it, cut where it is long."""
    if isinstance(value, bool):
        return str(value).lower()
    text = "a table" if isinstance(value, Mapping) else f'"{value}"' if isinstance(value, str) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def first_of_each_value(problems: Sequence[Problem]) -> list[Problem]:
    """Without messages about the stand-in of a wrong value: of one place, the value that was found there first.

    An empty list has a stand-in inside of it.
    """
    first: dict[tuple[str, str], str] = {}
    own = [p for p in dict.fromkeys(problems) if first.setdefault((p.file, p.key), p.value) == p.value]
    empty = {(p.file, p.key) for p in own if p.value == "[]"}
    return [p for p in own if (p.file, p.key.rpartition("[")[0]) not in empty]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` was most likely meant to be."""
    close = difflib.get_close_matches(name.lower(), sorted(known), n=1, cutoff=0.55)
    return close[0] if close else None


#: A study has some thirty keys; beyond that it is a list of columns or files.
MOST_NAMES = 40


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Remedy for an unknown name."""
    names = sorted(set(known))
    if guess := nearest(name, names):
        return f"unknown {what}; did you mean `{guess}`?"
    if not names:
        return f"unknown {what}; there is none to choose from"
    few = ", ".join(names[:MOST_NAMES])
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"unknown {what}; choose from: {few}{more}"


def plain(node: Node) -> Any:
    """A value that JSON carries exactly."""
    value = node.value
    if isinstance(value, dict):
        return {key: plain(child) for key, child in node.members().items()}
    if isinstance(value, list):
        return [plain(child) for child in node.items()]
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return node.integer(I64[0], U64_MAX)
    if isinstance(value, float):
        return node.number(low=-1e18)
    node.problem("write a text, a number, true or false")
    return 0
