"""The page of waves: its smaller clusters are simulated again, and it says of them what the tests for waves say."""

from __future__ import annotations

from dataclasses import replace

from benches.keylookup.waves import CHECKPOINTED, EAGER, PAGE, case, row, svg
from inrush.model.cluster import Checkpoint

TEXT = PAGE.read_text(encoding="utf-8")


def test_rows_of_the_page_are_what_the_simulation_gives() -> None:
    for name, cluster in (
        ("a checkpoint every 4 ms, seed 1", CHECKPOINTED),
        ("no checkpoint, seed 1", replace(CHECKPOINTED, checkpoint=Checkpoint())),
        ("eager sends, seed 1", EAGER),
    ):
        assert row(case(name, cluster)) in TEXT


def test_the_picture_has_a_panel_for_each_wave_and_its_cure() -> None:
    drawn = [
        case("a, seed 1", CHECKPOINTED),
        case("b, seed 1", replace(CHECKPOINTED, checkpoint=Checkpoint())),
    ]
    assert svg(drawn).count("<polyline") == 2
    assert PAGE.with_suffix(".svg").read_text(encoding="utf-8").count("<polyline") == 4
