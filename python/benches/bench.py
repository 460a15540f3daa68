"""What inrush costs, and how it compares with what others use: `make bench`.

Every comparison is made in interleaved rounds on the same rows and judged by the paired 95 % log-t
interval of its ratio (ours / theirs of speeds, theirs / ours of costs: above 1 is better). A bar is missed
only when the whole interval lies below it. Peers that are not installed are named and left out. Writes
results/bench.json.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import inf
from pathlib import Path

from benches import clickhouse, floors, influxdb, ingest, loading, lookups, mysql, places, watching
from inrush import _core
from inrush.engines import server
from inrush.engines.base import Instance, Stop
from inrush.engines.own_server import OwnServer
from inrush.stats.stats import log_t, paired_ratio

ROUNDS = 10
#: Rounds of what takes half a minute a time.
LOOKS = 3
#: Of these, less is better: their ratio is turned over, so that above 1 is good here too.
COSTS = ("MB",)


@dataclass(frozen=True)
class Line:
    """One line of results/bench.json; `ours` and `theirs` are medians in `unit`."""

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
    met: bool
    #: Of what should agree with its peer: the ratio is not above this either.
    most: float | None = None
    #: What else was measured in the same rounds.
    note: str | None = None


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", default="", help="comparisons whose name holds this text")
    parser.add_argument("--out", type=Path, default=Path("results/bench.json"))
    asked = parser.parse_args()
    if _core.build_profile() != "release":
        print(
            "the core is a debug build: its figures say nothing; `make core` builds the release",
            file=sys.stderr,
        )
        return 2
    # Asked to end, it ends as by Ctrl-C: what it started is stopped.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    lines = []
    with servers(asked.only):
        for comparison in comparisons(asked.only):
            line = measured(comparison, asked.rounds)
            print(shown(line), flush=True)
            lines.append(line)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps([asdict(line) for line in lines], indent=1) + "\n")
    print(f"{asked.out}: {len(lines)} comparisons, {sum(not line.met for line in lines)} bars missed")
    return 0


@contextmanager
def servers(only: str) -> Iterator[None]:
    """A server of each engine for as long as the comparisons last, unless one is named; none where it is not fetched."""
    with ExitStack() as started:
        for engine, offer in OFFERS.items():
            first = only.split()[0].rstrip(",") if only else ""
            if not engine.startswith(NEEDED.get(first, first)):
                continue
            twin = server(engine)
            assert isinstance(twin, OwnServer)
            if places.url_of(engine) is None and twin.fetched() is None:
                print(
                    f"no {engine} here: its comparisons are left out; `make servers` fetches one", flush=True
                )
            elif places.url_of(engine) is None:
                offer(started.enter_context(a_server(twin)))
        yield


@contextmanager
def a_server(twin: OwnServer) -> Iterator[Instance]:
    folder = Path(tempfile.mkdtemp(prefix="inrush-bench-", dir="/var/tmp"))
    folder.chmod(0o755)
    instance = twin.start(folder / twin.name, {})
    try:
        yield instance
    finally:
        twin.stop(instance, Stop.CLEAN)
        shutil.rmtree(folder)


#: First word of comparisons that do not begin with their engine's name -> that name.
NEEDED = {"loading": "postgresql"}
#: Engine -> how its comparisons learn of the server.
OFFERS: Mapping[str, Callable[[Instance], None]] = {
    "postgresql": places.offer,
    "clickhouse": clickhouse.offer,
    "mysql": places.offer,
    "mariadb": places.offer,
    "influxdb": places.offer,
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


def comparisons(only: str) -> Iterator[Comparison]:
    races = (floors, ingest, clickhouse, mysql, influxdb, lookups)
    made = [Comparison(*parts) for module in races for parts in module.comparisons()]
    # What should agree may be off by as much on the other side.
    alike = [Comparison(*parts) for module in (ingest, lookups) for parts in module.agreements()]
    looks = [replace(Comparison(*parts), rounds=LOOKS) for parts in watching.agreements()]
    both_sides = (replace(c, most=2 - c.bar) for c in (*alike, *looks))
    loads = [
        replace(Comparison(*parts), note=partial(loading.note, parts[0])) for parts in loading.comparisons()
    ]
    return (c for c in (*made, *loads, *both_sides) if only in c.name)


def measured(comparison: Comparison, rounds: int) -> Line:
    rounds = min(rounds, comparison.rounds or rounds)
    ours: list[float] = []
    theirs: list[float] = []
    for n in range(rounds):
        # The order turns every round: neither always follows the other.
        pair = [(ours, comparison.ours), (theirs, comparison.theirs)]
        for values, measure in pair if n % 2 == 0 else reversed(pair):
            values.append(measure())
    ratio = paired_ratio(theirs, ours) if comparison.unit in COSTS else paired_ratio(ours, theirs)
    return Line(
        name=comparison.name,
        peer=comparison.peer,
        ours=log_t(ours).value,
        theirs=log_t(theirs).value if len(set(theirs)) > 1 else theirs[0],
        ratio=ratio.value,
        unit=comparison.unit,
        rounds=rounds,
        lo=ratio.low,
        hi=ratio.high,
        bar=comparison.bar,
        met=ratio.high >= comparison.bar and ratio.low <= (comparison.most or inf),
        most=comparison.most,
        note=comparison.note(),
    )


def shown(line: Line) -> str:
    verdict = "met" if line.met else "MISSED"
    return (
        f"{line.name:<34} {line.ours:>14,.0f} {line.unit:<22} {line.ratio:6.2f} × {line.peer} "
        f"[{line.lo:.2f}, {line.hi:.2f}], bar {line.bar:g}{f' to {line.most:g}' if line.most else ''}: {verdict}"
        f"{f'; {line.note}' if line.note else ''}"
    )


if __name__ == "__main__":
    sys.exit(main())
