"""Where the processes of a run wait for each other, and when they go on. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inrush.agent.clocks import Clock, shift
from inrush.border.events import Barrier, Began, Written
from inrush.results.parts import Shift

#: A start that is later is said: a call may take less time.
LATE_NS = 1_000_000


@dataclass(frozen=True)
class Opened:
    """All processes have come to one point."""

    index: int
    point: str
    #: Between the word and the start, what the slowest of them needs.
    needs_ns: int
    #: Process -> what its sessions have written in the segment that is over.
    written: Mapping[int, Sequence[Written]] = field(default_factory=dict)

    def at_ns(self, now_ns: int, start_after_ns: int) -> int:
        """The instant at which they go on: at once, unless sessions start. start_after_ns: what the word takes to them."""
        return now_ns if self.point != "start" else now_ns + start_after_ns + self.needs_ns

    def others(self, process: int) -> list[Written]:
        """What a process is sent, so that it knows of all rows: each judges answers by what was written, and one proves."""
        return [of for other, each in self.written.items() if other != process for of in each]


class Barriers:
    def __init__(self, processes: int) -> None:
        self.processes = processes
        self.there: dict[int, Barrier] = {}
        #: Process -> its CLOCK_MONOTONIC at its run time 0.
        self.zero_ns: dict[int, int] = {}

    def came(self, process: int, event: Barrier) -> Opened | None:
        """None as long as others are on their way."""
        self.there[process] = event
        self.zero_ns[process] = event["zero_ns"]
        if len(self.there) < self.processes:
            return None
        met = {(e["index"], e["point"]) for e in self.there.values()}
        assert len(met) == 1, f"processes of one plan meet at {sorted(met)}"
        needs_ns = max(e["needs_ns"] for e in self.there.values())
        written = {process: e["written"] for process, e in sorted(self.there.items()) if e["written"]}
        self.there.clear()
        ((index, point),) = met
        return Opened(index, point, needs_ns, written)

    def shifts(self, clocks: Sequence[Clock]) -> list[Shift]:
        """By process: from its run time to that of the first one. clocks: by process."""
        first = self.zero_ns.get(0, 0)
        return [
            shift(clocks[process], self.zero_ns[process], clocks[0], first)
            if process in self.zero_ns
            else Shift()
            for process in range(self.processes)
        ]


@dataclass(frozen=True)
class SharedStart:
    """The instant that the processes were given to start at."""

    at_ns: int
    #: Process -> what was sent to it, of its own clock as it was known then.
    sent_ns: Mapping[int, int]


@dataclass
class Starts:
    """When the processes began what they began together."""

    processes: int
    #: (segment, repetition) -> process -> what it says.
    found: dict[tuple[int, int], dict[int, Began]] = field(default_factory=dict)
    #: The latest word; and the one that each start followed.
    latest: SharedStart | None = None
    words: dict[tuple[int, int], SharedStart] = field(default_factory=dict)

    def given(self, word: SharedStart) -> None:
        self.latest = word

    def began(self, process: int, event: Began) -> None:
        key = event["index"], event["repetition"]
        # The next word is not given before all have said that they began.
        if key not in self.found and self.latest is not None:
            self.words[key] = self.latest
        self.found.setdefault(key, {})[process] = event

    def documents(self, clocks: Sequence[Clock]) -> list[Mapping[str, Any]]:
        """Each start, in order; a process that did not begin is None. clocks: by process, as they are known in the end."""
        return [self.document(*key, of, clocks) for key, of in sorted(self.found.items())]

    def document(
        self, segment: int, repetition: int, of: Mapping[int, Began], clocks: Sequence[Clock]
    ) -> Mapping[str, Any]:
        """late: after the agreed instant, as a process was given it. Of a process its first session, since its sessions share
        the cores. instant_off: by how much what was sent to it was later than that instant."""
        first = [of[p]["first_late_ns"] if p in of else None for p in range(self.processes)]
        last = [of[p]["last_late_ns"] if p in of else None for p in range(self.processes)]
        known = [late for late in first if late is not None]
        return {
            "segment": segment,
            "repetition": repetition,
            "first_session_late_ns": first,
            "last_session_late_ns": last,
            "instant_off_ns": self.instants_off(self.words.get((segment, repetition)), clocks),
            "spread_ns": max(known) - min(known),
        }

    def instants_off(self, word: SharedStart | None, clocks: Sequence[Clock]) -> list[int | None]:
        sent = word.sent_ns if word is not None else {}
        at_ns = word.at_ns if word is not None else 0
        return [clocks[p].here(sent[p]) - at_ns if p in sent else None for p in range(self.processes)]


def late_starts(starts: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> list[str]:
    """Sentences about starts that were late. labels: of the segments."""
    said = []
    for start in starts:
        late = {n: ns for n, ns in enumerate(start["first_session_late_ns"]) if (ns or 0) > LATE_NS}
        if late:
            worst = max(late, key=lambda process: late[process])
            said.append(
                f"segment {labels[start['segment']]}: {len(late)} of {len(start['first_session_late_ns'])} client "
                f"processes began later than 1 ms, process {worst + 1} by {late[worst] / 1e6:.1f} ms: the machine had "
                "no core for it, or the word came late"
            )
    return said
