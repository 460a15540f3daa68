"""What needs no server is refused before one is started: the words of the call, the plans, and the folder of the results."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from inrush.errors import Problem
from inrush.load.pipeline import cpu_quota
from inrush.run import preflight
from inrush.run.call import StudyCall
from tests.terminal import Inrush

TINY = (
    "quickstart",
    "--start",
    "postgresql",
    "--scale",
    "xs",
    "-P",
    "batch_rows=1000",
    "-P",
    "repeats={count=1, confirm=0}",
)


@pytest.fixture(autouse=True)
def starts_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of what starts servers."""

    def opened(*_: Any, **__: Any) -> None:
        raise AssertionError("servers were started")

    monkeypatch.setattr("inrush.targets.deployments.opened", opened)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ("--fleet", "local:1", "-P", "clients=2", "-P", "schedule.at_least_s=0"),
            "a run of the study takes 2 workers; say --fleet local:2",
        ),
        (("--fleet", "local:1", "--realtime"), "--realtime: is for client processes of this machine"),
    ],
)
def test_words_that_exclude_each_other(inrush: Inrush, words: tuple[str, ...], says: str) -> None:
    said = inrush("run", *TINY, *words)
    assert said.code == 2 and says in said.err, said.err
    assert inrush.store.studies() == [], "nothing was run, and there is nothing to go on with"


def test_more_hosts_than_a_pipeline_has_without_a_fleet(inrush: Inrush) -> None:
    said = inrush("run", "pipeline-parallel", "sqlite", "--scale", "xs", "-P", "pipeline.client_hosts=2")
    assert said.code == 2 and "workers of a fleet; say --fleet" in said.err, said.err


def test_a_study_that_was_begun_with_other_plans(inrush: Inrush) -> None:
    call = StudyCall("quickstart", "xs", ("batch_rows=1000",), ("sqlite",))
    folder = inrush.store.new_study("quickstart", {"call": call.document(), "runs": ["b00-0000-other"]})
    said = inrush("run", "--resume", folder.path.name)
    assert said.code == 2 and "begun with other plans than these" in said.err, said.err


def test_everything_that_runs_would_be_refused_for_is_told_at_once(inrush: Inrush, tmp_path: Path) -> None:
    words = (
        "sqlite",
        "--realtime",
        "--input",
        str(tmp_path),
        "-P",
        "clients=2",
        "-P",
        "schedule.at_least_s=0",
    )
    said = inrush("run", *TINY, *words)
    assert said.code == 2
    for part in (
        "several client processes cannot all come first",
        "sqlite runs inside",
        "makes no input files",
    ):
        assert part in said.err, said.err


def test_so_is_everything_that_stands_beside_resume(inrush: Inrush) -> None:
    call = StudyCall("quickstart", "xs", ("batch_rows=1000",), ("sqlite",), seed=1)
    folder = inrush.store.new_study("quickstart", {"call": call.document()})
    said = inrush("run", "--resume", folder.path.name, "--seed", "2", "--scale", "s")
    assert said.code == 2 and "--seed differs" in said.err and "--scale differs" in said.err, said.err


def test_and_every_target_that_is_none(inrush: Inrush) -> None:
    said = inrush("run", "quickstart", "mysql", "sqlite", "sqlite", "--start", "duckdb")
    assert said.code == 2
    for part in (
        "mysql: it needs a server",
        "sqlite is named twice",
        "--start duckdb: it runs inside inrush",
    ):
        assert part in said.err, said.err


def test_a_file_with_tables_of_the_users_beside_a_server_to_start(inrush: Inrush, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "mine.db") as file:
        file.execute("CREATE TABLE customers (id INTEGER)")
    file.close()
    said = inrush("run", *TINY, f"sqlite://{tmp_path}/mine.db")
    assert said.code == 2 and "customers" in said.err and "--force" in said.err, said.err
    assert inrush.store.studies() == []


def test_one_file_for_several_shards(inrush: Inrush, tmp_path: Path) -> None:
    words = ("--scale", "xs", "-P", "pipeline.shards=3")
    said = inrush("run", "pipeline-parallel", f"sqlite://{tmp_path}/one.db", *words)
    assert said.code == 2 and "one file cannot be 3 shards" in said.err, said.err
    assert inrush.store.studies() == []


def test_a_part_of_a_core_that_this_machine_does_not_give(
    inrush: Inrush, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted", "/sys/fs/cgroup")

    monkeypatch.setattr(cpu_quota, "made", forbidden)
    words = ("--scale", "xs", "-P", "pipeline.load_server_cores=0.5")
    said = inrush("run", "pipeline-parallel", "sqlite", *words)
    assert said.code == 2 and "part of a core takes a cgroup's quota" in said.err, said.err
    assert inrush.store.studies() == []


def test_a_plan_warns_of_what_this_machine_does_not_permit_and_touches_nothing(
    inrush: Inrush, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    refused = [Problem.sentence("no group can be made"), Problem.sentence("no cold runs")]
    monkeypatch.setattr(preflight, "forbidden_limits", lambda found, data: iter([*refused, *refused]))
    said = inrush("plan", *TINY, "--data", str(tmp_path / "file"))
    assert said.code == 0, said.err
    assert said.err.splitlines() == ["warning: no group can be made", "warning: no cold runs"]
    assert [path.name for path in tmp_path.iterdir() if path.name != "results"] == ["file"]


@pytest.mark.parametrize("seed", ["-1", "9223372036854775808", "99999999999999999999999"])
@pytest.mark.parametrize("command", ["run", "plan"])
def test_a_seed_out_of_range_is_refused_in_one_line_however_it_is_given(
    inrush: Inrush, command: str, seed: str
) -> None:
    """`--seed -1` ended in a traceback of the core."""
    given = inrush(command, "quickstart", "--seed", seed)
    assert given.code == 2 and given.err == inrush(command, "quickstart", "-P", f"repeats.seed={seed}").err
    assert (
        given.err.count("\n") == 1 and "write a whole number from 0 to 9,223,372,036,854,775,807" in given.err
    )


def test_a_seed_of_the_command_line_holds_over_the_files(inrush: Inrush) -> None:
    for words in (("--seed", "5"), ("-P", "repeats.seed=4", "--seed", "5")):
        assert "\nseed 5, plan " in inrush("plan", "quickstart", *words).out
