"""The archive's claims: what they were frozen as, that they were frozen before their runs, and the page of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benches.archive.campaign import MONTH, ORDERS, READ, STORED, explained, month, read, stored
from benches.archive.page import BEYOND, EMBEDDED, SERVERS, entries, page
from inrush.guards.analyse import analyse
from inrush.results.predictions import digest
from inrush.results.store import Results
from inrush.stats.measures import study_record
from tests.steps import run_study_file

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


class Known:
    """An analysis of one run of each order: figures by order and name, and which of them a guard calls broken."""

    def __init__(
        self, figures: Mapping[str, Mapping[str, float]], env: Mapping[str, Any], broken: str = ""
    ) -> None:
        self.figures, self.broken = figures, broken
        self.runs = [SimpleNamespace(run=SimpleNamespace(env=env, summary={}))]

    def summaries(self, figure: str) -> list[Any]:
        return [
            SimpleNamespace(point=(("row_order", order),), centre=of[figure], interval=None)
            for order, of in self.figures.items()
            if figure in of
        ]

    def broken_points(self, figure: str, points: Sequence[Any]) -> Sequence[Any]:
        return points if figure == self.broken else ()


ENV = {"disk_direct": True, "disk_read_8k_s": 100e-6, "disk_read_16k_s": 200e-6}


def a_range(latency_s: float, pages: float, page_bytes: float = 8192) -> dict[str, float]:
    return {
        "long_cold.latency_p50_s": latency_s, "long_cold.pages_read": pages, "long_cold.page_bytes": page_bytes,
        "clustered_warm.latency_p50_s": 0.02, "long_cold.rows_per_s": 1e6, "load.rows": 1e6, "cluster.duration_s": 3.6,
    }  # fmt: skip


def test_a_cold_read_takes_what_its_pages_take_on_the_device_beside_its_rows() -> None:
    by_order = {"key": a_range(0.03, 200), "time": a_range(1.6, 10_000)}
    key, time = explained("postgresql", Known(by_order, ENV))
    assert key == ["postgresql", "key", "200", "100 µs", "40.0 ms", "30.0 ms", "–", "–"]
    assert time == ["postgresql", "time", "10,000", "100 µs", "1.02 s", "1.60 s", "25.5", "53.3"]
    # A limit of the server is slower than the device; pages of 16 kB have a probe of their own.
    limited = explained("postgresql", Known(by_order, {**ENV, "limit_reads_per_s": 1_000}))
    assert [line[3] for line in limited] == ["1.00 ms", "1.00 ms"]
    large = explained("mysql", Known({o: a_range(1.0, 100, 16_384) for o in ORDERS}, ENV))
    assert [line[3] for line in large] == ["200 µs", "200 µs"]


def test_what_was_not_probed_or_is_invalid_is_said() -> None:
    by_order = {"key": a_range(0.03, 200), "time": a_range(1.6, 10_000)}
    assert all(
        set(line[2:]) == {"–"} for line in explained("x", Known(by_order, {**ENV, "disk_direct": False}))
    )
    broken = Known(by_order, ENV, "long_cold.latency_p50_s")
    assert [line[5] for line in explained("x", broken)] == ["INVALID 30.0 ms", "INVALID 1.60 s"]
    assert month("x", "key", Known(by_order, ENV, "long_cold.rows_per_s"))[2] == "INVALID 2.04 s"


def test_a_month_and_a_year_are_in_proportion_to_their_rows() -> None:
    line = dict(zip(MONTH, month("x", "key", Known({"key": a_range(0.03, 200)}, ENV)), strict=True))
    assert line["a month, cold, in proportion"] == "2.04 s" and line["warm"] == "–"
    # 3.6 s for a million rows, of 2,041 million.
    assert line["clustering a year, in proportion"] == "2.0 h"


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
    assert table["a year by key, in proportion"].endswith("GB"), table
