"""The archive's claims: what they were frozen as, that they were frozen before their runs, and the page of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benches.archive.page import BEYOND, EMBEDDED, SERVERS, entries, page
from inrush.results.predictions import digest

PAGE = Path(__file__).parents[2] / "docs" / "findings" / "archive.md"


@pytest.mark.parametrize(("folder", "claims"), [(EMBEDDED, 5), (SERVERS, 12), (BEYOND, 7)])
def test_every_claim_is_as_it_was_frozen_and_its_score_is_of_it(folder: str, claims: int) -> None:
    held = entries(folder)
    assert len(held) == claims
    for claim, score in held:
        assert digest({k: v for k, v in claim.items() if k != "sha256"}) == claim["sha256"]
        assert not Path(claim["call"]["study"]).is_absolute() and claim["call"]["data"] is None, (
            "no machine's folder"
        )
        assert claim["forecast"]["reach"] == pytest.approx(8 if claim["forecast"]["x"] == 5e6 else 16)
        if score is not None:
            assert score["sha256"] == claim["sha256"]
            assert score["scored_unix_ns"] > claim["created_unix_ns"]


def test_the_page_is_what_the_command_writes_today() -> None:
    assert page() == PAGE.read_text(encoding="utf-8")
