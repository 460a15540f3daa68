"""What rows will survive on a server that is not started yet is what the server says once it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.plan.plan import plan_study
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment
from inrush.targets.deployments import NamedTargets
from inrush.targets.durability import ahead, ask

SERVERS = (
    "postgresql", "timescaledb", "mysql", "mariadb", "clickhouse", "influxdb", "valkey", "questdb", "ndb",
)  # fmt: skip


@pytest.mark.parametrize("engine", SERVERS)
def test_what_is_decided_before_a_server_is_started_is_what_it_says(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    there: Target = request.getfixturevalue(engine)
    if there.instance is None:
        pytest.skip("a server at an address is asked, and decided by what it says")
    study = load_study(
        "keylookup-depth" if engine in ("ndb", "valkey") else "telemetry-batch", "xs", (), [engine]
    )
    run = plan_study(study, {engine: server(engine)}).runs[0]
    found = NamedTargets((engine,), start={engine: there.instance.settings})
    said = ask(run.plan, Deployment(server(engine), there), tmp_path)
    before = ahead(run, found, there.instance.data, tmp_path)
    assert said is not None and before is not None
    assert before.survives is said.survives, (before, said)
