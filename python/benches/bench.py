"""What inrush costs, and how it compares with what others use: `make bench`.

Every comparison is made in interleaved rounds on the same rows and judged by the paired 95 % log-t
interval of its ratio (ours / theirs of speeds, theirs / ours of costs: above 1 is better): met, short or undecided
(`verdict.judged`). What is undecided after its rounds gets more of them until the interval is narrower than ±8 %. Peers
that are not installed are named and left out. Writes results/bench.json.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import inf
from pathlib import Path

from benches import (
    clickhouse,
    clients,
    device,
    extraction,
    floors,
    influxdb,
    ingest,
    loading,
    lookups,
    mysql,
    places,
    tsbs,
    valkey,
    watching,
    wholefiles,
)
from benches.keylookups import cluster, race
from benches.verdict import MOST_ROUNDS, NARROW, Word, is_narrow, judged
from inrush import _core
from inrush.engines import server
from inrush.engines.base.instance import Instance, Stop
from inrush.engines.base.lifecycle import Lifecycle
from inrush.stats.stats import Interval, log_t, paired_ratio

ROUNDS = 10
#: Rounds of what takes half a minute a time.
LOOKS = 3
#: Of records of a file against its peer.
NARROW_DISK = 0.03
#: Of these, less is better: their ratio is turned over, so that above 1 is good here too.
COSTS = ("MB",)


@dataclass(frozen=True)
class Line:
    """One line of results/bench.json; `ours` and `theirs` are geometric means in `unit`."""

    name: str
    peer: str
    ours: float
    theirs: float
    ratio: float
    unit: str
    rounds: int
    lo: float
    hi: float
    bar: float
    #: met, short or undecided
    verdict: str
    #: Of what should agree with its peer: the ratio is not above this either.
    most: float | None = None
    #: What else was measured in the same rounds.
    note: str | None = None


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--most-rounds", type=int, default=MOST_ROUNDS, help="of what is undecided before")
    parser.add_argument("--only", default="", help="comparisons whose name holds this text")
    parser.add_argument(
        "--rows", type=int, nargs="+", default=extraction.ROWS, help="of extractions, a table of each size"
    )
    parser.add_argument("--out", type=Path, default=Path("results/bench.json"))
    asked = parser.parse_args()
    if _core.build_profile() != "release":
        print(
            "the core is a debug build: its figures say nothing; `make core` builds the release",
            file=sys.stderr,
        )
        return 2
    cluster.begin_anew(asked.only)
    # Asked to end, it ends as by Ctrl-C: what it started is stopped.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    lines = []
    with servers(asked.only):
        for comparison in comparisons(asked.only, asked.rows):
            line = measured(comparison, asked.rounds, asked.most_rounds)
            print(shown(line), flush=True)
            lines.append(line)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps([asdict(line) for line in lines], indent=1) + "\n")
    print("\n".join([f"{asked.out}: {len(lines)} comparisons", *by_verdict(lines)]))
    return 0


def by_verdict(lines: Sequence[Line]) -> Iterator[str]:
    """How many bars are met, and each that is not by name, its interval beside it."""
    yield f"met: {sum(line.verdict == Word.MET.value for line in lines)}"
    for word in (Word.SHORT, Word.UNDECIDED):
        of = [line for line in lines if line.verdict == word.value]
        yield f"{word.value}: {len(of)}"
        yield from (
            f"  {line.name}, {line.peer}: {line.ratio:.2f} [{line.lo:.2f}, {line.hi:.2f}], {barred(line)}"
            for line in of
        )


@contextmanager
def servers(only: str) -> Iterator[None]:
    """A server of each engine for as long as the comparisons last, unless one is named; none where it is not fetched."""
    with ExitStack() as started:
        for engine, offer in OFFERS.items():
            if not needs(engine, only):
                continue
            own = server(engine).lifecycle
            assert own is not None
            if places.url_of(engine) is None and own.fetched() is None:
                print(
                    f"no {engine} here: its comparisons are left out; `make servers` fetches one", flush=True
                )
            elif places.url_of(engine) is None:
                offer(started.enter_context(a_server(own)))
        yield


def needs(engine: str, only: str) -> bool:
    """Whether comparisons whose name holds this text may be on this engine."""
    words = [word.rstrip(",") for word in only.split()]
    of = NEEDED.get(words[0], words[0]) if words else ""
    # Clusters are started by their comparisons, one after the other.
    named = len(words) > 1 and words[0] in NEEDED and words[1] in (*OFFERS, cluster.ENGINE)
    return engine == words[1] if named else engine.startswith(of)


@contextmanager
def a_server(own: Lifecycle) -> Iterator[Instance]:
    folder = Path(tempfile.mkdtemp(prefix="inrush-bench-", dir="/var/tmp"))
    folder.chmod(0o755)
    instance = own.start(folder / own.name, {})
    try:
        yield instance
    finally:
        own.stop(instance, Stop.CLEAN)
        shutil.rmtree(folder)


#: First word of comparisons that do not begin with their engine's name -> that name.
NEEDED: Mapping[str, str | tuple[str, ...]] = {
    "loading": "postgresql",
    "files": wholefiles.ENGINES,
    "clients": clients.SERVERS,
    "extraction": tuple(extraction.WAYS),
    "keylookups": race.CURVES,
}
#: Engine -> how its comparisons learn of the server.
OFFERS: Mapping[str, Callable[[Instance], None]] = {
    "postgresql": places.offer,
    "clickhouse": clickhouse.offer,
    "mysql": places.offer,
    "mariadb": places.offer,
    "influxdb": places.offer,
    "timescaledb": places.offer,
    "valkey": places.offer,
}


@dataclass(frozen=True)
class Comparison:
    """`ours` and `theirs` give one round's speed or cost; a bar without a peer has a constant in its place."""

    name: str
    peer: str
    unit: str
    bar: float
    ours: Callable[[], float]
    theirs: Callable[[], float]
    most: float | None = None
    #: Of those that last half a minute each; None: as many as were asked for.
    rounds: int | None = None
    note: Callable[[], str | None] = lambda: None
    #: An interval this narrow gets no more rounds.
    narrow: float = NARROW


