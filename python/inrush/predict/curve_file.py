"""A user's own curve: two columns of text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inrush.errors import Problem, UsageError, refuse
from inrush.model.curve import Curve, curve
from inrush.study.document import shown

#: Last words of a column's name that say it holds times. `per_s` is a rate.
TIMES = re.compile(
    r"(?<!per)(?:^|[\W_])(s|ms|us|µs|ns|min|h|sec|secs|seconds|minutes|hours|time|latency|duration|elapsed)\W*$",
    re.I,
)
RATES = re.compile(r"(per|/)[\W_]*\w+\W*$", re.I)


@dataclass(frozen=True)
class CurveFile:
    curve: Curve
    x_name: str
    y_name: str

    @property
    def is_time(self) -> bool:
        """Whether the second column's name says that it holds times."""
        return bool(TIMES.search(self.y_name)) and not RATES.search(self.y_name)


def read_curve(path: Path) -> CurveFile:
    """Two columns (comma, semicolon, tab or blank between them), a header or none, # for remarks, equal x for
    repetitions. Raises UsageError with every line that is not so."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as e:
        raise UsageError(f"{path}: {e}; name a file of two columns, or results of a study") from e
    rows = [(n, cells(line)) for n, line in enumerate(lines, start=1) if line.split("#", 1)[0].strip()]
    if not rows:
        raise UsageError(f"{path}: has no lines; write two columns, such as `writers,rows_per_s`")
    header: Sequence[str] = ["x", "y"]
    if all(number(c) is None for c in rows[0][1]):
        header, rows = rows[0][1], rows[1:]
    problems = [
        Problem(f"{path}:{n}", "the line", shown(",".join(row)), "write two numbers, the load and its figure")
        for n, row in rows
        if len(row) != 2 or any(number(c) is None for c in row)
    ]
    refuse(problems[:10])
    if len(header) != 2:
        raise UsageError(f"{path}: {len(header)} columns; keep two, e.g. with `cut`")
    try:
        found = curve([float(r[0]) for _, r in rows], [float(r[1]) for _, r in rows])
    except UsageError as e:
        raise UsageError(f"{path}: {e}") from e
    return CurveFile(found, header[0], header[1])


def cells(line: str) -> Sequence[str]:
    text = line.split("#", 1)[0].strip()
    parts = re.split(r"[,;\t]", text) if re.search(r"[,;\t]", text) else text.split()
    return [p.strip().strip('"') for p in parts]


def number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
