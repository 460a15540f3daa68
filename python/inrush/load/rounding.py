"""Values of files that have more digits than the column of floats they went into: stored as the nearest float, and said."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from inrush.load.proof import NOT_COMPARED, LoadVerdict
from inrush.study.formats import TEXT_FORMATS
from inrush.workload import Table

#: Files up to so many bytes are read once more for it, and any that `--verify` reads again.
CHEAP_BYTES = 32 << 20
#: And so many of them.
CHEAP_FILES = 1_000
#: Of Parquet: types with numbers that a type of floats may not hold. Decimals are texts.
WIDER = {"f32": ("f64", "text"), "f64": ("text",), "list_f64": ("text",)}
PRECISIONS = {"f32": "single", "f64": "double", "list_f64": "double"}


def with_rounding(
    found: LoadVerdict,
    table: Table,
    files: Sequence[Mapping[str, Any]],
    of_files: Mapping[str, str],
    verify: bool,
) -> LoadVerdict:
    """The verdict with what was rounded. files: documents as of `plan.Wanted`; of_files: their columns, with their types."""
    loose = {column for column, how in found.columns.items() if NOT_COMPARED in how}
    floats = {c.name: c.type for c in table.columns if c.type in PRECISIONS and c.name not in loose}
    texts = [file for file in files if file["format"] in TEXT_FORMATS]
    # Beside a column that is not compared the others are called equal too.
    equal = found.verdict == "proven" or (found.verdict == "counted" and found.columns)
    if not texts:  # Parquet says how wide its numbers are
        floats = {column: kind for column, kind in floats.items() if of_files.get(column) in WIDER[kind]}
    if not equal or not floats:
        return found
    precision = "single" if "f32" in floats.values() else "double"
    said = f", as far as {precision} precision holds"
    if not texts:
        return replace(found, why=f"{found.why}{said} (in {', '.join(floats)})")
    names = list(of_files)
    is_cheap = len(texts) <= CHEAP_FILES and sum(map(size_of, texts)) <= CHEAP_BYTES
    if verify or is_cheap:
        counts: Counter[str] = Counter()
        for file in texts:
            counts += rounded(file, names if file["header"] else [c.name for c in table.columns], floats)
        if not counts:
            return found
        n = counts.total()
        said += f": {n:_} value{'s have' if n != 1 else ' has'} more digits (in {', '.join(counts)})"
    return replace(found, why=found.why + said)


def size_of(file: Mapping[str, Any]) -> int:
    return Path(file["path"]).stat().st_size


def rounded(file: Mapping[str, Any], names: Sequence[str], floats: Mapping[str, str]) -> Counter[str]:
    """Column -> how many of its values are other numbers as floats."""
    from inrush import _core

    looked = [column for column in floats if column in names]
    document = {
        "path": file["path"],
        "format": file["format"],
        "written": file["written"],
        "header": file["header"],
        "fields": list(names),
        "columns": [(names.index(column), floats[column] == "f32") for column in looked],
    }
    counts = dict(zip(looked, _core.rounded_values(json.dumps(document)), strict=True))
    return Counter({column: n for column, n in counts.items() if n})
