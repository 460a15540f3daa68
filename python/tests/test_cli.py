"""The command line, as its user meets it: one clear message, the right code, results on stdout, talk on stderr."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from inrush import cli
from inrush.cli import COMMANDS
from inrush.machine import host
from inrush.results.store import Results, Store, unsealed_runs
from inrush.study.reading import load_study
from tests.terminal import Inrush
from tests.test_shipped_studies import ON_SHARDS

PACKAGE = Path(__file__).parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PACKAGE), "NO_COLOR": "1"}
#: A study of two runs and one that prices the client's own work, on the engine that is quickest to begin.
TINY = ("telemetry-quickstart", "sqlite", "--scale", "xs", "-P", "batch_rows=1000", "-P", "repeats.count=1")


# What needs no run.


def test_help_costs_no_more_than_twice_its_parser() -> None:
    """CPU, the least of some: on a busy or slow machine no number of seconds says anything."""

    def cpu_s(*words: str) -> float:
        before = os.times()
        done = subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, env=ENVIRONMENT, check=True
        )
        after = os.times()
        assert "run" in done.stdout and "doctor" in done.stdout
        return after.children_user + after.children_system - before.children_user - before.children_system

    bare = "import typer; a = typer.Typer(); a.command('run')(lambda: 0); a.command('doctor')(lambda: 0); a(['--help'])"
    parser_s = min(cpu_s("-c", bare) for _ in range(3))
    assert min(cpu_s("-m", "inrush.cli", "--help") for _ in range(3)) < 2 * parser_s


@pytest.mark.parametrize("words", [("--version",), ("version",)])
def test_both_versions_are_told(inrush: Inrush, words: tuple[str, ...]) -> None:
    said = inrush(*words)
    assert said.code == 0 and re.fullmatch(r"inrush \S+.*, core \S+\n", said.out), said.out


def test_a_core_that_is_older_than_its_sources_is_told(tmp_path: Path) -> None:
    core, source = tmp_path / "python/inrush/_core.abi3.so", tmp_path / "rust/rows/src/plan/operation.rs"
    for file in (core, source):
        file.parent.mkdir(parents=True)
        file.touch()
    os.utime(source, (100, 100))
    os.utime(core, (200, 200))
    assert host.older_core(core) == ""
    os.utime(core, (50, 50))
    assert host.older_core(core) == "the core is older than rust/rows/src/plan/operation.rs: make core"
    source.unlink()
    assert host.older_core(core) == "", "an installed package has no sources"


def test_an_error_of_two_halves_that_do_not_match_names_the_older_core_in_place_of_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails() -> None:
        raise KeyError("sums")

    monkeypatch.setattr(cli, "app", fails)
    monkeypatch.setattr(sys, "argv", ["inrush", "runs"])
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(host, "older_core", lambda: "the core is older than rust/x.rs: make core")
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert (
        capsys.readouterr().err == "inrush: KeyError: 'sums'; the core is older than rust/x.rs: make core\n"
    )
    monkeypatch.setattr(host, "older_core", lambda: "")
    with pytest.raises(KeyError):
        cli.main()


def test_h_is_help_of_every_command(inrush: Inrush) -> None:
    for words in ((), *((name,) for name in COMMANDS)):
        short, long = inrush(*words, "-h"), inrush(*words, "--help")
        assert short.code == 0 and short.out == long.out and "Usage: " in short.out


@pytest.mark.ci
def test_every_shipped_study_is_listed_and_planned(inrush: Inrush) -> None:
    names = [s["name"] for s in inrush("studies", "--json").json]
    assert "telemetry-quickstart" in names and "telemetry-batch" in names
    for name in names:
        study = load_study(name, "xs")
        if study.start or name in ON_SHARDS:  # of servers that are begun for it
            shards = ",shards=2" if name in ON_SHARDS else ""
            said = inrush("plan", name, "--start", study.engines[0] + shards, "--scale", "xs")
            assert said.code == 0 and "runs" in said.out, said.err
            continue
        engines = study.engines
        # One that a study for servers alone does not name plans it too: with one call in flight.
        here = next((engine for engine in ("sqlite", "duckdb", "device") if engine in engines), "sqlite")
        said = inrush("plan", name, here, "--scale", "xs")
        assert said.code == 0, said.err
        own = "records of a file" if here == "device" else "namespace of inrush's own"
        assert "runs" in said.out and own in said.out
    assert inrush.store.studies() == []


def test_repeats_is_short_for_its_change_of_the_study(inrush: Inrush) -> None:
    def blocks(*more: str) -> list[int]:
        runs = inrush("plan", "quickstart", "sqlite", "--scale", "xs", "--json", *more).json["runs"]
        return [run["labels"]["block"] for run in runs]

    assert blocks("--repeats", "4") == blocks("-P", "repeats.count=4") != blocks()
    assert max(blocks("--repeats", "4")) == 4


def test_a_plan_as_json_is_what_the_core_would_get(inrush: Inrush) -> None:
    runs = inrush("plan", "quickstart", "sqlite", "--scale", "xs", "--json").json["runs"]
    assert runs[0]["target"]["engine"] == "sqlite" and runs[0]["segments"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("run",), "inrush studies"),
        (("run", "telemetry-bath"), "telemetry-batch"),
        (("run", "quickstart", "oracle://h/db"), "no engine speaks oracle"),
        (("run", "quickstart", "sqlite", "sqlite"), "named twice"),
        (("run", "quickstart", "--start", "sqlite"), "runs inside inrush"),
        (("run", "quickstart", "-P", "bacth_rows=1"), "batch_rows"),
        (("run", "quickstart", "--scale", "xxl"), "xxl"),
        (("run", "quickstart", "-P", "batch_rows=30_000_000"), "batch"),
        (("run", "--resume"), "nothing to resume, no study is there"),
        (("run", "none.toml"), "no such file"),
        (("show",), "inrush run quickstart"),
        (("report", "nothing"), "no results"),
        (("compare", "a", "b"), "no results"),
        (("engines", "dance"), "fetch"),
        (("engines", "start", "sqlite"), "inside inrush"),
        (("engines", "fetch"), "or all of them"),
        (("run", "quickstart", "--start", "postgresql,fast"), "is no setting"),
        (("config", "nope"), "unknown study"),
        (("nonsense",), "nonsense"),
    ],
)  # fmt: skip
def test_a_wrong_call_is_one_message_without_traceback_and_code_2(
    inrush: Inrush, words: tuple[str, ...], says: str
) -> None:
    said = inrush(*words)
    assert said.code == 2
    assert says in said.err or says in said.err.replace("\n", " ")
    assert "Traceback" not in said.err and said.out == ""
    assert inrush.store.studies() == []


def test_every_problem_of_a_study_file_is_said_at_once(inrush: Inrush, tmp_path: Path) -> None:
    text = inrush("config", "quickstart").out
    bad = tmp_path / "bad.toml"
    bad.write_text(text.replace("kind =", "kin =").replace("until =", "untill ="))
    said = inrush("run", str(bad))
    assert said.code == 2 and "kin" in said.err and "untill" in said.err and str(bad) in said.err


def test_config_prints_a_file_that_can_be_run(inrush: Inrush, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(inrush("config", "quickstart").out)
    assert inrush("plan", str(tmp_path / "mine.toml"), "sqlite", "--scale", "xs").code == 0
    assert "[tables.port_data_counters]" in inrush("config", "quickstart", "--workload").out


def test_a_password_in_a_url_is_warned_about_and_never_shown(inrush: Inrush) -> None:
    said = inrush("run", "quickstart", "postgresql://u:topsecret@127.0.0.1:1/db", "--scale", "xs")
    assert "PGPASSWORD" in said.err and "topsecret" not in said.err + said.out
    for path in inrush.store.root.rglob("*"):
        assert not path.is_file() or b"topsecret" not in path.read_bytes()


def test_a_server_that_is_not_there_is_one_line_and_code_2_and_no_result(inrush: Inrush) -> None:
    said = inrush("run", "quickstart", "postgresql://u@127.0.0.1:1/db", "--scale", "xs")
    assert said.code == 2 and "127.0.0.1" in said.err and said.err.count("\n") == 1
    assert inrush.store.studies() == []


@pytest.mark.ci
def test_engines_whose_rows_survive_different_things_are_refused_before_the_run_unless_asked(
    inrush: Inrush, tmp_path: Path
) -> None:
    """SQLite without syncs against DuckDB with them, held against each other."""
    text = inrush("config", "quickstart").out.replace('along = "batch_rows"', 'along = "engine"')
    study = tmp_path / "unequal.toml"
    study.write_text(text.replace('per = ["engine"]', "") + '\n[options.sqlite]\nsynchronous = "OFF"\n')
    words = (
        "run",
        str(study),
        "--scale",
        "xs",
        "-P",
        "batch_rows=2000",
        "-P",
        "repeats={count=1, confirm=0}",
    )
    said = inrush(*words)
    assert said.code == 2 and said.out == ""
    assert "duckdb: power loss; sqlite: process crash" in said.err and "--unequal-durability" in said.err
    assert inrush.store.studies() == []
    asked = inrush(*words, "--unequal-durability")
    assert asked.code == 0, asked.err
    (made,) = inrush.store.studies()
    assert made.doc["unequal_durability"] is True and made.doc["command"].endswith("--unequal-durability")
    assert "compares them all the same" in (made.path / "report.html").read_text()
    # Alike at each value of a factor is equal: what durability costs is then the question.
    study.write_text(study.read_text().replace('"OFF"', '"FULL"'))
    assert inrush(*words).code == 0


@pytest.mark.parametrize(("level", "code"), [("OFF", 2), ("FULL", 0)])
def test_loads_over_shards_whose_rows_survive_different_things_are_refused_too(
    inrush: Inrush, level: str, code: int
) -> None:
    """Their settings stand with their shards."""
    words = (
        "pipeline-parallel",
        "duckdb",
        "sqlite",
        "--scale",
        "xs",
        "-P",
        "pipelines=1",
        "-P",
        "repeats={count=1}",
    )
    said = inrush("run", *words, "-P", f"options.sqlite.synchronous={level}")
    assert said.code == code, said.err
    assert ("duckdb: power loss; sqlite: process crash" in said.err) is (code == 2)


@pytest.mark.slow
def test_engines_side_by_side_are_refused_too_where_the_answer_speaks_of_each_alone(
    inrush: Inrush, tmp_path: Path
) -> None:
    """A table with three servers of unequal promises is read as a comparison, whatever its answer compares."""
    study = tmp_path / "alone.toml"
    study.write_text(inrush("config", "quickstart").out + '\n[options.sqlite]\nsynchronous = "OFF"\n')
    words = (
        "run",
        str(study),
        "--scale",
        "xs",
        "-P",
        "batch_rows=2000",
        "-P",
        "repeats={count=1, confirm=0}",
    )
    said = inrush(*words)
    assert said.code == 2 and said.out == "" and inrush.store.studies() == []
    assert "duckdb: power loss; sqlite: process crash" in said.err
    assert (
        "for rows that survive power loss on all, -P options.sqlite.synchronous=FULL (or, in alone.toml, "
        "options.sqlite.synchronous = 'FULL')" in said.err
    )
    assert (
        "for rows that survive a crash of the process on all, options.duckdb.'set.fsync_mode' = 'NONE' in alone.toml"
        in said.err
    )
    # What it says, done.
    study.write_text(study.read_text() + '\n[options.duckdb]\n"set.fsync_mode" = "NONE"\n')
    assert inrush(*words).code == 0
    assert inrush(*words[:2], "sqlite", *words[2:]).code == 0, "one engine is beside none"


@pytest.mark.slow
def test_a_study_of_unequal_durability_that_was_begun_goes_on_and_says_what_is_not_compared(
    inrush: Inrush, tmp_path: Path
) -> None:
    """As an inrush left it that did not ask: neither its call nor its plan says that the comparison was asked for."""
    study = tmp_path / "unequal.toml"
    text = inrush("config", "quickstart").out.replace('along = "batch_rows"', 'along = "engine"')
    study.write_text(text.replace('per = ["engine"]', "") + '\n[options.sqlite]\nsynchronous = "OFF"\n')
    few = ("-P", "batch_rows=2000", "-P", "repeats={count=1, confirm=0}")
    begun = inrush("run", str(study), "--scale", "xs", *few, "--unequal-durability")
    assert begun.code == 0, begun.err
    (made,) = inrush.store.studies()
    document = json.loads((made.path / "study.json").read_text())
    document |= {"status": "interrupted", "unequal_durability": False}
    document["call"]["unequal_durability"] = False
    (made.path / "study.json").write_text(json.dumps(document))
    planned = [p["run"] for p in document["planned"]]
    shutil.rmtree(made.path / planned[-1])
    said = inrush("run", "--resume")
    assert said.code == 3, said.err
    assert (
        "the study goes on as it began" in said.err
        and "duckdb: power loss; sqlite: process crash" in said.err
    )
    again = Results(made.path)
    assert again.study["status"] == "done" and planned[-1] in {r.id for r in again.runs}
    assert "no comparison does" in (made.path / "report.html").read_text()


# What a run leaves.


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A finished study, made as a user makes it."""
    results = tmp_path_factory.mktemp("tiny")
    done = subprocess.run(
        [sys.executable, "-m", "tests.undisturbed", "run", *TINY],
        capture_output=True, text=True, check=False, env={**ENVIRONMENT, "INRUSH_RESULTS": str(results)},
    )  # fmt: skip
    return results, done


