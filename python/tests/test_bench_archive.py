"""The archive's claims: what they were frozen as, that they were frozen before their runs, and the page of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benches.archive.campaign import ORDERS, READ, STORED, Cold, read, stored
from benches.archive.page import EMBEDDED, SERVERS, entries, page
from inrush.analysis.analyse import analyse
from inrush.results.predictions import digest
from inrush.results.store import Results
from inrush.stats.measures import study_record
from tests.steps import run_study_file

PAGE = Path(__file__).parents[2] / "docs" / "findings" / "archive.md"


@pytest.mark.parametrize(("folder", "claims"), [(EMBEDDED, 5), (SERVERS, 12)])
def test_every_claim_is_as_it_was_frozen_and_its_score_is_of_it(folder: str, claims: int) -> None:
    held = entries(folder)
    assert len(held) == claims
    for claim, score in held:
        assert digest({k: v for k, v in claim.items() if k != "sha256"}) == claim["sha256"]
        assert not Path(claim["call"]["study"]).is_absolute() and claim["call"]["data"] is None, (
            "no machine's folder"
        )
        assert claim["forecast"]["reach"] == pytest.approx(16)
        if score is not None:
            assert score["sha256"] == claim["sha256"]
            assert score["scored_unix_ns"] > claim["created_unix_ns"]


def test_the_page_is_what_the_command_writes_today() -> None:
    assert page() == PAGE.read_text(encoding="utf-8")


def test_a_cold_read_takes_what_its_pages_take_on_the_device_beside_its_rows() -> None:
    of = Cold(latency_s=1.2, pages=10_000, page_s=100e-6, warm_s=0.02)
    assert of.by_pages_s == pytest.approx(1.02)


@pytest.mark.slow
def test_the_tables_of_the_campaign_are_made_of_a_complete_study(tmp_path: Path) -> None:
    """The shipped study, small, on an embedded engine that takes the place of a server."""
    analysis = analyse(study_record(Results(run_study_file(Path("archive-extract"), tmp_path, "xs"))))
    for order in ORDERS:
        line = dict(zip(READ, read("sqlite", order, analysis), strict=True))
        assert (line["engine"], line["order"]) == ("sqlite", order)
        assert " rows/s" in line["cold"] and " rows/s" in line["warm"], line
    table = dict(zip(STORED, stored("sqlite", analysis), strict=True))
    assert table["memory"] == "all" and " rows/s" in table["stored by time"], table
    assert table["a year by key"].endswith("GB"), table
