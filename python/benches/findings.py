"""The runs that docs/findings are made of: `python -m benches.findings RESULTS`, in the folder `python`.

Each line of `findings.txt` has the words of one `inrush run`, of minutes. Reports lie beside the results.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

LIST = Path(__file__).with_suffix(".txt")


def pieces() -> list[list[str]]:
    """The words of each call: study and engine, then options."""
    return [words for line in LIST.read_text().splitlines() if (words := shlex.split(line, comments=True))]


def is_meant(words: Sequence[str], asked: str) -> bool:
    """asked: study and engine, or one of them; a study also without its family."""
    study, engine = words[:2]
    return set(asked.split()) <= {study, study.partition("-")[2], engine}


def run(words: Sequence[str], results: Path, data: Path) -> int:
    print("== inrush run", shlex.join(words), flush=True)
    place = ["--data", str(data)] if "--start" in words else []
    command = [sys.executable, "-m", "inrush.cli", "run", *words, *place]
    return subprocess.run(command, env={**os.environ, "INRUSH_RESULTS": str(results)}, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, nargs="?", default=Path("results"))
    parser.add_argument(
        "--only", action="append", default=[], help="'mysql', 'batch mysql'; may be given again"
    )
    parser.add_argument("--data", type=Path, default=Path("/var/tmp/inrush-findings"))
    asked = parser.parse_args()
    meant = [p for p in pieces() if not asked.only or any(is_meant(p, only) for only in asked.only)]
    return max([run(words, asked.results.absolute(), asked.data) for words in meant], default=2)


if __name__ == "__main__":
    sys.exit(main())
