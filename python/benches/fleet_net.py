"""Does a slow, lossy way between workers and scheduler change what is measured? Blocks of runs with and without it.

`python -m benches.fleet_net --blocks 10 --delay-ms 20 --loss 0.01`, as root: a scheduler and inrush on one host, a worker on each
of four others, PostgreSQL on a sixth, which all reach by another network without delay. In each block one run has the delay
and the loss between each worker and the scheduler, and one has neither, in random order. Of each figure the ratio with /
without, as a geometric mean with its 95 % interval over the blocks whose runs are both valid.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benches.netlab.cluster import HEAD, Cluster, cluster
from benches.netlab.database import postgresql
from inrush.results.store import Results, Store
from inrush.stats.measures import figures_of_run, study_record
from inrush.stats.stats import log_t

#: The host of the server.
DATABASE = "database"
FIGURES = (
    "clients.ops_per_s",
    "clients.latency_p50_s",
    "clients.latency_p99_s",
    "clients.client_cpu_us_per_op",
)
STUDY = (
    "run", "keylookup-threads", "--scale", "xs", "--quiet", "-P", "factors.threads=[1]", "-P", "repeats.count=1",
    "-P", "load.rows=20000", "-P", "schedule.warm_s=0.5",
)  # fmt: skip
#: Of one run: a busy machine takes long for it.
LIMIT_S = 300.0


@dataclass(frozen=True)
class Measured:
    """A run that came to its end, and whether all of its figures hold."""

    results: Results
    valid: bool


#: Of a run, by name.
Figures = Mapping[str, float]


def usable(pairs: Sequence[tuple[Measured, Figures, Measured, Figures]]) -> list[tuple[Figures, Figures]]:
    """Figures of pairs (with, without) of which both hold: an invalid one is no measurement, however it looks."""
    return [(slow, fast) for a, slow, b, fast in pairs if a.valid and b.valid]


def is_valid(code: int) -> bool:
    """By what inrush ended with. 3: the run is whole, and a figure of it is invalid, such as by the start of a short run."""
    return code == 0


def concluded(pairs: Sequence[tuple[Measured, Figures, Measured, Figures]]) -> tuple[list[str], int]:
    """What is printed of all pairs (with, without), and what the benchmark ends with."""
    held = usable(pairs)
    left = f"{len(pairs) - len(held)} left out, since a figure of one of their runs is invalid"
    lines = [f"blocks: {len(pairs)}, of them {left}"]
    if len(held) < 2:
        return [*lines, "no ratio: it takes two blocks that hold; --measure-s says how long a run is"], 1
    for figure in FIGURES:
        ratio = log_t([a[figure] / b[figure] for a, b in held], 0.95)
        lines.append(f"{figure}: with / without {ratio.value:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]")
    return lines, 0


def run(at: Cluster, url: str, folder: Path, measure_s: float, more: Sequence[str] = ()) -> Measured:
    """One run of the study, in results of its own. Raises RuntimeError where it did not come to its end."""
    folder.mkdir()
    words = [
        *STUDY,
        url,
        "-P",
        f"schedule.measure_s={measure_s}",
        "--fleet",
        at.address,
        "--fleet-insecure",
        *more,
    ]
    running = at.lab[HEAD].start(
        [sys.executable, "-m", "inrush.cli", *words], folder / "log",
        {"INRUSH_RESULTS": str(folder / "results"), "NO_COLOR": "1"}, cwd=folder,
    )  # fmt: skip
    code = running.wait(LIMIT_S)
    if code not in (0, 3):
        raise RuntimeError(f"inrush ended with {code}: {(folder / 'log').read_text()[-1000:]}")
    return Measured(Results(Store(folder / "results").latest().path), is_valid(code))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=10)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument(
        "--delay-ms", type=float, default=20.0, help="one way, between each worker and the scheduler"
    )
    parser.add_argument("--loss", type=float, default=0.01, help="share of packets")
    parser.add_argument("--measure-s", type=float, default=4.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, default=Path("/var/tmp"))
    asked = parser.parse_args()
    order = random.Random(asked.seed)
    found: dict[bool, list[tuple[Measured, Figures]]] = {True: [], False: []}
    with (
        tempfile.TemporaryDirectory(prefix="inrush-fleet-net-", dir=asked.data) as name,
        cluster(asked.workers, Path(name), asked.seed, [DATABASE]) as at,
    ):
        folder = Path(name)
        folder.chmod(0o755)
        with postgresql(at.lab[DATABASE], folder / DATABASE) as url:
            for block in range(asked.blocks + 1):
                for slow in order.sample((True, False), 2):
                    at.between(asked.delay_ms / 1e3 if slow else 0.0, asked.loss if slow else 0.0)
                    began = time.monotonic()
                    measured = run(at, url, folder / f"{block}-{slow}", asked.measure_s)
                    (one,) = study_record(measured.results).runs
                    figures = figures_of_run(one)
                    if block:  # the first one warms server and caches
                        found[slow].append((measured, figures))
                    error_ms = max(w["clock"]["error_ns"] for w in one.summary["clients"]["workers"]) / 1e6
                    shown = {name: figures.get(name) for name in FIGURES}
                    took = {
                        "took_s": round(time.monotonic() - began, 1),
                        "clock_error_ms": round(error_ms, 2),
                    }
                    print(
                        json.dumps({"block": block, "slow": slow, "valid": measured.valid, **took, **shown}),
                        flush=True,
                    )
        counts = at.lab.tell({})
    carried, lost = (sum(of[what] for of in counts.values()) for what in ("carried", "lost"))
    print(f"packets between the hosts: {carried} carried, {lost} lost")
    pairs = [(*a, *b) for a, b in zip(found[True], found[False], strict=True)]
    lines, code = concluded(pairs)
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main())
