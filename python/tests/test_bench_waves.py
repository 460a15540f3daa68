"""The page of waves: its smaller clusters are simulated again, and it says of them what the tests for waves say."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice

import pytest

from benches.keylookup import waves_random, waves_server
from benches.keylookup.waves import (
    BUFFERED,
    CHECKPOINTED,
    EAGER,
    PAGE,
    SEEDS,
    WHOLE,
    buffered_said,
    case,
    row,
    svg,
)
from inrush.model.cluster import Checkpoint

TEXT = PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
def test_rows_of_the_page_are_what_the_simulation_gives() -> None:
    for name, cluster in (
        ("a checkpoint every 4 ms, seed 1", CHECKPOINTED),
        ("no checkpoint, seed 1", replace(CHECKPOINTED, checkpoint=Checkpoint())),
        ("eager sends, seed 1", EAGER),
        ("eager sends, a connection takes 8 packets, seed 1", BUFFERED),
        ("the same with a send delay of 400 µs, seed 1", replace(BUFFERED, send_delay_s=400e-6)),
        ("eager sends, a connection takes all, seed 1", replace(BUFFERED, buffer_packets=0)),
    ):
        assert row(case(name, cluster)) in TEXT


def test_the_picture_has_a_panel_for_each_wave_and_its_cure() -> None:
    drawn = [
        case("a, seed 1", CHECKPOINTED),
        case("b, seed 1", replace(CHECKPOINTED, checkpoint=Checkpoint())),
    ]
    assert svg(drawn).count("<polyline") == 2
    assert PAGE.with_suffix(".svg").read_text(encoding="utf-8").count("<polyline") == 4


def test_clusters_are_drawn_by_a_seed_and_all_of_them_are_on_the_page() -> None:
    first, second = (list(islice(waves_random.drawn(WHOLE), 5)) for _ in range(2))
    assert first == second != list(islice(waves_random.drawn(WHOLE, seed=2), 5))
    assert sum(said().values()) == waves_random.CLUSTERS and f"{waves_random.CLUSTERS} of them" in TEXT


def said() -> dict[str, int]:
    """Which sends swing -> in how many clusters, by the page."""
    sentence = r"(\d+) had no wave, (\d+) had one with both, (\d+) with the delay alone, and (\d+) with eager"
    (numbers,) = re.findall(sentence, TEXT)
    return dict(zip(("none", "both", "delayed", "eager"), map(int, numbers), strict=True))


def test_eager_sends_make_a_wave_where_a_connection_takes_few_packets_and_none_where_it_takes_all() -> None:
    swings_with_sends = 0
    for seed in SEEDS:
        few, all_of_them = (
            case("", replace(BUFFERED, seed=seed, buffer_packets=packets)).seen for packets in (8, 0)
        )
        assert few is not None and few.wave.found, seed
        assert all_of_them is None or not all_of_them.wave.found, seed
        swings_with_sends += [c.name for c in few.causes] == ["operations in a send"]
    assert swings_with_sends == 2


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_each_number_of_the_page_is_what_all_clusters_give() -> None:
    assert waves_random.counts(WHOLE) == said()
    assert buffered_said() in TEXT


def test_the_servers_table_and_answer_come_from_the_table_that_results_left() -> None:
    found = waves_server.table()
    assert len(found) == 6 and waves_server.rows(found) in TEXT and waves_server.answer(found) in TEXT
    calm = [{**r, "period_s": "", "amplitude": ""} for r in found]
    assert "With checkpoints 0 of 3 runs have a wave, without 0 of 3." in waves_server.answer(calm)