def test_a_run_ends_in_the_answer_the_verdict_and_the_next_command(
    tiny: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    _, done = tiny
    assert done.returncode == 0, done.stderr
    conclusion, empty, header, row, *_, verdict, following = done.stdout.splitlines()
    assert conclusion.startswith("SQLite stores ") and empty == "" and header.startswith("engine ")
    assert row.startswith("sqlite ") and row.endswith(" valid*")
    assert verdict.startswith("valid") and "inrush" in following
    assert "[1/2]" in done.stderr and "report:" in done.stderr


@pytest.fixture
def after(
    tiny: tuple[Path, subprocess.CompletedProcess[str]], inrush: Inrush, monkeypatch: pytest.MonkeyPatch
) -> Inrush:
    """`inrush` where the study has been run."""
    monkeypatch.setenv("INRUSH_RESULTS", str(tiny[0]))
    return inrush


def test_what_was_run_is_listed_shown_and_reported(after: Inrush, tmp_path: Path) -> None:
    (listed,) = after("runs", "--json").json
    assert listed["status"] == "done" and listed["runs"] == "2/2"
    assert listed["verdict"] == "valid" and listed["targets"] == ["sqlite"]
    assert re.search(r"2/2 +valid, with notes +sqlite ", after("runs").out)
    shown = after("show", "--json").json
    assert shown["valid"] is True and shown["points"][0]["point"]["engine"] == "sqlite"
    assert shown["answer"]["sentence"].startswith("SQLite stores ") and shown["answer"]["valid"] is True
    assert [tried["point"]["engine"] for tried in shown["answer"]["parts"][0]["tried"]] == ["sqlite"]
    checked = after("show", "--check")
    files = sum(len(r.doc["tables"]) for r in Store().find(listed["id"]).runs)
    assert (
        "writers.rows_per_s" in checked.out
        and f"{files} files of 2 runs are unchanged since they were sealed" in checked.err
    )
    lines = checked.out.splitlines()
    (report,) = Store().find(listed["id"]).path.glob("report.html")
    assert lines[-1] == f"report: {report.resolve()}" and any(line.startswith("sqlite ") for line in lines)
    page = tmp_path / "page.html"
    assert after("report", "--html", str(page)).out.strip() == str(page)
    assert "sqlite" in page.read_text()


def test_the_answer_is_shown_as_markdown_and_nothing_else_is(after: Inrush) -> None:
    sentence, empty, names, aligned, *rows = after("show", "--markdown").out.splitlines()
    assert sentence.startswith("SQLite stores ") and empty == ""
    assert names.startswith("| engine | ") and names.count("|") == aligned.count("|")
    row, nothing, expected, *marks = rows
    assert nothing == "" and expected.startswith("Expected: DuckDB gains") and marks[-1].startswith("- ")
    assert (
        row.startswith("| SQLite | ")
        and row.endswith(" | valid, with notes |")
        and row.count("|") == names.count("|")
    )


def test_results_without_a_verdict_get_it_by_a_report(
    tiny: tuple[Path, subprocess.CompletedProcess[str]], inrush: Inrush
) -> None:
    shutil.copytree(tiny[0], inrush.store.root)
    path = inrush.store.latest().path / "study.json"
    path.write_text(json.dumps({k: v for k, v in json.loads(path.read_text()).items() if k != "verdict"}))
    said = inrush("runs")
    assert re.search(r"2/2 +- +sqlite ", said.out) and f"no verdict is kept of {path.parent.name}" in said.err
    assert inrush("report").code == 0
    assert inrush("runs", "--json").json[0]["verdict"] == "valid" and inrush("runs").err == ""


def test_exports_are_written_where_asked(after: Inrush, tmp_path: Path) -> None:
    places = {"--csv": "csv", "--hdr": "l.hdr", "--bmf": "b.json"}
    said = after(
        "show", *(word for option, name in places.items() for word in (option, str(tmp_path / name)))
    )
    assert said.code == 0
    assert (tmp_path / "csv" / "repetitions.csv").is_file() and "Tag=" in (tmp_path / "l.hdr").read_text()
    measures = json.loads((tmp_path / "b.json").read_text())["writers: sqlite, batch_rows 1,000"]
    assert measures["makespan"]["value"] > 0


def test_published_claims_without_a_rule_are_said_to_be_none(after: Inrush, tmp_path: Path) -> None:
    said = after("show", "--claims", str(tmp_path / "c.csv"))
    assert said.code == 0 and len((tmp_path / "c.csv").read_text().splitlines()) == 1
    assert "the header alone, for no published claim of this study has a rule" in said.err + said.out


@pytest.mark.ci
def test_null_engines_run_beside_others_unasked_and_set_the_floor(inrush: Inrush) -> None:
    """A study with readers whose answers an oracle checks: nobody asks an engine that keeps nothing."""
    options = ("-P", "batch_rows=1000", "-P", "repeats.count=1", "-P", "schedule.at_least_s=0.01")
    said = inrush("run", "quickstart", "null", "null:text", "sqlite", "--scale", "xs", *options, "--json")
    # 3: a busy machine made the client late; what is said of the null engines holds all the same.
    assert said.code in (0, 3), said.err
    found = {v["guard"]: v for v in said.json["verdicts"]}
    assert found["client is not the bottleneck"]["outcome"] != "invalid"
    assert "None of 1 rate is above" in found["client is not the bottleneck"]["sentence"]
    assert found["oracle agrees"]["outcome"] == "pass"
    assert {r.labels["engine"] for r in Results(inrush.store.latest().path).runs} == {
        "null",
        "null:text",
        "sqlite",
    }


def test_results_are_not_compared_with_themselves(after: Inrush) -> None:
    said = after("compare", "telemetry-quickstart", "telemetry-quickstart")
    assert said.code == 0 and "nothing to compare" in said.out and "ratio" not in said.out


def test_a_file_that_was_changed_after_sealing_is_found(
    tiny: tuple[Path, subprocess.CompletedProcess[str]], inrush: Inrush
) -> None:
    shutil.copytree(tiny[0], inrush.store.root)
    run = Results(inrush.store.latest().path).runs[0]
    path = run.path / "repetitions.parquet"
    path.write_bytes(path.read_bytes() + b"x")
    said = inrush("show", "--check")
    assert said.code == 2 and "repetitions.parquet" in said.err


def test_a_run_as_json_says_where_and_whether_it_is_valid(inrush: Inrush) -> None:
    found = inrush("run", *TINY, "--json").json
    assert set(found) == {"run_dir", "report", "valid", "verdicts"}
    assert Path(found["report"]).is_file() and found["valid"] is True
    assert {v["outcome"] for v in found["verdicts"]} <= {"pass", "note", "not checked"}


UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}


