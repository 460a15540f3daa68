"""Claims on real engines, frozen before their targets run, then scored: `python -m benches.claims.claims --out DIR`.

For each set-up of setups.toml: run the small loads, freeze a claim for every target, run the targets, score. All claims
stay on the board of DIR, whatever came of them. `--only NAME` makes some of them; what has its scores is not made again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inrush.results.predictions import Predictions
from inrush.results.store import Store
from inrush.study.toml import read_toml

HERE = Path(__file__).parent
#: What `inrush run` ends with when a run is invalid: its claims stay open, and the next set-up goes on.
DONE = (0, 3)


@dataclass(frozen=True)
class SetUp:
    name: str
    study: str
    resource: str
    along: str
    to: Sequence[float]
    set: Sequence[str]
    #: Settings of a server that is started for it; None for an engine in our process.
    start: str | None
    #: Figures; None: the one of the study's answer.
    of: Sequence[str] | None
    #: A slow disk: what client and server together may write; needs root and a cgroup of version 1.
    write_bytes_per_s: int | None
    engine: str
    #: The client comes before all else: of studies with paced roles on two cores.
    realtime: bool = False


def set_ups(held: Mapping[str, Any]) -> list[SetUp]:
    """Raises TypeError where a set-up lacks a key or has an unknown one."""
    usual = {"along": "writers", "start": None, "of": None, "write_bytes_per_s": None}
    return [SetUp(**{"name": name, **usual, **of}) for name, of in held.items()]


def study_word(of: SetUp) -> str:
    """What lies here goes by its file, what inrush ships by its name."""
    file = f"{of.study}.toml"
    return file if (HERE / file).is_file() else of.study


def run_words(of: SetUp, targets: bool) -> list[str]:
    """The command that trains, or with `targets` the one that was claimed."""
    words = ["run", study_word(of)]
    words += ["--realtime"] if of.realtime else []
    words += ["--start", f"{of.engine},{of.start}"] if of.start else []
    overrides = [f'engines=["{of.engine}"]', *of.set, *([f"{of.along}={list(of.to)}"] if targets else [])]
    return [*words, *(w for o in overrides for w in ("-P", o))]


def inrush(words: Sequence[str], root: Path, write_bytes_per_s: int | None = None) -> int:
    """One command of ours, its words and its answer shown."""
    print("$ inrush", *words, flush=True)
    env = {**os.environ, "INRUSH_RESULTS": str(root.absolute())}
    command = [sys.executable, "-m", "inrush.cli", *words]
    if write_bytes_per_s is not None:
        joined = slow_disk(root, write_bytes_per_s) / "cgroup.procs"
        command = ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(joined), *command]
    # Among the studies, so that claims name them without a path of this machine.
    return subprocess.run(command, env=env, cwd=HERE, check=False).returncode


def slow_disk(folder: Path, write_bytes_per_s: int) -> Path:
    """A cgroup with a limit on bytes written each second to the disk of a folder. Raises OSError where that is not permitted."""
    group = Path("/sys/fs/cgroup/blkio") / f"inrush-claims-{write_bytes_per_s}"
    group.mkdir(exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    device = folder.stat().st_dev
    limit = f"{os.major(device)}:{os.minor(device)} {write_bytes_per_s}"
    (group / "blkio.throttle.write_bps_device").write_text(limit)
    return group


def claimed(of: SetUp, root: Path, data: Path) -> bool:
    """Trains, freezes, runs and scores one set-up, from where it got to; whether it is done."""
    kept = root / "set-ups" / f"{of.name}.json"
    state: dict[str, Any] = json.loads(kept.read_text()) if kept.is_file() else {}
    place = ["--data", str(data.absolute() / of.name)] if of.start else []
    if "claims" not in state:
        if inrush([*run_words(of, False), *place], root, of.write_bytes_per_s) not in DONE:
            return False
        trained = Store(root).find(None).path.name
        state = {"resource": of.resource, "trained": trained, "claims": frozen(of, trained, root)}
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(json.dumps(state, indent=1) + "\n")
    if not state["claims"]:
        return False
    if "ran" not in state:
        if inrush([*run_words(of, True), *place], root, of.write_bytes_per_s) not in DONE:
            return False
        state["ran"] = Store(root).find(None).path.name
        kept.write_text(json.dumps(state, indent=1) + "\n")
    still_open = [c for c in state["claims"] if not Predictions(Store(root)).find(c).scored]
    return not still_open or inrush(["prove", *still_open, "--with", state["ran"]], root) in DONE


def frozen(of: SetUp, trained: str, root: Path) -> list[str]:
    """Claims for every target and figure; a figure that is refused is left out, its reason shown."""
    asked = [w for n in of.to for w in ("--to", f"{n:g}")]
    for figure in [["--of", figure] for figure in of.of or ()] or [[]]:
        inrush(["predict", trained, "--claim", *asked, "--along", of.along, *figure], root)
    return [c.id for c in Predictions(Store(root)).all() if c.doc["results"] == trained]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, default=Path("results/claims"), help="folder of results and claims"
    )
    parser.add_argument("--data", type=Path, default=Path("/var/tmp/inrush-claims"), help="data of servers")
    parser.add_argument("--only", action="append", default=[], help="a set-up; may be given again")
    parser.add_argument(
        "--within", type=float, default=float("inf"), help="seconds after which no further set-up is begun"
    )
    asked = parser.parse_args()
    ends = time.monotonic() + asked.within
    known = set_ups(read_toml(HERE / "setups.toml"))
    if unknown := set(asked.only) - {s.name for s in known}:
        parser.error(f"no set-up {', '.join(sorted(unknown))}; there are: {', '.join(s.name for s in known)}")
    wanted = [s for s in known if not asked.only or s.name in asked.only]
    failed = [s.name for s in wanted if time.monotonic() < ends and not claimed(s, asked.out, asked.data)]
    inrush(["scoreboard"], asked.out)
    for name in failed:
        print(f"{name}: not scored; its messages are above", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
