"""Every command of the documentation's code blocks is run: here, in `engines/test_docs_servers.py`, or where ELSEWHERE says."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from tests.documented import PROGRAMS, Typed, own_files, put_in, typed
from tests.pages import Page
from tests.strategies import ENVIRONMENT
from tests.test_docs import PAGES, ROOT, TODAY

COMMANDS = list(typed({path: PAGES[path] for path in TODAY if path != "ARCHITECTURE.md"}))

ENGINES = "python/tests/engines"
STARTED = (
    f"{ENGINES}/test_pipeline_shards.py::test_a_study_starts_its_shards_is_proven_over_them_and_ends_them"
)
ON_OFF = f"{ENGINES}/test_instances.py::test_a_server_goes_on_when_its_command_has_ended_until_it_is_stopped"
KEYED = f"{ENGINES}/test_load_shards.py::test_a_coordinator_knows_its_shards_and_its_tables_their_key"
NAMED = f"{ENGINES}/test_load_shards.py::test_a_load_server_says_where_copies_lie_whatever_its_client_says"
FRONT = f"{ENGINES}/test_load_shards_clickhouse.py::test_the_one_in_front_knows_its_shards_and_its_tables_their_key"
SERVED = f"{ENGINES}/test_load_server.py::test_two_clients_at_once_load_through_tls_from_another_address"
CLAIMED = "python/tests/test_predict.py::test_from_a_study_to_a_claim_to_its_proof_and_the_board"
SIZED = "python/tests/test_sizing.py::test_after_the_quickstart_a_day_is_not_shown_and_the_command_that_is_named_can_run"
OVER_SSH = f"{ENGINES}/test_fleet_ssh.py::test_the_recipe_over_ssh_runs_a_study_proves_its_rows_and_shows_its_password_nowhere"
IN_SLURM = f"{ENGINES}/test_fleet_slurm.py::test_the_batch_script_runs_a_study_on_a_worker_of_each_other_node"
PEER = "python/benches/bench.py::comparisons"


@dataclass(frozen=True)
class Elsewhere:
    """Why a command is not run here, and where what it does is run."""

    why: str
    #: `file::function`: a test, or a bench that `make bench` runs; of a recipe or a program of CI the file alone.
    where: str
    #: What stands there: the call itself. It may stand in a function of that file that the test calls.
    calls: str


#: How a command begins -> where it is run instead of here and with one server.
ELSEWHERE: Mapping[str, Elsewhere] = {
    "make run": Elsewhere("builds inrush from nothing", ".ci/run", "\n.ci/bare make run "),
    "make test": Elsewhere("runs these tests", ".ci/run", "\nmake test "),
    "make wheel": Elsewhere("builds for a release", "Makefile", "--no-print-directory wheel\n"),
    "make try-wheel": Elsewhere(
        "takes the wheel of `make wheel`", "Makefile", "--no-print-directory try-wheel\n"
    ),
    "make release": Elsewhere(
        "builds twice, for two processors; a release runs it", "Makefile", "\nrelease: "
    ),
    "pip install '.[all]'": Elsewhere("`make run` installs it so", "Makefile", "--extras all"),
    "pip install 'inrush-": Elsewhere(
        "takes the wheel of `make wheel`", ".ci/try-wheel", 'install "$wheel[all]"'
    ),
    "go mod init": Elsewhere("builds a peer with Go, for `make bench`", PEER, "tsbs"),
    "for name in": Elsewhere("builds a peer with Go, for `make bench`", PEER, "tsbs"),
    "do GOFLAGS": Elsewhere("builds a peer with Go, for `make bench`", PEER, "tsbs"),
    "python -m benches.findings": Elsewhere(
        "hours, at scale s on all engines",
        "python/tests/test_bench_studies.py::test_a_piece_of_the_findings_is_planned_with_its_changes",
        "plan_study(",
    ),
    "python -m benches.keylookups.eager_waves": Elsewhere(
        "a cluster on hosts of a laboratory, for ten minutes",
        "python/tests/test_bench_eager_waves.py::test_both_runs_of_a_block_are_judged_and_a_full_port_loses_packets",
        "measured(",
    ),
    "inrush run bulkindex-load": Elsewhere(
        "two servers, and files of ten million rows",
        "python/tests/test_shipped_studies.py::test_a_shipped_study_runs_and_every_row_and_answer_is_proven",
        "run(inrush, study)",
    ),
    "inrush run bulkindex-series": Elsewhere(
        "two servers, and files of ten million rows",
        "python/tests/test_shipped_studies.py::test_a_shipped_study_runs_and_every_row_and_answer_is_proven",
        "run(inrush, study)",
    ),
    "inrush run bulkindex-lookup mysql": Elsewhere(
        "two servers, and tables of ten million rows",
        "python/tests/test_shipped_studies.py::test_a_shipped_study_runs_and_every_row_and_answer_is_proven",
        "run(inrush, study)",
    ),
    "inrush run bulkindex-optimize mysql": Elsewhere(
        "two servers, and tables of ten million rows",
        "python/tests/test_shipped_studies.py::test_a_shipped_study_runs_and_every_row_and_answer_is_proven",
        "run(inrush, study)",
    ),
    "inrush run keylookup-depth": Elsewhere(
        "two servers",
        "python/tests/test_shipped_studies.py::test_a_shipped_study_runs_and_every_row_and_answer_is_proven",
        "run(inrush, study)",
    ),
    "inrush run keylookup-transactions": Elsewhere(
        "a server that it starts",
        "python/tests/test_shipped_studies.py::test_a_shipped_study_runs_and_every_row_and_answer_is_proven",
        "run(inrush, study)",
    ),
    "inrush run keylookup-senddelay": Elsewhere(
        "servers that it starts",
        f"{ENGINES}/test_started_with_servers.py::test_a_shipped_study_of_servers_runs_and_every_answer_is_right",
        'need("ndb")',
    ),
    "inrush run keylookup-shards": Elsewhere(
        "five servers",
        f"{ENGINES}/test_by_key_shards.py::test_both_shards_have_their_part_of_the_rows_and_of_the_cpu",
        "run(cluster, one.plan",
    ),
    "inrush run keylookup-threads --start postgresql,shards": Elsewhere(
        "five servers",
        f"{ENGINES}/test_by_key_shards.py::test_rows_that_come_go_and_change_over_shards_are_proven_while_they_are_read",
        "run(cluster, one.plan",
    ),
    "inrush run keylookup-threads --scale s --start postgresql --fleet local:2": Elsewhere(
        "a server that it starts, and a fleet",
        f"{ENGINES}/test_fleet.py::test_reads_by_key_on_workers_are_right_and_no_password_is_in_any_file",
        "--fleet",
    ),
    "inrush run pipeline-parallel --scale s postgresql://host/db --fleet": Elsewhere(
        "a fleet",
        "python/tests/test_pipeline_net.py::test_the_network_between_client_and_load_server_is_what_is_full",
        '"--fleet"',
    ),
    "inrush run keylookup-threads $TARGET --scale s --fleet tls://": Elsewhere(
        "a fleet that a recipe starts over ssh", OVER_SSH, 'blocks("ssh")'
    ),
    "inrush run keylookup-threads $TARGET --scale s --fleet $fleet": Elsewhere(
        "a fleet that a recipe starts in Slurm", IN_SLURM, 'blocks("Slurm")'
    ),
    "for role in SCHEDULER": Elsewhere("a recipe for a fleet over ssh", OVER_SSH, 'blocks("ssh")'),
    "for host in $HOSTS": Elsewhere("a recipe for a fleet over ssh", OVER_SSH, 'blocks("ssh")'),
    "inrush run archive-load --scale s --start postgresql -P clients=2": Elsewhere(
        "a server that it starts",
        f"{ENGINES}/test_fleet.py::test_a_load_step_and_reads_behind_a_restart_by_two_processes",
        "clients=2",
    ),
    "inrush run keylookup-threads --scale": Elsewhere(
        "a server, and its results",
        CLAIMED,
        "predict",
    ),
    "inrush predict keylookup-threads": Elsewhere(
        "a server, and its results",
        CLAIMED,
        "predict",
    ),
    "inrush prove open --with": Elsewhere(
        "a server, and its results",
        CLAIMED,
        "predict",
    ),
    "inrush run keylookup-waves": Elsewhere(
        "a server that it starts, and five minutes",
        "python/tests/test_shipped_studies.py::test_a_shipped_study_runs_and_every_row_and_answer_is_proven",
        "run(inrush, study)",
    ),
    "inrush run bulkindex-survey": Elsewhere(
        "a server, and a table of 26 GB",
        "python/tests/test_shipped_studies.py::test_a_shipped_study_runs_and_every_row_and_answer_is_proven",
        "run(inrush, study)",
    ),
    "inrush predict bulkindex-survey": Elsewhere(
        "results of a server",
        "python/tests/test_halving.py::test_a_far_claim_is_halved_by_a_measurement_that_is_named_too",
        "far_off(",
    ),
    "inrush run bulkindex-outgrow": Elsewhere(
        "a server with a small cache, and a load that outgrows it",
        "python/tests/test_shipped_studies.py::test_a_shipped_study_runs_and_every_row_and_answer_is_proven",
        "run(inrush, study)",
    ),
    "inrush run bulkindex-storage --scale s -P sizes.file_bytes": Elsewhere(
        "a file of 100 GB",
        "python/tests/test_shipped_studies.py::test_a_shipped_study_runs_and_every_row_and_answer_is_proven",
        "run(inrush, study)",
    ),
    "inrush run pipeline-filesize postgresql --scale s --start": Elsewhere(
        "eight servers", STARTED, "pipeline_results("
    ),
    "inrush engines fetch all": Elsewhere("downloads every server", ".ci/run", "inrush engines fetch all"),
    "inrush engines start": Elsewhere("servers that outlive the test", ON_OFF, 'by_command("start"'),
    "inrush run batch --live --live-address": Elsewhere(
        "a port that others reach, and a token",
        "python/tests/test_live_run.py::test_a_reader_sees_a_study_from_its_first_run_to_its_report",
        '"--live", *address',
    ),
    "inrush run batch --live --live-push": Elsewhere(
        "a gateway of Prometheus",
        "python/tests/test_live_metrics.py::test_metrics_are_pushed_while_the_study_runs_and_when_it_ends",
        "push.Pusher(",
    ),
    "inrush run batch --start": Elsewhere("a server of its own", STARTED, '"--start"'),
    "inrush run telemetry-batch sqlite --start": Elsewhere("a server of its own", STARTED, '"--start"'),
    "inrush run telemetry-production": Elsewhere(
        "an hour of root with a server",
        "python/tests/test_shipped_studies.py::test_a_shipped_study_runs_and_every_row_and_answer_is_proven",
        'inrush("run", study',
    ),
    "inrush run pipeline-parallel postgresql": Elsewhere("four servers", STARTED, "pipeline_results("),
    "inrush run pipeline-parallel --scale s -P pipeline.load_server_cores": Elsewhere(
        "a cgroup of root's",
        "python/tests/test_cpu_quota.py::test_cores_of_a_study_may_be_parts_and_factors",
        "pipeline.load_server_cores",
    ),
    "inrush load data.csv --into COORDINATOR": Elsewhere("shards", KEYED, "create=True, key="),
    "inrush load data.csv.gz --table t --create --into postgresql://coordinator": Elsewhere(
        "shards", NAMED, '"--shard"'
    ),
    "inrush load data.csv --into FRONT": Elsewhere("shards", FRONT, "create=True, key="),
    "inrush load-server": Elsewhere("ends when it is asked to", SERVED, '"load-server"'),
    "inrush load data/*.csv --table t --server": Elsewhere(
        "a load server", SERVED, '"server": shown["address"]'
    ),
    "inrush predict writers": Elsewhere("results of many points", CLAIMED, 'inrush("predict", "--to"'),
    "inrush predict pipeline-parallel": Elsewhere(
        "results of many points", CLAIMED, 'inrush("predict", "--to"'
    ),
    "inrush predict quickstart": Elsewhere("results of a quiet machine", CLAIMED, 'inrush("predict", "--to"'),
    "inrush predict --rows-per-s": Elsewhere(
        "results of batch and of writers", SIZED, 'inrush("predict", "--rows-per-s"'
    ),
    "inrush scoreboard": Elsewhere("claims", CLAIMED, 'inrush("scoreboard")'),
    "inrush predict RESULTS": Elsewhere("results of many points", CLAIMED, 'inrush("predict", "--to"'),
    "inrush prove bulkindex-outgrow": Elsewhere(
        "results of a server",
        "python/tests/test_knees.py::test_small_loads_have_no_such_figure_and_train_a_claim_about_it_by_their_bytes",
        'trainings(analysis, "rows", "load.knee_rows")',
    ),
    "inrush prove": Elsewhere("a claim on results of many points", CLAIMED, 'inrush("prove"'),
}

#: Those that need the results of a study.
OF_RESULTS = ("run", "show", "report", "compare", "runs")
#: Those that take more than some seconds, or are the first to need what does.
LONG = ("inrush doctor", *(f"inrush {name}" for name in OF_RESULTS))


def elsewhere(call: Typed) -> Elsewhere | None:
    return next((where for begins, where in ELSEWHERE.items() if str(call).startswith(begins)), None)


HERE = [call for call in COMMANDS if call.servers == 0 and elsewhere(call) is None]


class Reader:
    """A folder with a reader's files, a study of theirs, and results; commands in processes of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        own_files(folder)
        self.environment = {
            **ENVIRONMENT,
            "INRUSH_RESULTS": str(folder / "results"),
            "HOME": str(folder),
            # The register of servers lies there: `inrush engines stop all` stops none of the user's.
            "XDG_CACHE_HOME": str(folder / ".cache"),
        }
        self.types(["new", "mine", "--from", "my.csv"])

    @cached_property
    def results(self) -> tuple[Path, Path]:
        """What `show`, `report` and `compare` need: the newer and the older one."""
        for seed in ("1", "2"):
            words = ["quickstart", "sqlite", "--scale", "xs", "--seed", seed, "-P", "batch_rows=1000"]
            self.types(["run", *words, "-P", "repeats.count=2"], (0, 3))
        newer, older = sorted((self.folder / "results").glob("telemetry-*"), reverse=True)[:2]
        return newer, older

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
        newer, older = self.results if call.words[1] in OF_RESULTS else (Path(), Path())
        return {
            "/mnt/": f"{self.folder}/mnt/",
            "A": older.name,
            "B": newer.name,
            **({"my.csv": "curve.csv"} if call.words[1] == "predict" else {}),
            **({"mine": "another"} if call.words[1] == "new" else {}),
            # The reader has run it; here another study stands for it.
            **({"pipeline-filesize": newer.name} if call.words[1] == "report" else {}),
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
        study = reader.results[0] / "study.json"
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


def lacks(where: str, calls: str, source: str) -> str:
    """What is wrong with a place that a command is said to be run in; empty where nothing is. Pure.

    source: of the file. A function of it that the test calls, or takes as a fixture, counts as the test.
    """
    file, _, name = where.partition("::")
    if not name:
        return f"{file}: no test is named" if file.startswith("python/") else "" if calls in source else calls
    functions = {n.name: n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)}
    if name not in functions:
        return f"{where}: there is no such function"
    if not name.startswith("test_") and "/benches/" not in file:
        return f"{where}: this is no test"
    used, todo = set[str](), {name}
    while todo:
        used |= todo
        names = {word for n in todo for word in names_in(functions[n])}
        todo = (names & functions.keys()) - used
    found = any(calls in (ast.get_source_segment(source, functions[n]) or "") for n in used)
    return "" if found else f"{where}: it does not call {calls!r}"


