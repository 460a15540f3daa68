"""What the core says of values, as it reads them from a file."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from inrush.study.said import TextSaid
from inrush.study.sniff import evidence_of as evidence_of_column
from inrush.study.sniff import look_at
from inrush.study.value_types import Evidence, Seen, TextKind

#: One column, whatever stands in it.
ONE_COLUMN = TextSaid(False, ("v",), "mysql")


def evidence_of(values: Sequence[str]) -> Evidence:
    """How many of the values are of each kind; they have no tab, no line end and no backslash."""
    if not any(values):
        return Evidence({kind_of(""): Seen(len(values))} if values else {})
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "a.txt")
        file.write_text("".join(f"{value}\n" for value in values))
        [looked] = look_at([str(file)], len(values) + 1, ONE_COLUMN, False)
    assert looked is not None and looked.sample is not None
    [column] = json.loads(looked.sample)["columns"]
    kinds = evidence_of_column(column, "\\N").kinds
    return Evidence({kind: Seen(seen.number) for kind, seen in kinds.items()})


def kind_of(value: str) -> TextKind:
    return next(iter(evidence_of([value or "x"]).kinds))
