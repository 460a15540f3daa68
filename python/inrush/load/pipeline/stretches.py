"""A load that was killed and went on, as one: its stretches on one clock, the gaps between them, and its tables. Pure
but for reading the journals, line by line.

Each stretch has a monotonic clock of its own, whose zero is known by the wall clock: that joins them. A file or a row that a
kill left half done is what the ledger says of it when the next stretch begins.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from inrush.load.pipeline.journal import lines

Doc = dict[str, Any]

#: How a load ends that did not fail.
ORDERLY = ("work", "limit", "stop")


@dataclass(frozen=True)
class Stretch:
    """From GO to its end or its kill. Times are the worker's CLOCK_MONOTONIC; `at` has them on the run's clock."""

    path: Path
    #: zero_ns and zero_unix_ns: the worker's clock. rows, bytes, done: rows, bytes and files that were stored before.
    #: in_hand: (file, rows, bytes) that the ledger has of files that are not done. unheard: the same of files that were done
    #: before, and whose end no worker heard. again: files whose end was heard, and which the ledger does not have whole.
    go: Mapping[str, Any]
    #: Its last word; of one that failed, when something was stored last: it may have waited for a server that was gone.
    last_ns: int
    #: Rows and bytes of its own, by its last look.
    rows: int
    bytes: int
    #: Files that ended, with their rows and bytes, and the end of the last one (0: none ended).
    files: int
    file_rows: int
    file_bytes: int
    rejected: int
    file_ns: int
    #: `work`, `limit`, `stop`, what failed; empty: killed.
    ended: str
    #: What its worker's clock is behind the run's, ns; and by how much the wall clock had gone back before it.
    offset_ns: int = 0
    back_ns: int = 0

    def at(self, t_ns: int) -> int:
        return int(t_ns) - int(self.go["zero_ns"]) + self.offset_ns

    @property
    def begin_ns(self) -> int:
        return self.at(self.go["t_ns"])

    @property
    def end_ns(self) -> int:
        return self.at(self.last_ns)


def stretch(path: Path) -> Stretch | None:
    """None where its files were never due."""
    go: Doc | None = None
    last_ns = rows = size = files = file_rows = file_bytes = rejected = file_ns = 0
    grown_ns, ended = 0, ""
    for line in lines(path):
        last_ns = max(last_ns, int(line.get("t_ns", 0)))
        match line["said"]:
            case "go":
                go = line
            case "look":
                grown_ns = line["t_ns"] if line["rows"] > rows else grown_ns
                rows, size = line["rows"], line["bytes"]
            case "file":
                files, rejected = files + 1, rejected + line["rejected"]
                file_rows, file_bytes = file_rows + line["rows"], file_bytes + line["bytes"]
                file_ns = max(file_ns, line["end_ns"])
                last_ns = max(last_ns, file_ns)
            case "end":
                ended = line["by"]
                break  # what is recorded behind it is of later steps
    if go is None:
        return None
    if ended not in ("", *ORDERLY):
        last_ns = max(int(go["t_ns"]), grown_ns, file_ns)
    return Stretch(path, go, last_ns, rows, size, files, file_rows, file_bytes, rejected, file_ns, ended)


def on_one_clock(found: Sequence[Stretch]) -> list[Stretch]:
    """Each on the clock of the first, by the wall clock; one never begins before the one before it has ended."""
    placed: list[Stretch] = []
    for one in found:
        if placed:
            first, before = placed[0], placed[-1]
            by_wall = int(one.go["zero_unix_ns"]) - int(first.go["zero_unix_ns"])
            at_least = before.end_ns - (int(one.go["t_ns"]) - int(one.go["zero_ns"]))
            one = replace(one, offset_ns=max(by_wall, at_least), back_ns=max(0, at_least - by_wall))
        placed.append(one)
    return placed


def gaps(of: Sequence[Stretch]) -> list[tuple[int, int]]:
    """From when to when no client loaded, on the run's clock."""
    return [(a.end_ns, b.begin_ns) for a, b in itertools.pairwise(of)]


def worked_ns(of: Sequence[Stretch]) -> int:
    return sum(one.end_ns - one.begin_ns for one in of)


@dataclass(frozen=True)
class Whole:
    """What the load came to."""

    rows: int
    bytes: int
    files: int
    rejected: int
    start_ns: int
    #: The last row was stored, or what cut it.
    end_ns: int


def whole(of: Sequence[Stretch], ended_by: str) -> Whole:
    """ended_by: of its last stretch. A load that was cut has what its clients had said so far."""
    last = of[-1]
    before = last.go
    done = ended_by == "work" and bool(last.file_ns)
    rows, size = int(before["rows"]), int(before["bytes"])
    if ended_by == "work":
        rows, size = rows + last.file_rows, size + last.file_bytes
    else:
        rows, size = rows + last.rows, size + last.bytes
    end_ns = last.at(last.file_ns) if done else last.end_ns
    return Whole(
        rows,
        size,
        int(before["done"]) + last.files,
        last.rejected,
        of[0].begin_ns,
        max(end_ns, last.begin_ns),
    )


def withdrawn(of: Sequence[Stretch], k: int) -> set[int]:
    """Files that ended in stretch k by what was heard, and not by the ledger: they are loaded again later."""
    return {int(file) for later in of[k + 1 :] for file in later.go["again"]}


