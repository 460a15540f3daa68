"""What several workers have left of one run, as one: table after table, batch after batch.

Of a worker that was killed in its load what it had watched is kept, and what was done before the load; all else is the
last one's. Times are those of the first worker's clock. What counts up goes on where it was: it does not grow between two
workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from inrush.agent.watched import AT_ENDS, LEVELS, MACHINE_LEVELS
from inrush.load.pipeline import stretches
from inrush.load.pipeline.stretches import Stretch
from inrush.results.parts import Shift, read, stream
from inrush.results.schema import SCHEMAS

#: Tables of what was done, of which a killed worker's rows before its load are kept.
BEFORE = ("segments", "counters", "sizes")
#: Why a worker ended that said nothing.
KILLED = "killed"
#: What does not count up.
GAUGES = (*LEVELS, *MACHINE_LEVELS, *AT_ENDS)


def write(parts: Path, earlier: Sequence[Path], of: Sequence[Stretch], load: int) -> None:
    """parts: of the last worker, which are written anew. load: index of the segment that was killed."""
    by_parts = {one.path.parent: one for one in of}
    # One that did not come to its load has watched nothing that counts.
    before = [(path, by_parts[path]) for path in earlier if path in by_parts]
    for name in SCHEMAS:
        tables = [*earlier_tables(name, before, load), *last_tables(name, parts, of[-1], load)]
        path = parts / f"{name}.arrows"
        if name == "resources":
            stream(path, goes_on(each(name, [p for p, _ in before] + [parts], of)), name)
        elif tables or path.is_file():
            stream(path, iter(tables), name)


def document(of: Sequence[Stretch], load: int, step: str) -> dict[str, Any]:
    """Its gaps, and what each worker did from when to when; before `write`, which drops the settings of later ones."""
    settings = [settings_of(one.path.parent) for one in of]
    gaps = [
        {"segment": load, "step": step, "from_ns": begin, "until_ns": end, "why": one.ended or KILLED}
        for one, (begin, end) in zip(of, stretches.gaps(of), strict=False)
    ]
    found = [
        {
            "parts": str(one.path.parent), "begun_unix_ns": one.go["zero_unix_ns"], "offset_ns": one.offset_ns,
            "clock_went_back_ns": one.back_ns, "from_ns": one.begin_ns, "until_ns": one.end_ns,
            "rows_before": one.go["rows"],
            "settings": differing(settings[0], its),
        }
        for one, its in zip(of, settings, strict=True)
    ]  # fmt: skip
    return {"gaps": gaps, "stretches": found}


def differing(first: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str | None]:
    """Settings that are others than at first; None: such a one is not there any more. Where one worker was killed before
    it had read them, nothing is known to differ."""
    if not first or not other:
        return {}
    return {k: other.get(k) for k in sorted({*first, *other}) if first.get(k) != other.get(k)}


def settings_of(folder: Path) -> dict[str, str]:
    return {row["name"]: row["value"] for table in read("settings", folder) for row in table.to_pylist()}


def earlier_tables(name: str, before: Sequence[tuple[Path, Stretch]], load: int) -> Iterator[pa.Table]:
    """Small ones: what a run did before its load."""
    if not before or name not in (*BEFORE, "settings"):
        return
    path, one = before[0]
    for table in read(name, path, Shift(one.offset_ns)):
        yield table if name == "settings" else table.filter(pc.less(table["segment"], load))


def last_tables(name: str, parts: Path, one: Stretch, load: int) -> Iterator[pa.Table]:
    if name in ("resources", "settings"):
        return
    for table in read(name, parts, Shift(one.offset_ns)):
        yield table.filter(pc.greater_equal(table["segment"], load)) if name in BEFORE else table


def each(name: str, folders: Sequence[Path], of: Sequence[Stretch]) -> Iterator[Iterator[pa.Table]]:
    """Batches of one worker after the other."""
    offsets = {one.path.parent: one.offset_ns for one in of}
    for path in folders:
        yield read(name, path, Shift(offsets[path]))


def goes_on(workers: Iterator[Iterator[pa.Table]]) -> Iterator[pa.Table]:
    """Samples of one worker after the other; those that count up begin where the worker before it had come to."""
    last: dict[str, float] = {}
    for batches in workers:
        base: dict[str, float] = {}
        reached = dict(last)
        for table in batches:
            yield raised(table, last, base, reached)
        last = reached


def raised(
    table: pa.Table, last: Mapping[str, float], base: dict[str, float], reached: dict[str, float]
) -> pa.Table:
    """base: by how much each of a worker's series is raised, from its first sample on; reached: its value by now."""
    if not table.num_rows:
        return table
    texts = [pc.fill_null(table[name], "") for name in ("role", "metric", "device")]
    keys = pc.binary_join_element_wise(*texts, "\0").combine_chunks().dictionary_encode()
    codes, values = keys.indices.to_numpy(), table["value"].combine_chunks().to_numpy().copy()
    names = keys.dictionary.to_pylist()
    _, first = np.unique(codes, return_index=True)
    more = np.zeros(len(names))
    for code, at in zip(np.unique(codes).tolist(), first.tolist(), strict=True):
        name = names[code]
        if name.split("\0")[1] in GAUGES:
            continue
        if name not in base:
            base[name] = last[name] - float(values[at]) if name in last else 0.0
        more[code] = base[name]
    values += more[codes]
    seen, behind = np.unique(codes[::-1], return_index=True)
    for code, at in zip(seen.tolist(), behind.tolist(), strict=True):
        reached[names[code]] = float(values[len(values) - 1 - at])
    return table.set_column(table.schema.get_field_index("value"), "value", pa.array(values, pa.float64()))
