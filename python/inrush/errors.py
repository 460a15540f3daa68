"""Errors by what the reader can do about them.

InrushError
├── UsageError            exit 2  the command line or a refusal: say it differently, or --force
│   └── StudyInvalid      exit 2  a study or workload file: all problems at once
├── TargetError           exit 1  a server cannot be reached, refuses us or died
├── CoreError             exit 1  the core ended the run: plan, statement, disk, deadline
├── ResultUnreadable      exit 2  a results folder that is not sealed, damaged or too new
├── RowsMissing           exit 3  a table lacks rows that the ledger of loads has: --again
└── Interrupted           exit 130 stopped by the user; resumable
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


class InrushError(Exception):
    """Root. `str()` is one message for people: what, where, what next."""

    exit_code = 1


class UsageError(InrushError):
    exit_code = 2


class TargetError(InrushError):
    exit_code = 1


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
    classes = {"target": TargetError, "interrupted": Interrupted, "changed": FileChanged}
    return classes.get(kind, CoreError)(re.sub(r"(?<=\n)(?=\S)", "  ", message))


@dataclass(frozen=True)
class Problem:
    """One thing wrong in a file: `file: key is value; remedy`."""

    file: str
    key: str
    value: str
    remedy: str

    def __str__(self) -> str:
        shown = f" is {self.value}" if self.value else ""
        return f"{self.file}: {self.key}{shown}; {self.remedy}"


class StudyInvalid(UsageError):
    """Everything wrong with a study, at once."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(p) for p in in_one_line_each(problems)))


def in_one_line_each(problems: Sequence[Problem]) -> list[Problem]:
    """Values of one key that are wrong for the same reason, as at several points of a study, are one line."""
    values: dict[tuple[str, str, str], list[str]] = {}
    for p in problems:
        of = values.setdefault((p.file, p.key, p.remedy), [])
        if p.value not in of:
            of.append(p.value)
    return [Problem(file, key, ", ".join(of), remedy) for (file, key, remedy), of in values.items()]