def names_in(function: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def test_every_reason_is_used_and_names_a_test_that_does_it() -> None:
    unused = [begins for begins in ELSEWHERE if not any(str(c).startswith(begins) for c in COMMANDS)]
    sources = {e.where: (ROOT / e.where.partition("::")[0]).read_text() for e in ELSEWHERE.values()}
    lacking = [why for e in ELSEWHERE.values() if (why := lacks(e.where, e.calls, sources[e.where]))]
    assert unused == [] and lacking == []


@pytest.mark.parametrize(
    ("where", "calls", "why"),
    [
        ("python/t.py::test_a", 'run("x")', ""),
        ("python/t.py::test_b", 'run("x")', ""),
        ("python/t.py::test_c", 'run("x")', "it does not call"),
        ("python/t.py::test_gone", 'run("x")', "there is no such function"),
        ("python/t.py::helper", 'run("x")', "this is no test"),
        ("python/t.py", 'run("x")', "no test is named"),
        (".ci/run", 'run("y")', 'run("y")'),
    ],
)
def test_a_reason_without_a_test_that_calls_the_command_is_seen(where: str, calls: str, why: str) -> None:
    source = 'def helper():\n    run("x")\n\ndef test_a():\n    run("x")\n\ndef test_b(helper):\n    pass\n\ndef test_c():\n    pass\n'
    found = lacks(where, calls, source)
    assert found == why if not why else why in found


def test_what_a_reader_types_is_found_and_cut_to_its_smallest() -> None:
    page = Page(
        "a.md",
        "```\ninrush run batch postgresql://h/d --scale s -P repeats.count=9 -P readers=4  # why\nmake run\n→ no\n```\n",
    )
    make, run = typed({"a.md": page})
    assert run.servers == 1 and str(make) == "make run" and "make" in PROGRAMS
    cut = ["--scale", "xs", "-P", "readers=4", "-P", "repeats.count=1"]
    assert put_in(run.words, {"postgresql://h/d": "URL"}) == ["run", "batch", "URL", *cut], (
        "it has a rule to stop"
    )
    words = ["inrush", "run", "quickstart"]
    assert put_in(("inrush", "plan", "x", "--data", "a=/mnt/b"), {"/mnt/": "/own/"})[-1] == "a=/own/b"
    assert put_in(words, {})[-2:] == ["-P", "repeats.pilot=false"]