def test_a_quiet_run_says_its_last_lines_alone(inrush: Inrush) -> None:
    said = inrush("run", *TINY, "--quiet")
    assert said.code in (0, 3) and said.out.startswith("SQLite stores ")
    assert said.out.splitlines()[-1].startswith("next: ") and "[1/" not in said.out + said.err
    times, line = said.err.splitlines()
    assert line.startswith("report: ")
    # Every part of the time is there, and together they are the whole.
    whole, parts = times.split(": ")
    seconds = {
        name.strip(): float(n) * UNITS[unit]
        for name, n, unit in re.findall(r"([a-z ]+) ([\d.]+) (\S?s)\b", parts)
    }
    (taken,) = (float(n) * UNITS[unit] for n, unit in re.findall(r"took ([\d.]+) (\S?s)$", whole))
    assert list(seconds) == ["planning", "runs", "report", "the rest"]
    assert sum(seconds.values()) == pytest.approx(taken, rel=0.02) and seconds["runs"] > 0.1


def test_a_quiet_run_still_names_what_failed(inrush: Inrush) -> None:
    said = inrush("run", "none.toml", "-q")
    assert said.code == 2 and "no such file" in said.err


def test_a_crossed_limit_of_the_study_is_code_99(inrush: Inrush) -> None:
    said = inrush("run", *TINY, "-P", 'accept={"writers.makespan_s" = 1e-9}')
    assert said.code == 99 and said.out.startswith("limit crossed: writers.makespan_s is")


