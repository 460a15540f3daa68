"""Pictures of docs/findings: each is what the command draws from its page, and shows every figure of its table."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benches import page_pictures
from benches.page_pictures import FOLDER, PICTURES, Picture, rows_of, scored, svg
from inrush.study.shipped import shipped_studies

NAMES = [picture.name for picture in PICTURES]


@pytest.mark.parametrize("picture", PICTURES, ids=NAMES)
def test_the_picture_is_what_the_command_draws_from_its_page(picture: Picture) -> None:
    page = (FOLDER / f"{picture.name}.md").read_text()
    assert svg(picture, page) == (FOLDER / f"{picture.name}.svg").read_text(), (
        "`python -m benches.page_pictures` draws it"
    )
    assert re.search(rf"^!\[[^\]]{{20,}}\]\({picture.name}\.svg\)$", page, re.MULTILINE), (
        "shown, with what it shows"
    )


def test_every_family_has_a_page_with_a_picture() -> None:
    assert {study.path.parent.name for study in shipped_studies()} <= {*NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_a_page_has_question_and_verdict_before_its_table(name: str) -> None:
    page = (FOLDER / f"{name}.md").read_text()
    before = page.split("\n| ", 1)[0]
    assert f"({name}.svg)" in before
    assert re.search(r"question|Question|asked?\b", before)


@pytest.mark.parametrize("picture", PICTURES, ids=NAMES)
def test_every_figure_of_the_table_has_a_mark(picture: Picture) -> None:
    page = (FOLDER / f"{picture.name}.md").read_text()
    drawn = ElementTree.fromstring(svg(picture, page))
    marks = [e for e in drawn.iter() if e.get("class") == "mark"]
    rows = list(rows_of(page, picture.header))
    assert len(marks) == len(rows) > 3
    low, high = 0.0, float(drawn.get("width") or 0)
    assert all(low < float(mark.get("cx") or 0) < high for mark in marks)


def test_a_larger_figure_is_further_to_the_right() -> None:
    page = "| what | ours | ratio | bar |\n|---|---|---|---|\n| a | 1 | 0.5 [0.4, 0.6] | 1 |\n| b | 1 | 2.0 [1.5, 3] | 1 |\n"
    (benches,) = (picture for picture in PICTURES if picture.name == "benches")
    drawn = svg(benches, page)
    a, b = (float(x) for x in re.findall(r'<circle class="mark" cx="([\d.]+)"', drawn))
    assert a < b
    (_, to), (start, _) = (
        tuple(map(float, m)) for m in re.findall(r'<line class="range" x1="([\d.]+)" x2="([\d.]+)"', drawn)
    )
    assert a < to < start < b


def test_figures_of_different_units_are_not_divided() -> None:
    with pytest.raises(ValueError, match="claimed in s, observed in ms"):
        scored(["a", "load", "10 s [8 s, 12 s]", "900 ms"], 0, 1, 2, 3)


def test_a_page_without_a_figure_is_refused() -> None:
    with pytest.raises(ValueError, match=r"benches\.md: no table with a column 'ours'"):
        svg(next(p for p in PICTURES if p.name == "benches"), "| a | b |\n")


def test_figures_of_the_page_on_pipelines_are_those_of_the_claims() -> None:
    with (FOLDER / "claims.csv").open(encoding="utf-8", newline="") as file:
        claims = [row for row in csv.DictReader(file) if row["at"] == "pipelines 16"]
    rows = list(rows_of((FOLDER / "pipeline.md").read_text(), "limit"))
    shown = [(cells[0], *cells[2:4], cells[4].strip("*"), cells[5].strip("`")) for cells in rows]
    assert shown == [
        (row["set-up"].removeprefix("pipelines-"), row["claimed [90 %]"], row["observed"], row["error"], row["hash"])
        for row in claims
    ]  # fmt: skip
    assert [cells[4].startswith("**") for cells in rows] == [row["inside"] == "no" for row in claims]


def test_the_command_writes_every_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for picture in PICTURES:
        (tmp_path / f"{picture.name}.md").write_text((FOLDER / f"{picture.name}.md").read_text())
    monkeypatch.setattr(page_pictures, "FOLDER", tmp_path)
    assert page_pictures.main() == 0
    for picture in PICTURES:
        assert (tmp_path / f"{picture.name}.svg").read_text() == (FOLDER / f"{picture.name}.svg").read_text()
