"""Do figures change when a live page is read? Pairs of runs, with a page and one reader and without, in random order.

`python -m benches.live_pairs PAIRS STUDY…`, in the folder `python`; the words behind the number are those of `inrush run`. Of
each figure the ratio with / without, as a geometric mean with its 95 % interval over the pairs.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benches.live_page import READ, TOKEN
from inrush.live import access
from inrush.results.store import Results
from inrush.stats.measures import figures_of_run, study_record
from inrush.stats.stats import log_t

METRICS = ("rows_per_s", "ops_per_s", "latency_p50_s", "latency_p99_s", "client_cpu_us_per_op", "busy_cores")


def figures(words: Sequence[str], live: bool, folder: Path) -> dict[str, float]:
    """Of the first run of a study."""
    command = [sys.executable, "-m", "inrush.cli", "run", *words, "--json", *(["--live"] if live else [])]
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, access.TOKEN: TOKEN},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout is not None and run.stderr is not None
        reader = None
        if live:
            line = next(line for line in run.stderr if line.startswith("live: "))
            port = line.strip().rstrip("/").rpartition(":")[2]
            reader = subprocess.Popen([sys.executable, "-c", READ, port, "1", TOKEN])
        errors, document = run.stderr.read(), run.stdout.read()
        if reader is not None:
            reader.kill()
            reader.wait()
        if not document:
            raise SystemExit(errors)
    return figures_of_run(study_record(Results(folder / json.loads(document)["run_dir"])).runs[0])


def main(arguments: list[str]) -> int:
    pairs, words = int(arguments[0]), arguments[1:]
    order, measured = random.Random(1), {True: list[dict[str, float]](), False: list[dict[str, float]]()}
    with tempfile.TemporaryDirectory() as place:
        for _ in range(pairs):
            for live in order.sample((True, False), 2):
                measured[live].append(figures(words, live, Path(place)))
    names = [n for n in measured[True][0] if n.rsplit(".", 1)[-1] in METRICS and measured[False][0].get(n)]
    for name in sorted(names):
        ratio = log_t([a[name] / b[name] for a, b in zip(measured[True], measured[False], strict=True)], 0.95)
        print(f"{name}: with / without {ratio.value:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