@pytest.mark.ci
def test_ctrl_c_is_code_130_and_resume_ends_what_was_begun(inrush: Inrush) -> None:
    """A study of two points is interrupted by the terminal's signal, then resumed, its fresh repeats too."""
    words = ("run", "quickstart", "sqlite", "--scale", "xs", "-P", "repeats={count=1, confirm=1}")
    with subprocess.Popen(
        [sys.executable, "-m", "inrush.cli", *words],
        stderr=subprocess.PIPE, text=True, env={**ENVIRONMENT, "INRUSH_RESULTS": str(inrush.store.root)},
    ) as process:  # fmt: skip
        assert process.stderr is not None
        while "[1/" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130 and "Traceback" not in rest
    folder = inrush.store.latest().path
    said = re.search(
        r"inrush: interrupted: (\d) of (\d) runs (?:is|are) complete and kept in (\S+); .*\n(.*)\n", rest
    )
    assert said is not None, rest
    assert (int(said[1]), said[3]) == (len(Results(folder).runs), str(folder)) and int(said[1]) < int(said[2])
    assert said[4] == f"next: inrush run --resume {folder.name}"
    assert inrush.store.latest().doc["status"] == "interrupted"
    resumed = inrush("run", "--resume")
    assert resumed.code == 0, resumed.err
    doc = inrush.store.latest().doc
    made = [*(p["run"] for p in doc["planned"]), *doc["confirming"]]
    assert [r.id for r in Results(inrush.store.latest().path).runs] == made
    assert inrush("runs", "--json").json[0]["status"] == "done"


