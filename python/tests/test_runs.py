"""`inrush runs` and the report in a browser: what is listed, what is deleted and what never is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inrush.errors import UsageError
from inrush.report.run_list import targets
from inrush.results.store import Store, StudyFolder
from tests.terminal import Inrush


def begun(inrush: Inrush, name: str = "batch", **doc: Any) -> StudyFolder:
    folder = inrush.store.new_study(name, {"status": "done", "title": "a title", **doc})
    (folder.path / "report.html").write_text("<html>")
    (folder.path / "b01-0000-x").mkdir()
    return folder


def test_targets_are_told_as_they_were_given() -> None:
    call = {"targets": ["mysql://me@h/db", "sqlite"], "start": ["postgresql,fsync=off"]}
    detail = targets({"engines": ["sqlite", "postgresql", "mysql"], "call": call})
    assert detail == ("sqlite", "postgresql (started)", "mysql://me@h/db")
    assert targets({"engines": ["duckdb"]}) == ("duckdb",) and targets({}) == ()
    assert targets({"engines": ["oracle"], "call": {"targets": ["oracle://h/db"]}}) == ("oracle",)


def test_a_verdict_is_shown_of_a_study_that_ended_alone(inrush: Inrush) -> None:
    begun(inrush, "one", verdict="invalid")
    begun(inrush, "two", verdict="valid", status="interrupted")
    rows = {row["id"].partition("-")[0]: row["verdict"] for row in inrush("runs", "--json").json}
    assert rows == {"one": "invalid", "two": None}
    begun(inrush, "three", verdict="valid", noted=True)
    one, three, two = sorted(inrush("runs").out.splitlines()[1:])
    assert "INVALID" in one and " valid" not in two and " valid, with notes " in three


@pytest.mark.parametrize("words", [("runs",), ("show",), ("run", "quickstart", "sqlite", "--scale", "xs")])
def test_a_file_in_the_place_of_the_results_is_said_to_be_one(
    inrush: Inrush, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    file = tmp_path / "results.txt"
    file.write_text("notes of mine")
    monkeypatch.setenv("INRUSH_RESULTS", str(file))
    said = inrush(*words)
    assert (said.code, said.out) == (2, "")
    assert (
        said.err
        == f"inrush: {file}: is a file, not a folder; name a folder for results: INRUSH_RESULTS=DIR\n"
    )


def test_one_study_is_deleted_and_the_others_stay(inrush: Inrush) -> None:
    first, second = begun(inrush, "batch"), begun(inrush, "writers")
    said = inrush("runs", "--delete", "batch", "--yes")
    assert said.code == 0 and said.out.startswith(f"deleted {first.path.name} (done, 0/0 runs, ")
    assert not first.path.exists() and second.path.is_dir()
    assert [row["id"] for row in inrush("runs", "--json").json] == [second.path.name]


def test_without_a_terminal_and_without_yes_nothing_is_deleted(inrush: Inrush) -> None:
    folder = begun(inrush)
    said = inrush("runs", "--delete", folder.path.name)
    assert said.code == 2 and "--yes" in said.err and folder.path.is_dir()


@pytest.mark.parametrize(
    ("answer", "deleted"), [("y\n", True), ("yes\n", True), ("\n", False), ("n\n", False)]
)
def test_a_terminal_is_asked(
    inrush: Inrush, monkeypatch: pytest.MonkeyPatch, answer: str, deleted: bool
) -> None:
    folder, asked = begun(inrush), []

    class Terminal:
        def isatty(self) -> bool:
            return True

        def readline(self) -> str:
            asked.append(answer)
            return answer

        def write(self, text: str) -> None: ...
        def flush(self) -> None: ...

    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("sys.stderr", Terminal())
    assert inrush("runs", "--delete", folder.path.name).code == (0 if deleted else 2)
    assert asked == [answer] and folder.path.is_dir() != deleted


def test_a_study_that_runs_is_not_deleted(inrush: Inrush) -> None:
    folder = begun(inrush, status="running")
    with folder.locked():
        said = inrush("runs", "--delete", folder.path.name, "--yes")
        assert said.code == 2 and "runs now" in said.err and folder.path.is_dir()
        with pytest.raises(UsageError, match="another inrush"):
            StudyFolder(folder.path).delete()
    assert inrush("runs", "--delete", folder.path.name, "--yes").code == 0


def test_no_path_outside_of_the_results_is_ever_followed(inrush: Inrush, tmp_path: Path) -> None:
    mine = Store(tmp_path / "elsewhere").new_study("mine", {"status": "done"})
    folder = begun(inrush, "batch")
    (folder.path / "data").symlink_to(mine.path)
    linked = inrush.store.root / mine.path.name
    linked.symlink_to(mine.path)
    names = (
        "../elsewhere",
        f"../elsewhere/{mine.path.name}",
        str(mine.path),
        mine.path.name,
        ".",
        "..",
        "",
        "/",
    )
    for name in names:
        said = inrush("runs", "--delete", name, "--yes")
        assert said.code == 2 and "Traceback" not in said.err, name
    assert folder.path.is_dir()
    assert inrush("runs", "--delete", folder.path.name, "--yes").code == 0
    assert not folder.path.exists() and (mine.path / "study.json").is_file()


def test_a_name_of_several_studies_deletes_none(inrush: Inrush) -> None:
    first, second = begun(inrush, "batch"), begun(inrush, "batch")
    said = inrush("runs", "--delete", "batch", "--yes")
    assert said.code == 2 and first.path.name in said.err and second.path.name in said.err
    assert inrush("runs", "--delete", first.path.name, "--yes").code == 0, "an id that another begins with"
    assert second.path.is_dir()


@pytest.mark.parametrize(
    ("display", "opens", "named"), [("", True, True), (":0", False, True), (":0", True, False)]
)
def test_a_report_is_opened_in_a_browser_or_its_path_is_named(
    inrush: Inrush,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    display: str,
    opens: bool,
    named: bool,
) -> None:
    opened: list[str] = []

    def browser(uri: str) -> bool:
        opened.append(uri)
        return opens

    for name in ("WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.setattr("webbrowser.open", browser)
    page = tmp_path / "a page.html"
    begun(inrush)
    said = inrush("report", "--html", str(page), "--open")
    assert said.code == 0 and said.out.strip() == str(page)
    assert opened == ([page.as_uri()] if display else [])
    assert ("no browser" in said.err and str(page) in said.err) == named