def comparisons(only: str, rows: Sequence[int]) -> Iterator[Comparison]:
    races = (floors, ingest, clickhouse, mysql, influxdb, tsbs, lookups, valkey, device)
    made = [Comparison(*parts) for module in races for parts in module.comparisons()]
    # What should agree may be off by as much on the other side.
    alike = [Comparison(*parts) for module in (ingest, lookups) for parts in module.agreements()]
    # The bars are 5 % away: an interval of 8 % could not lie within them.
    alike += [replace(Comparison(*parts), narrow=NARROW_DISK) for parts in device.agreements()]
    looks = [replace(Comparison(*parts), rounds=LOOKS) for parts in watching.agreements()]
    both_sides = (replace(c, most=2 - c.bar) for c in (*alike, *looks))
    loads = [
        replace(Comparison(*parts), note=partial(loading.note, parts[0])) for parts in loading.comparisons()
    ]
    loads += [
        replace(Comparison(*parts), note=partial(clients.note, parts[0])) for parts in clients.comparisons()
    ]
    extracts = [
        replace(Comparison(*parts), note=partial(extraction.note, parts[0]))
        for parts in extraction.comparisons(rows)
    ]
    keys = [replace(Comparison(*parts), note=partial(race.note, parts[0])) for parts in race.comparisons()]
    keys += [Comparison(*parts) for parts in cluster.comparisons()]
    files = [
        replace(Comparison(*parts), note=partial(wholefiles.note, parts[0]))
        for parts in wholefiles.comparisons()
    ]
    return (c for c in (*made, *loads, *extracts, *files, *keys, *both_sides) if only in c.name)


def measured(comparison: Comparison, rounds: int, most_rounds: int) -> Line:
    """`rounds` of both sides; of what is undecided then, more of them, until the interval is narrow.

    When the interval is narrow does not depend on which side of the bar it lies: stopping as soon as it lies well would
    call a bar met, or short, by luck.
    """
    ours: list[float] = []
    theirs: list[float] = []

    def measure(n: int) -> Interval:
        # The order turns every round: neither always follows the other.
        pair = [(ours, comparison.ours), (theirs, comparison.theirs)]
        for values, once in pair if n % 2 == 0 else reversed(pair):
            values.append(once())
        if n == 0:
            return Interval(ours[0] / theirs[0], 0.0, inf, 0.95, 1)
        return paired_ratio(theirs, ours) if comparison.unit in COSTS else paired_ratio(ours, theirs)

    first = max(2, min(rounds, comparison.rounds or rounds))
    for n in range(first):
        ratio = measure(n)
    if judged(ratio, comparison.bar, comparison.most) is Word.UNDECIDED:
        for n in range(first, most_rounds):
            if is_narrow(ratio, comparison.narrow):
                break
            ratio = measure(n)
    return Line(
        name=comparison.name,
        peer=comparison.peer,
        ours=log_t(ours).value,
        theirs=log_t(theirs).value if len(set(theirs)) > 1 else theirs[0],
        ratio=ratio.value,
        unit=comparison.unit,
        rounds=len(ours),
        lo=ratio.low,
        hi=ratio.high,
        bar=comparison.bar,
        verdict=judged(ratio, comparison.bar, comparison.most).value,
        most=comparison.most,
        note=comparison.note(),
    )


def shown(line: Line) -> str:
    return (
        f"{line.name:<34} {line.ours:>14,.0f} {line.unit:<22} {line.ratio:6.2f} × {line.peer} "
        f"[{line.lo:.2f}, {line.hi:.2f}] in {line.rounds} rounds, {barred(line)}: {line.verdict}"
        f"{f'; {line.note}' if line.note else ''}"
    )


def barred(line: Line) -> str:
    return f"bar {line.bar:g}{f' to {line.most:g}' if line.most else ''}"


if __name__ == "__main__":
    sys.exit(main())
