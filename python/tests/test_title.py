"""The title of a study says what ran: what `-P` changed stands in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.analysis.title import title_of
from inrush.guards.analyse import analyse
from inrush.report.report import write_report
from tests import synthetic

STUDY = {"study": "telemetry-writers", "title": "Writers, with sixteen readers a table"}


@pytest.mark.parametrize(
    ("overrides", "title"),
    [
        ([], STUDY["title"]),
        (["repeats.count=5", "accept.x=1"], STUDY["title"]),
        (["readers=4"], "telemetry-writers with readers = 4"),
        (
            ["repeats.count=5", "readers=4", "writers=1,2"],
            "telemetry-writers with readers = 4, writers = 1,2",
        ),
        (["writers=1", "readers=4", "writers=2"], "telemetry-writers with writers = 2, readers = 4"),
        (["writers=1", "writers = 2", " repeats.count=5"], "telemetry-writers with writers = 2"),
        (
            ["readers=4", f"schedule={{ warm_s = {'1' * 80} }}", "depth=1"],
            "telemetry-writers with changed readers, schedule and depth",
        ),
    ],
)
def test_a_title_that_may_be_wrong_is_not_shown(overrides: list[str], title: str) -> None:
    assert title_of({**STUDY, "overrides": overrides}) == title


def test_the_page_has_the_title_of_what_ran(tmp_path: Path) -> None:
    truth = {("duckdb", batch): 2.0 for batch in (200, 1000)}
    doc = {**STUDY, "overrides": ["readers=<4>"]}
    path = tmp_path / "report.html"
    write_report(synthetic.study(truth, doc=doc), path)
    text = path.read_text()
    assert "<h1>telemetry-writers with readers = &lt;4&gt;</h1>" in text
    assert "sixteen readers" not in text.split("<h1>")[1].split("</h1>")[0]
    assert analyse(synthetic.study(truth, doc=doc)).study["title"] == STUDY["title"], "as its file calls it"