def files(of: Sequence[Stretch], segment: int, role: str) -> Iterator[Doc]:
    """A row for each file that was stored whole, in the order in which they ended; all were due when the load began.

    A file that was in hand at a kill has the begin of its first attempt and the end of its last one: gaps may lie in it.
    """
    due_ns = of[0].begin_ns
    #: Files that have begun and not ended -> when, and by which pipeline.
    under_way: dict[int, tuple[int, int]] = {}

    def row(file: int, pipeline: int, sent_ns: int, end_ns: int, rows: int, size: int, rejected: int) -> Doc:
        start_ns, first = under_way.pop(file, (due_ns, pipeline))
        return {
            "segment": segment, "repetition": 0, "role": role, "file": file, "pipeline": first, "due_ns": due_ns,
            "start_ns": start_ns, "sent_ns": sent_ns, "end_ns": end_ns, "bytes": size, "rows": rows, "rejected": rejected,
            # How many places of the key space a file touches, a load server does not say.
            "runs": 0,
        }  # fmt: skip

    for k, one in enumerate(of):
        before = {int(file): (int(rows), int(size)) for file, rows, size in one.go["in_hand"]}
        for file, rows, size in one.go["unheard"] if k else ():
            end_ns = of[k - 1].end_ns
            yield row(file, 0, end_ns, end_ns, rows, size, 0)
        undone = withdrawn(of, k)
        for line in lines(one.path):
            if line["said"] == "begins":
                under_way.setdefault(line["file"], (one.at(line["t_ns"]), line["pipeline"]))
            elif line["said"] == "file" and line["file"] not in undone:
                under_way.setdefault(line["file"], (one.at(line["start_ns"]), line["pipeline"]))
                rows, size = before.get(line["file"], (0, 0))
                yield row(
                    line["file"], line["pipeline"], one.at(line["sent_ns"]), one.at(line["end_ns"]),
                    rows + line["rows"], size + line["bytes"], line["rejected"],
                )  # fmt: skip


class StoredBy(NamedTuple):
    """What is stored by a time, from the load's begin on."""

    t_ns: int
    rows: int
    bytes: int
    files: int


def intervals(
    of: Sequence[Stretch], total: Whole, files_due: int, segment: int, role: str, op: str, interval_ns: int
) -> Iterator[Doc]:
    """What was stored from one look at the clients to a later one, `interval_ns` or more behind it; a call is a file.

    They add up to the whole, and none lies in a gap. What the clients had said when they were killed and the ledger
    does not have was not stored; what it has beyond their last word was stored in the last interval before the gap, or,
    of a stretch that was killed before it said anything and so has no time, in the first one behind it.
    """
    first = of[0].go
    last = StoredBy(0, int(first["rows"]), int(first["bytes"]), int(first["done"]))
    for k, one in enumerate(of):
        until = StoredBy(total.end_ns, total.rows, total.bytes, total.files)
        if k + 1 < len(of):
            go = of[k + 1].go
            until = StoredBy(one.end_ns, int(go["rows"]), int(go["bytes"]), int(go["done"]))
        last = last._replace(t_ns=one.begin_ns)
        for seen, under_way in looks(one, until, interval_ns, withdrawn(of, k)):
            yield {
                "segment": segment, "repetition": 0, "role": role, "op": op, "t_ns": last.t_ns,
                "dt_ns": seen.t_ns - last.t_ns, "rows": seen.rows - last.rows, "bytes": seen.bytes - last.bytes,
                "ops": seen.files - last.files, "errors": 0, "late": 0, "in_flight": under_way,
                "backlog": max(0, files_due - seen.files - under_way), "cum_rows": seen.rows,
            }  # fmt: skip
            last = seen


def looks(
    one: Stretch, until: StoredBy, interval_ns: int, undone: Collection[int]
) -> Iterator[tuple[StoredBy, int]]:
    """What a stretch had stored by the end of each interval, and files under way then. until: by its end.

    undone: as of `withdrawn`.
    """
    begun = done = int(one.go["done"])
    begin_ns = last_ns = one.begin_ns
    for line in lines(one.path):
        match line["said"]:
            case "begins":
                begun += 1
            case "file" if line["file"] not in undone:
                done += 1
            case "look":
                t_ns = one.at(line["t_ns"])
                near = t_ns - last_ns < interval_ns or until.t_ns - t_ns < interval_ns
                if not begin_ns < t_ns < until.t_ns or near:
                    continue
                rows = min(int(one.go["rows"]) + line["rows"], until.rows)
                size = min(int(one.go["bytes"]) + line["bytes"], until.bytes)
                yield StoredBy(t_ns, rows, size, min(done, until.files)), max(0, begun - done)
                last_ns = t_ns
    # Those in hand at its end have not ended: at a kill, or at its limit.
    if until.t_ns > last_ns:
        yield until, max(0, begun - until.files)


def sizes(of: Sequence[Stretch], segment: int) -> Iterator[Doc]:
    """What was sampled while it went on."""
    for one in of:
        for line in lines(one.path):
            if line["said"] == "sizes":
                t_ns = one.at(line["t_ns"])
                # What was sampled while a load waited for a server that was gone lies in the gap.
                for name, value in line["found"] if t_ns <= one.end_ns else ():
                    yield {"segment": segment, "t_ns": t_ns, "name": name, "value": value}


def received(one: Stretch) -> list[tuple[int, int]]:
    """(CLOCK_MONOTONIC, bytes) that the load servers had received of their clients."""
    return [(line["t_ns"], line["bytes"]) for line in lines(one.path) if line["said"] == "net"]
