"""Made-up journals of loads: what their workers would have said."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inrush.load.pipeline.stretches import Stretch, on_one_clock, stretch

#: (begin, end, rows, bytes) of a file; the end of one that was not heard is None.
File = tuple[int, "int | None", int, int]


def journal(
    folder: Path,
    files: dict[int, File],
    looks: Sequence[tuple[int, int, int]] = (),
    go_ns: int = 100,
    zero_ns: int = 0,
    unix_ns: int = 0,
    end_ns: int | None = None,
    **go: Any,
) -> Stretch:
    """One stretch. looks: (t, rows, bytes) of it alone. end_ns: it ended in order. go: what was stored before."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "load.journal"
    before = {"rows": 0, "bytes": 0, "done": 0, "in_hand": [], "unheard": [], "again": [], **go}
    timed: list[tuple[int, dict[str, Any]]] = []
    for n, (begin, end, rows, size) in files.items():
        timed.append((begin, {"said": "begins", "t_ns": begin, "file": n, "pipeline": 0}))
        if end is not None:
            done = {
                "start_ns": begin,
                "sent_ns": end,
                "end_ns": end,
                "bytes": size,
                "rows": rows,
                "rejected": 0,
            }
            timed.append((end, {"said": "file", "file": n, "pipeline": 0, **done}))
    timed += [(t, {"said": "look", "t_ns": t, "rows": rows, "bytes": size}) for t, rows, size in looks]
    if end_ns is not None:
        timed.append((end_ns, {"said": "end", "t_ns": end_ns, "by": "work"}))
    first = {"said": "go", "t_ns": go_ns, "zero_ns": zero_ns, "zero_unix_ns": unix_ns, **before}
    lines = [first, *(line for _, line in sorted(timed, key=lambda one: one[0]))]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    found = stretch(path)
    assert found is not None
    return found


def joined(*of: Stretch) -> list[Stretch]:
    return on_one_clock(of)
