"""Every command of the documentation's code blocks is run: here, in `engines/test_docs_servers.py`, or where ELSEWHERE says."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.documented import PROGRAMS, Typed, own_files, put_in, typed
from tests.pages import Page
from tests.strategies import ENVIRONMENT
from tests.test_docs import PAGES, ROOT, TODAY

COMMANDS = list(typed({path: PAGES[path] for path in TODAY if path != "ARCHITECTURE.md"}))

#: How a command begins -> why it is run neither here nor with one server, and which file runs what it does.
ELSEWHERE: Mapping[str, tuple[str, str]] = {
    "make run": ("builds inrush from nothing", ".ci/run"),
    "make test": ("runs these tests", ".ci/run"),
    "go mod init": ("builds a peer with Go, for `make bench`", "python/benches/bench.py"),
    "for name in": ("builds a peer with Go, for `make bench`", "python/benches/bench.py"),
    "do GOFLAGS": ("builds a peer with Go, for `make bench`", "python/benches/bench.py"),
    "python -m benches.": ("hours, at scale s on all engines", "python/tests/test_bench_pictures.py"),
    "inrush engines fetch all": ("downloads every server", ".ci/run"),
    "inrush engines start": ("servers of several engines, and shards", "python/tests/engines/test_lives.py"),
    "inrush engines stop all": ("would stop the servers of whoever runs the tests", ".ci/run"),
    "inrush run batch --start": ("a server of its own", "python/tests/engines/test_instances.py"),
    "inrush run batch --scale s --start": ("a server of its own", "python/tests/engines/test_instances.py"),
    "inrush run telemetry-batch sqlite --start": (
        "a server of its own",
        "python/tests/engines/test_instances.py",
    ),
    "inrush run telemetry-production": (
        "an hour of root with a server",
        "python/tests/test_shipped_studies.py",
    ),
    "inrush run pipeline-parallel postgresql": (
        "four servers",
        "python/tests/engines/test_pipeline_shards.py",
    ),
    "inrush run pipeline-parallel --scale s -P pipeline.load_server_cores": (
        "a cgroup of root's",
        "python/tests/test_fence.py",
    ),
    "inrush load data.csv --into COORDINATOR": ("shards", "python/tests/engines/test_load_shards.py"),
    "inrush load data.csv --table t --into COORDINATOR": (
        "shards",
        "python/tests/engines/test_load_shards.py",
    ),
    "inrush load data.csv.gz --table t --create --into postgresql://coordinator": (
        "shards",
        "python/tests/engines/test_load_shards.py",
    ),
    "inrush load data.csv --into FRONT": ("shards", "python/tests/engines/test_load_shards_clickhouse.py"),
    "inrush load data.csv --table t --into FRONT": (
        "shards",
        "python/tests/engines/test_load_shards_clickhouse.py",
    ),
    "inrush load-server": ("ends when it is asked to", "python/tests/engines/test_load_server.py"),
    "inrush load data/*.csv --table t --server": (
        "a load server",
        "python/tests/engines/test_load_server.py",
    ),
    "inrush predict writers": ("results of many points", "python/tests/test_predict.py"),
    "inrush predict pipeline-parallel": ("results of many points", "python/tests/test_predict.py"),
    "inrush predict --rows-per-s": ("results of batch and of writers", "python/tests/test_sizing.py"),
    "inrush scoreboard": ("claims", "python/tests/test_predict.py"),
    "inrush predict RESULTS": ("results of many points", "python/tests/test_predict.py"),
    "inrush prove": ("a claim on results of many points", "python/tests/test_predict.py"),
}

#: Those that take more than some seconds.
LONG = ("inrush run", "inrush doctor")


def elsewhere(call: Typed) -> tuple[str, str] | None:
    return next((why for begins, why in ELSEWHERE.items() if str(call).startswith(begins)), None)


HERE = [call for call in COMMANDS if call.servers == 0 and elsewhere(call) is None]


class Reader:
    """A folder with a reader's files, a study of theirs, and results; commands in processes of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        own_files(folder)
        self.environment = {**ENVIRONMENT, "INRUSH_RESULTS": str(folder / "results"), "HOME": str(folder)}
        self.types(["new", "mine", "--from", "my.csv"])
        for seed in ("1", "2"):  # what `show`, `report` and `compare` need
            words = ["quickstart", "sqlite", "--scale", "xs", "--seed", seed, "-P", "batch_rows=1000"]
            self.types(["run", *words, "-P", "repeats.count=2"], (0, 3))
        self.newer, self.older = sorted((folder / "results").glob("telemetry-*"), reverse=True)[:2]

    def types(self, words: list[str], codes: tuple[int, ...] = (0,)) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "inrush.cli", *words], cwd=self.folder, env=self.environment,
            capture_output=True, text=True, timeout=280, check=False,
        )  # fmt: skip
        assert done.returncode in codes, (
            f"inrush {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}"
        )
        assert "Traceback" not in done.stderr, done.stderr

    def own(self, call: Typed) -> dict[str, str]:
        """What stands for the reader's own in a command."""
        return {
            "A": self.older.name,
            "B": self.newer.name,
            **({"my.csv": "curve.csv"} if call.words[1] == "predict" else {}),
            **({"mine": "another"} if call.words[1] == "new" else {}),
        }


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    yield Reader(tmp_path_factory.mktemp("reader"))


@pytest.mark.parametrize(
    "call",
    [pytest.param(c, marks=pytest.mark.slow if str(c).startswith(LONG) else []) for c in HERE],
    ids=str,
)
def test_a_documented_command_runs_at_its_smallest(call: Typed, reader: Reader) -> None:
    if "--resume" in call.words:  # as if it had been interrupted
        study = reader.newer / "study.json"
        study.write_text(study.read_text().replace('"status": "done"', '"status": "interrupted"'))
    # 3: the machine was busy or the core is a debug build.
    reader.types(
        put_in(call.words, reader.own(call)), (0, 3) if call.words[1] in ("run", "show", "report") else (0,)
    )


def test_no_command_is_left_out() -> None:
    """It names no server and is run above; it names one, and `engines/test_docs_servers.py` runs it; or a reason is given."""
    left = [str(call) for call in COMMANDS if call.servers > 1 and elsewhere(call) is None]
    assert left == []
    assert [str(c) for c in HERE if c.words[0] != "inrush"] == [], (
        "what is no command of inrush needs a reason"
    )
    assert len(HERE) >= 18


def test_every_reason_is_used_and_names_a_file_that_is_there() -> None:
    unused = [begins for begins in ELSEWHERE if not any(str(c).startswith(begins) for c in COMMANDS)]
    missing = [file for _, file in ELSEWHERE.values() if not (ROOT / file).is_file()]
    assert unused == [] and missing == []


def test_what_a_reader_types_is_found_and_cut_to_its_smallest() -> None:
    page = Page(
        "a.md",
        "```\ninrush run batch postgresql://h/d --scale s -P repeats.count=9 -P readers=4  # why\nmake run\n→ no\n```\n",
    )
    make, run = typed({"a.md": page})
    assert run.servers == 1 and str(make) == "make run" and "make" in PROGRAMS
    assert put_in(run.words, {"postgresql://h/d": "URL"}) == (
        ["run", "batch", "URL", "--scale", "xs", "-P", "readers=4", "-P", "repeats.count=1"]
    )
