"""Values of files that have more digits than the column of floats they went into: stored as the nearest float, and said."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from inrush.load.proof import NOT_COMPARED, LoadVerdict
from inrush.study.formats import DELIMITERS
from inrush.study.sniff import FileDialect, records_of
from inrush.study.types import BLANKS, NUMBER, is_kept
from inrush.workload import Table

#: Files up to so many bytes are read once more for it, and any that `--verify` reads again.
CHEAP_BYTES = 32 << 20
#: And so many of them.
CHEAP_FILES = 1_000
PRECISIONS = {"f32": "single", "f64": "double", "list_f64": "double"}


def with_rounding(
    found: LoadVerdict, table: Table, files: Sequence[Mapping[str, Any]], names: Sequence[str], verify: bool
) -> LoadVerdict:
    """The verdict with what was rounded. files: documents as of `plan.Wanted`; names: of the files' columns."""
    loose = {column for column, how in found.columns.items() if NOT_COMPARED in how}
    floats = {c.name: c.type for c in table.columns if c.type in PRECISIONS and c.name not in loose}
    texts = [file for file in files if file["format"] in DELIMITERS]
    # Beside a column that is not compared the others are called equal too.
    equal = found.verdict == "proven" or (found.verdict == "counted" and found.columns)
    if not equal or not floats or not texts:
        return found
    precision = "single" if "f32" in floats.values() else "double"
    said = f", as far as {precision} precision holds"
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
    delimiter = file["delimiter"] or DELIMITERS[file["format"]]
    dialect = FileDialect(file["format"], delimiter, file["header"], tuple(names))
    looked = [(names.index(c), c, keeps(kind)) for c, kind in floats.items() if c in names]
    counts: Counter[str] = Counter()
    for _, record in records_of(Path(file["path"]), dialect):
        if len(record) != len(names):
            continue
        for at, column, kept in looked:
            if not kept(record[at]):
                counts[column] += 1
    return counts


def keeps(kind: str) -> Callable[[str], bool]:
    """Whether a type has the number that a text writes; what is no number is none of its business."""
    if kind == "list_f64":
        return lambda text: all(map(number_kept, text.strip(BLANKS).strip("[]").split(",")))
    return number_kept if kind == "f64" else number_kept_in_32_bits


def number_kept(text: str) -> bool:
    if len(text) <= 15:
        return "e" not in text.lower() or kept_if_number(text, is_kept)
    return kept_if_number(text, is_kept)


def number_kept_in_32_bits(text: str) -> bool:
    return kept_if_number(text, is_kept_in_32_bits)


def kept_if_number(text: str, kept: Callable[[str], bool]) -> bool:
    text = text.strip(BLANKS)
    if NUMBER.match(text) is None or not any(c.isdigit() for c in text):
        return True
    return kept(text)


def is_kept_in_32_bits(text: str) -> bool:
    """Whether the shortest text of the nearest float of 32 bits is the number that is written."""
    try:
        (value,) = struct.unpack("f", struct.pack("f", float(text)))
    except OverflowError:  # rejected
        return True
    for digits in range(1, 10):
        short = f"{value:.{digits}g}"
        if struct.unpack("f", struct.pack("f", float(short)))[0] == value:
            break
    try:
        return Decimal(text) == Decimal(short)
    except InvalidOperation:
        return False
