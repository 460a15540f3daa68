"""What cannot begin leaves nothing behind, and says in one line why: folders that cannot be written, servers that do not start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inrush.engines.base.instance import Target
from inrush.errors import CoreError, TargetError, UsageError
from inrush.run.run import Facts, no_space_explained
from inrush.targets.deployment import Deployment
from tests.fake_server import FakeServer
from tests.terminal import Inrush
from tests.test_run import begin


def one_line(said: str) -> bool:
    return "Traceback" not in said and said.strip().count("\n") == 0


@pytest.mark.parametrize(
    "words",
    [
        ("run", "quickstart", "--start", "postgresql"),
        ("load", "none.csv", "--table", "t", "--into", "sqlite:///x"),
        ("load-server", "--into", "sqlite:///x"),
    ],
)
def test_results_that_cannot_be_written_are_refused_before_a_server_is_started(
    inrush: Inrush, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    def started(*_: object) -> None:
        raise AssertionError("a server was started")

    monkeypatch.setattr("inrush.targets.deployments.started", started)
    (tmp_path / "file").touch()
    monkeypatch.setenv("INRUSH_RESULTS", str(tmp_path / "file" / "results"))
    said = inrush(*words)
    assert said.code == 2 and one_line(said.err), said.err
    assert str(tmp_path / "file" / "results") in said.err and "INRUSH_RESULTS=DIR" in said.err


def test_a_report_that_cannot_be_written_is_one_line(inrush: Inrush, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(*_: object) -> None:
        raise OSError(30, "Read-only file system", "/there/report.html")

    assert inrush(
        "run", "quickstart", "sqlite", "--scale", "xs", "-P", "batch_rows=1000", "-P", "repeats.count=1"
    ).code in (0, 3)
    monkeypatch.setattr("inrush.report.report.write_report", read_only)
    said = inrush("report")
    assert said.code == 2 and one_line(said.err) and "/there/report.html: Read-only file system" in said.err


@pytest.mark.parametrize(
    ("error", "code"), [(UsageError("PostgreSQL has no setting shared_buffer"), 2), (TargetError("no"), 1)]
)
def test_a_server_that_does_not_start_leaves_no_result(
    inrush: Inrush, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int
) -> None:
    def started(*_: object) -> None:
        raise error

    monkeypatch.setattr("inrush.targets.deployments.started", started)
    said = inrush("run", "quickstart", "--start", "postgresql,shared_buffer=1GB", "--scale", "xs")
    assert said.code == code and str(error) in said.err
    assert inrush.store.studies() == [] and list(inrush.store.root.iterdir()) == []


def test_a_full_disk_of_data_is_named_and_not_the_results_folder(tmp_path: Path) -> None:
    folder = begin(tmp_path)
    there = tmp_path / "disk"
    there.mkdir()

    def probe(_: Path) -> dict[str, Any]:
        raise OSError(28, "No space left on device")

    class There(Deployment):
        def data_place(self, own: Path) -> Path:
            return there

    deployment = There(FakeServer(), Target("fake", ""))
    with (
        pytest.raises(CoreError, match=rf"^{there}: No space left on device \([\d,]+ bytes of the [\d,]+ "),
        no_space_explained(folder),
    ):
        Facts(folder, probe).of(deployment)


def test_a_study_without_figures_says_so(inrush: Inrush, tmp_path: Path) -> None:
    inrush.store.new_study("empty", {"title": "t"})
    said = inrush("report", "--pdf", str(tmp_path / "pdf"))
    assert said.code == 1 and "no figure to draw" in said.err and one_line(said.err)
