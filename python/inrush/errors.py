"""Errors by what the reader can do about them.

InrushError
├── UsageError            exit 2  a refusal, with every problem that was found: say it differently, or --force
├── TargetError           exit 1  a server cannot be reached, refuses us or died
│   └── LoginRefused      exit 2  it refuses the user, the password or the certificate
├── CoreError             exit 1  the core ended the run: plan, statement, disk, deadline
├── ResultUnreadable      exit 2  a results folder that is not sealed, damaged or too new
├── RowsMissing           exit 3  a table lacks rows that the ledger of loads has: --again
└── Interrupted           exit 130 stopped by the user; resumable
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass


class InrushError(Exception):
    """Root. `str()` is one message for people: what, where, what next."""

    exit_code = 1


class UsageError(InrushError):
    """A refusal: everything that one look at a file, a plan, a machine or its servers has found, a line each."""

    exit_code = 2

    def __init__(self, problems: str | Iterable[Problem]) -> None:
        """problems: a text is one of them."""
        found = [Problem.sentence(problems)] if isinstance(problems, str) else problems
        self.problems = tuple(found)
        super().__init__("\n".join(map(str, in_one_line_each(self.problems))))


class TargetError(InrushError):
    exit_code = 1


class LoginRefused(TargetError):
    exit_code = 2


class CoreError(InrushError):
    exit_code = 1


class ResultUnreadable(InrushError):
    exit_code = 2


class FileChanged(CoreError):
    """An input file of a load is not what it was when it was looked at."""


class RowsMissing(InrushError):
    exit_code = 3


class Interrupted(InrushError):
    exit_code = 130


def from_core(kind: str, message: str) -> InrushError:
    """What the core raised (`_core.CoreFailure`), by its remedy. Lines of a server's words are moved to the right: none of
    them can pass for one of ours."""
    classes = {
        "target": TargetError, "login": LoginRefused, "interrupted": Interrupted, "changed": FileChanged
    }  # fmt: skip
    return classes.get(kind, CoreError)(re.sub(r"(?<=\n)(?=\S)", "  ", message))


@dataclass(frozen=True)
class Problem:
    """One thing that keeps a command from its work: `file: key is value; remedy`, or a sentence that says all of this."""

    file: str
    key: str
    value: str
    remedy: str

    @classmethod
    def sentence(cls, text: str) -> Problem:
        return cls("", "", "", text)

    def __str__(self) -> str:
        if not (self.file or self.key):
            return self.remedy
        shown = f" is {self.value}" if self.value else ""
        return f"{self.file}: {self.key}{shown}; {self.remedy}"


def refuse(problems: Iterable[Problem]) -> None:
    """Raises UsageError with all of them, if there are any."""
    if found := list(problems):
        raise UsageError(found)


def problems_of(ask: Callable[[], object]) -> tuple[Problem, ...]:
    """What a reader refuses that gives a value otherwise, to be reported with what others have found."""
    try:
        ask()
    except UsageError as refused:
        return refused.problems
    return ()


def in_one_line_each(problems: Iterable[Problem]) -> list[Problem]:
    """Values of one key that are wrong for the same reason, as at several points of a study, are one line."""
    values: dict[tuple[str, str, str], list[str]] = {}
    for p in problems:
        of = values.setdefault((p.file, p.key, p.remedy), [])
        if p.value not in of:
            of.append(p.value)
    return [Problem(file, key, ", ".join(of), remedy) for (file, key, remedy), of in values.items()]
