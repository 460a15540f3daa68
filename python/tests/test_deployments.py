"""Where engines run: decided before anything is touched, and stopped whatever happens."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from inrush.errors import TargetError, UsageError
from inrush.targets import deployments
from inrush.targets.configurations import transport_problems
from inrush.targets.deployments import NamedTargets, named_targets, opened, started_words
from tests.fake_server import FakeServer

STUDY = ("duckdb", "sqlite", "postgresql")


def test_without_targets_a_study_runs_on_its_embedded_engines_and_says_what_is_left_out() -> None:
    found = named_targets(STUDY)
    assert found.engines == ("duckdb", "sqlite")
    assert list(found.left_out) == ["postgresql"] and "--start postgresql" in found.left_out["postgresql"]


def test_an_engine_that_is_started_runs_alone_or_beside_the_targets_that_are_named() -> None:
    alone = named_targets(STUDY, start=["postgresql"])
    assert alone.engines == ("postgresql",) and alone.left_out == {}
    assert named_targets(STUDY, ["sqlite"], ["postgresql"]).engines == ("sqlite", "postgresql")
    assert named_targets(STUDY, start=["mysql", "postgresql"]).engines == ("postgresql", "mysql")


def test_targets_are_run_alone_in_the_order_of_the_study() -> None:
    found = named_targets(STUDY, ["postgresql://h/db", "duckdb"])
    assert found.engines == ("duckdb", "postgresql") and found.urls == {"postgresql": "postgresql://h/db"}
    assert named_targets(["duckdb"], ["sqlite:///x.db"]).engines == ("sqlite",)


@pytest.mark.parametrize(
    ("targets", "start", "says"),
    [
        (["postgresql"], [], "needs a server"),
        (["sqlite", "sqlite:///x"], [], "named twice"),
        (["postgresql://h"], ["postgresql"], "choose one"),
        ([], ["duckdb"], "inside inrush"),
        (["oracle"], [], "no such engine"),
    ],
)
def test_what_cannot_be_meant_is_refused(targets: list[str], start: list[str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        named_targets(STUDY, targets, start)


def test_an_engine_that_inrush_has_no_programs_of_is_not_started(tmp_path: Path) -> None:
    wanted = NamedTargets(("adbc",), start={"adbc": {}})
    says = "^adbc: this engine is no server that inrush could fetch, start or stop$"
    with pytest.raises(UsageError, match=says), opened(wanted, tmp_path, lambda _: None):
        raise AssertionError("nothing was opened")


def test_a_study_of_servers_alone_says_how_to_give_one() -> None:
    with pytest.raises(UsageError, match="--start postgresql"):
        named_targets(["postgresql"])


def test_a_server_at_an_address_has_the_transport_of_its_address() -> None:
    run = SimpleNamespace(plan={"target": {"engine": "postgresql", "options": {"transport": "unix"}}})
    plan: Any = SimpleNamespace(runs=[run])
    assert not list(transport_problems(plan, named_targets(STUDY, start=["postgresql"])))
    (problem,) = transport_problems(plan, named_targets(STUDY, ["postgresql://h/db"]))
    assert "options.postgresql.transport: unix is for servers that inrush starts" in str(problem)


def test_settings_follow_the_engine_and_may_hold_commas() -> None:
    words = ["mysql,profile=default,sql_mode=A,B,flush=1", "postgresql"]
    assert started_words(words) == {
        "mysql": {"profile": "default", "sql_mode": "A,B", "flush": "1"},
        "postgresql": {},
    }
    for wrong, says in {"mysql,fast": "'fast' is no setting", "mysql,=1": "is no setting"}.items():
        with pytest.raises(UsageError, match=says):
            started_words([wrong])
    for option, says in {"--start ": "--start postgresql --start mysql", "": "postgresql mysql"}.items():
        with pytest.raises(UsageError) as refused:
            started_words(["postgresql,mysql"], option)
        assert str(refused.value) == f"{option}postgresql,mysql: engines stand apart; write {says}"
    with pytest.raises(UsageError, match="named twice"):
        started_words(["mysql", "mysql,a=1"])
    with pytest.raises(UsageError, match=r"^--start ndb,nodes=2,x=1,nodes=4: nodes is given twice$"):
        started_words(["ndb,nodes=2,x=1,nodes=4"])


def test_what_was_started_is_stopped_also_when_the_study_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, notes = FakeServer(), []
    monkeypatch.setattr(deployments, "server", lambda _: server)
    with (
        pytest.raises(TargetError),
        opened(NamedTargets(("fake",), start={"fake": {"a": "1"}}), tmp_path, notes.append) as found,
    ):
        assert found["fake"].target.instance is not None and server.lifecycle.diary == ["start"]
        (tmp_path / "fake").mkdir(exist_ok=True)
        (tmp_path / "fake" / "rows").write_text("x")
        raise TargetError("the study failed")
    assert server.lifecycle.diary == ["start", "stop clean"] and notes == [
        f"starting fake in {tmp_path / 'fake'}",
        f"data of fake stays in {tmp_path / 'fake'}",
    ]


@pytest.mark.parametrize("end", [None, KeyboardInterrupt, TargetError])
@pytest.mark.parametrize("keep", [True, False])
def test_data_that_nobody_asked_for_goes_with_the_server_however_the_study_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: type[BaseException] | None, keep: bool
) -> None:
    monkeypatch.setattr(deployments, "server", lambda _: FakeServer())
    around = tmp_path / "around"
    for name in ("fake", "fake-shard-0"):
        (around / name).mkdir(parents=True)
        (around / name / "rows").write_text("x")
    with (
        pytest.raises(end) if end else contextlib.nullcontext(),
        opened(NamedTargets(("fake",), start={"fake": {}}), around, lambda _: None, keep=lambda: keep),
    ):
        if end:
            raise end("now")
    assert around.exists() == keep


def test_the_data_of_other_servers_in_the_folder_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployments, "server", lambda _: FakeServer())
    (tmp_path / "fake-kept").mkdir()
    (tmp_path / "fake").mkdir(exist_ok=True)
    with opened(NamedTargets(("fake",), start={"fake": {}}), tmp_path, lambda _: None, keep=lambda: False):
        pass
    assert [p.name for p in tmp_path.iterdir()] == ["fake-kept"]


def test_a_server_that_does_not_end_keeps_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def does_not_end(_: object) -> None:
        raise TargetError("it goes on")

    monkeypatch.setattr(deployments, "server", lambda _: FakeServer())
    monkeypatch.setattr(deployments, "stop", does_not_end)
    (tmp_path / "fake").mkdir(exist_ok=True)
    with (
        pytest.raises(TargetError, match="goes on"),
        opened(NamedTargets(("fake",), start={"fake": {}}), tmp_path, lambda _: None, keep=lambda: False),
    ):
        pass
    assert (tmp_path / "fake").is_dir()
