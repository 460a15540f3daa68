"""Is a run of three client processes on a fleet that of one process with as many connections? Pairs of runs, in random order.

`python -m benches.fleet_pairs --blocks 10 postgresql clickhouse`, in the folder `python`: servers of their own are started. In each
block one run has three sessions in one process, and one has one session on each of three workers of `--fleet local:3`. Of each
figure the ratio fleet / one process, as a geometric mean with its 95 % interval over the blocks; and how far apart the first
sessions of the three processes began. Blocks with a run that a guard calls invalid are left out, and counted.

`--without-fleet`: the three processes are inrush's own, without scheduler and workers. So it is seen what of a difference is
that of processes, and what that of the fleet.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from inrush.engines import server
from inrush.engines.instance import Stop
from inrush.results.store import Results, Store
from inrush.stats.measures import figures_of_run, study_record
from inrush.stats.stats import log_t

WORKERS = 3
#: Engine -> study, its factor of sessions (else those of the role), and the role: reads by key, and batches.
STUDIES: dict[str, tuple[str, str | None, str]] = {
    "postgresql": ("keylookup-threads", "threads", "clients"),
    "clickhouse": ("batch", None, "writers"),
}
FIGURES = (
    "ops_per_s",
    "rows_per_s",
    "latency_p50_s",
    "latency_p99_s",
    "client_cpu_us_per_op",
    "client_cpu_us_per_row",
)


def words_of(engine: str, url: str, sessions: int, measure_s: float) -> list[str]:
    study, factor, role = STUDIES[engine]
    words = ["run", study, url, "--quiet", "-P", "repeats.count=1"]
    if factor:
        return [
            *words, "--scale", "xs", "-P", f"factors.{factor}=[{sessions}]", "-P", "load.rows=20000",
            "-P", "repeats.pilot=false", "-P", "schedule.warm_s=1", "-P", f"schedule.measure_s={measure_s}",
        ]  # fmt: skip
    return [
        *words, "--scale", "xs", "-P", f"roles.{role}.sessions={sessions}", "-P", "factors.batch_rows=[2000]",
        "-P", "factors.table=['port_data_counters']", "-P", "factors.readers=[0]", "-P", "factors.method=['bulk']",
        "-P", f"roles.{role}.rows={{total={round(200_000 * measure_s)}}}", "-P", "schedule.at_least_s=0",
    ]  # fmt: skip


def run(words: Sequence[str], folder: Path) -> tuple[Results, int]:
    """Results and exit code. Raises RuntimeError where it did not come to its end."""
    folder.mkdir()
    log = folder / "log"
    with log.open("w") as out:
        code = subprocess.run(
            [sys.executable, "-m", "inrush.cli", *words],
            cwd=folder, stdout=out, stderr=subprocess.STDOUT, check=False,
            env={**os.environ, "INRUSH_RESULTS": str(folder / "results"), "NO_COLOR": "1"},
        ).returncode  # fmt: skip
    # 3: a figure is invalid; the run is whole.
    if code not in (0, 3):
        raise RuntimeError(f"inrush ended with {code}: {log.read_text()[-1000:]}")
    return Results(Store(folder / "results").latest().path), code


def compared(
    engine: str, url: str, blocks: int, measure_s: float, folder: Path, order: random.Random, fleets: bool
) -> int:
    """Prints what the pairs say; how many blocks had an invalid run. fleets: whether three processes are those of a fleet."""
    several = [*(("--fleet", f"local:{WORKERS}") if fleets else ()), "-P", f"clients={WORKERS}"]
    named = "fleet" if fleets else f"{WORKERS} processes"
    found: dict[bool, list[dict[str, float]]] = {True: [], False: []}
    invalid, spread_ms = 0, list[float]()
    for block in range(blocks + 1):
        pair, codes = dict[bool, dict[str, float]](), list[int]()
        for fleet in order.sample((True, False), 2):
            words = words_of(engine, url, 1 if fleet else WORKERS, measure_s)
            words += several if fleet else []
            results, code = run(words, folder / f"{engine}-{block}-{fleet}")
            # The study of batches has a rule to stop, which reads a pilot.
            (one,) = (r for r in study_record(results).runs if r.block)
            pair[fleet] = figures_of_run(one)
            codes.append(code)
            starts = one.summary.get("clients", {}).get("starts", ()) if block and fleet else ()
            spread_ms += [start["spread_ns"] / 1e6 for start in starts]
        if not block:  # the first one warms server and caches
            continue
        if any(codes):
            invalid += 1
        else:
            for fleet, figures in pair.items():
                found[fleet].append(figures)
        print(json.dumps({"engine": engine, "block": block, "codes": codes}), flush=True)
    role = STUDIES[engine][2]
    if len(found[True]) < 2:
        print(f"{engine}: no ratio: {invalid} of {blocks} blocks are left out")
        return invalid
    for figure in (f"{role}.{name}" for name in FIGURES):
        if not all(of.get(figure) for pair in found.values() for of in pair):
            continue
        ratio = log_t([a[figure] / b[figure] for a, b in zip(found[True], found[False], strict=True)], 0.95)
        print(
            f"{engine}: {figure}: {named} / one process {ratio.value:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"
        )
    median, most = statistics.median(spread_ms), max(spread_ms)
    print(
        f"{engine}: first sessions began within {median:.3f} ms (median), {most:.3f} ms (most) of {len(spread_ms)} starts"
    )
    return invalid


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "engines", nargs="*", default=[*STUDIES], metavar="ENGINE", help=f"of {', '.join(STUDIES)}"
    )
    parser.add_argument("--blocks", type=int, default=10)
    parser.add_argument("--measure-s", type=float, default=5.0)
    parser.add_argument("--without-fleet", action="store_true", help="three processes of inrush itself")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, default=Path("/var/tmp"))
    asked = parser.parse_args()
    order, left_out = random.Random(asked.seed), list[int]()
    with tempfile.TemporaryDirectory(prefix="inrush-fleet-pairs-", dir=asked.data) as name:
        folder = Path(name)
        folder.chmod(0o755)
        for engine in asked.engines:
            life = server(engine).lifecycle
            assert life is not None
            instance = life.start(folder / engine, {})
            try:
                invalid = compared(
                    engine,
                    instance.url,
                    asked.blocks,
                    asked.measure_s,
                    folder,
                    order,
                    not asked.without_fleet,
                )
            finally:
                life.stop(instance, Stop.CLEAN)
            left_out.append(invalid)
            print(
                f"{engine}: {invalid} of {asked.blocks} blocks are left out: a run of them is invalid by a guard"
            )
    return 1 if any(invalid > asked.blocks - 2 for invalid in left_out) else 0


if __name__ == "__main__":
    sys.exit(main())
