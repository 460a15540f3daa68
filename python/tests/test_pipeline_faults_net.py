"""Workers of a pipeline over hosts of a laboratory that are killed, frozen and cut off: the part and the worker are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from benches import fleet_kills, fleet_kills_pipeline
from tests.needed import need_distributed, need_lab

from .engines.servers import need, scratch

need_distributed()
need_lab()
#: Dear in time: hosts of their own, one with a server, and ten runs.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
#: What a machine takes that tests something else at the same time, s.
MORE_S = 5.0


def test_a_fault_of_each_part_ends_the_load_with_its_name_and_the_next_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("postgresql")
    monkeypatch.setattr(fleet_kills, "FAILS_S", fleet_kills.FAILS_S + MORE_S)
    monkeypatch.setattr(fleet_kills, "GONE_S", fleet_kills.GONE_S + MORE_S)
    with scratch() as folder, fleet_kills_pipeline.campaign(folder, 1, 0.001, 0.0) as campaign:
        for victim in fleet_kills_pipeline.VICTIMS:
            kill = campaign.killed(victim)
            assert not kill.wrong, kill
        assert campaign.finished() == []
