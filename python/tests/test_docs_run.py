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

BENCHES = "python/tests/test_bench_pictures.py"
INSTANCES = "python/tests/engines/test_instances.py"
STARTED = "python/tests/engines/test_pipeline_shards.py"
SHARDS = "python/tests/engines/test_load_shards.py"
FRONT = "python/tests/engines/test_load_shards_clickhouse.py"
LOAD_SERVER = "python/tests/engines/test_load_server.py"
PREDICT = "python/tests/test_predict.py"
#: How a command begins -> why it is run neither here nor with one server, which file runs what it does, and by what there.
ELSEWHERE: Mapping[str, tuple[str, str, str]] = {
    "make run": ("builds inrush from nothing", ".ci/run", "\n.ci/bare make run\n"),
    "make test": ("runs these tests", ".ci/run", "\nmake test "),
    "make wheel": ("builds for a release", ".ci/run", "\nmake wheel\n"),
    "make try-wheel": (
        "takes the wheel of `make wheel`",
        ".ci/run",
        "INRUSH_REQUIRE_PYTHONS=1 make try-wheel\n",
    ),
    "make release": ("builds twice, for two processors; a release runs it", "Makefile", "\nrelease: "),
    "pip install '.[all]'": ("`make run` installs the checkout with all extras", "Makefile", "--extras all"),
    "pip install 'inrush-": ("takes the wheel of `make wheel`", ".ci/try-wheel", 'install "$wheel[all]"'),
    "go mod init": ("builds a peer with Go, for `make bench`", "python/benches/bench.py", "tsbs"),
    "for name in": ("builds a peer with Go, for `make bench`", "python/benches/bench.py", "tsbs"),
    "do GOFLAGS": ("builds a peer with Go, for `make bench`", "python/benches/bench.py", "tsbs"),
    "python -m benches.": ("hours, at scale s on all engines", BENCHES, "from benches.findings import"),
    "inrush engines fetch all": ("downloads every server", ".ci/run", "inrush engines fetch all"),
    "inrush engines start": ("servers that outlive the test", INSTANCES, 'by_command("start"'),
    "inrush engines stop all": ("would stop the user's own servers", ".ci/run", "inrush engines stop"),
    "inrush run batch --start": ("a server of its own", STARTED, '"--start"'),
    "inrush run batch --scale s --start": ("a server of its own", STARTED, '"--start"'),
    "inrush run telemetry-batch sqlite --start": ("a server of its own", STARTED, '"--start"'),
    "inrush run telemetry-production": (
        "an hour of root with a server",
        "python/tests/test_shipped_studies.py",
        "telemetry-production",
    ),
    "inrush run pipeline-parallel postgresql": ("four servers", STARTED, "pipeline_results"),
    "inrush run pipeline-parallel --scale s -P pipeline.load_server_cores": (
        "a cgroup of root's",
        "python/tests/test_cpu_quota.py",
        "pipeline.load_server_cores",
    ),
    "inrush load data.csv --into COORDINATOR": ("shards", SHARDS, "coordinator"),
    "inrush load data.csv --table t --into COORDINATOR": ("shards", SHARDS, "coordinator"),
    "inrush load data.csv.gz --table t --create --into postgresql://coordinator": ("shards", SHARDS, "shard"),
    "inrush load data.csv --into FRONT": ("shards", FRONT, "the_one_in_front"),
    "inrush load data.csv --table t --into FRONT": ("shards", FRONT, "the_one_in_front"),
    "inrush load-server": ("ends when it is asked to", LOAD_SERVER, '"load-server"'),
    "inrush load data/*.csv --table t --server": ("a load server", LOAD_SERVER, "server="),
    "inrush predict writers": ("results of many points", PREDICT, 'inrush("predict", "--to"'),
    "inrush predict pipeline-parallel": ("results of many points", PREDICT, 'inrush("predict", "--to"'),
    "inrush predict --rows-per-s": (
        "results of batch and of writers",
        "python/tests/test_sizing.py",
        'inrush("predict", "--rows-per-s"',
    ),
    "inrush scoreboard": ("claims", PREDICT, 'inrush("scoreboard")'),
    "inrush predict RESULTS": ("results of many points", PREDICT, 'inrush("predict", "--to"'),
    "inrush prove": ("a claim on results of many points", PREDICT, 'inrush("prove"'),
}

#: Those that take more than some seconds.
LONG = ("inrush run", "inrush doctor")


def elsewhere(call: Typed) -> tuple[str, str, str] | None:
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


def test_every_reason_is_used_and_names_a_file_that_runs_it() -> None:
    unused = [begins for begins in ELSEWHERE if not any(str(c).startswith(begins) for c in COMMANDS)]
    lacking = [
        f"{file}: {what!r}" for _, file, what in ELSEWHERE.values() if what not in (ROOT / file).read_text()
    ]
    assert unused == [] and lacking == []


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