@pytest.mark.ci
def test_kill_9_of_a_real_study_loses_the_run_in_hand_and_nothing_else(inrush: Inrush) -> None:
    """inrush is killed twice in the middle of SQLite runs; resumed, every run is there once and proven."""
    environment = {**ENVIRONMENT, "INRUSH_RESULTS": str(inrush.store.root)}
    words = [
        "run",
        "quickstart",
        "sqlite",
        "--scale",
        "xs",
        "-P",
        "batch_rows=1000",
        "-P",
        "repeats={count=3, confirm=0}",
    ]
    for after_runs in (1, 3):
        with subprocess.Popen(
            [sys.executable, "-m", "inrush.cli", *words], stderr=subprocess.DEVNULL, env=environment
        ) as process:
            end = time.monotonic() + 250
            while len(list(inrush.store.root.glob("*/*/run.json"))) < after_runs and process.poll() is None:
                assert time.monotonic() < end
                time.sleep(0.02)
            process.kill()
        words = ["run", "--resume"]
    assert inrush("runs", "--json").json[0]["status"] == "killed"
    assert inrush("run", "--resume").code == 0
    results = Results(inrush.store.latest().path)
    assert [r.id for r in results.runs] == [p["run"] for p in results.study["planned"]]
    stored = [run for run in results.runs if run.labels["engine"] == "sqlite"]
    assert len(stored) == len(results.runs) - len(set(results.study["calibrated_by"].values())) > 0
    for run in stored:
        assert all(run.table("proofs").column("holds").to_pylist()) and run.table("proofs").num_rows
    assert unsealed_runs(results.path) == []


