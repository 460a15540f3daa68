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


def test_rows_of_the_page_are_what_the_simulation_gives() -> None:
    for name, cluster in (
        ("a checkpoint every 4 ms, seed 1", CHECKPOINTED),
        ("no checkpoint, seed 1", replace(CHECKPOINTED, checkpoint=Checkpoint())),
        ("eager sends, seed 1", EAGER),
        ("eager sends, a connection takes 16 packets, seed 1", BUFFERED),
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


def test_eager_sends_make_a_wave_where_a_connection_takes_few_packets_and_a_send_delay_ends_it() -> None:
    for seed in SEEDS:
        found = {
            name: case("", replace(BUFFERED, seed=seed, **changed)).seen  # type: ignore[arg-type]
            for name, changed in (
                ("eager", {}),
                ("delayed", {"send_delay_s": 400e-6}),
                ("endless", {"buffer_packets": 0}),
            )
        }
        waves = {name: seen is not None and seen.wave.found for name, seen in found.items()}
        assert waves == {"eager": True, "delayed": False, "endless": False}, seed
        eager = found["eager"]
        assert eager is not None and eager.causes[0].name == "operations in a send"


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