def test_doctor_gives_every_figure_for_programs(inrush: Inrush) -> None:
    found = inrush("doctor", "--seconds", "0.05", "--json").json
    for key in (
        "null_ops_per_client_cpu_s", "rows_per_cpu_s", "encode_text_rows_per_cpu_s", "encode_binary_rows_per_cpu_s",
        "clock_ns", "pacer_lag_us_p50", "disk_fsync_per_s", "disk_write_bytes_per_s",
    ):  # fmt: skip
        assert found[key] > 0, key
    assert found["build_profile"] in ("release", "debug")


def test_a_study_of_ones_own_file_is_written_and_planned(inrush: Inrush, tmp_path: Path) -> None:
    csv = tmp_path / "my.csv"
    csv.write_text(
        "id,at,amount\n" + "".join(f"{i},2026-01-01T00:00:{i % 60:02d}Z,{i / 4}\n" for i in range(500))
    )
    said = inrush("new", "mine", "--from", str(csv), "--folder", str(tmp_path / "mine"))
    assert said.code == 0, said.err
    study = said.out.splitlines()[-1]
    assert inrush("plan", study, "duckdb").code == 0


def test_the_first_figure_is_said_with_its_proof_as_soon_as_it_is_there(
    tiny: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    """Once, after the first run of a point; the run on the null engine proves nothing and says no rate."""
    said = tiny[1].stderr.splitlines()
    first = next(i for i, line in enumerate(said) if line.startswith("[1/2]"))
    assert re.search(r" rows/s \(rate of writers\), (\d+) of \1 proofs hold$", said[first])
    assert re.search(
        r"^first result .* s after planning: .* rows/s \(rate of writers\), (\d+) of \1 proofs hold",
        said[first + 1],
    )
    assert sum(line.startswith("first result") for line in said) == 1
    overheads = [line for line in said if "client overhead: null" in line]
    assert overheads and all("proofs" not in line for line in overheads)
