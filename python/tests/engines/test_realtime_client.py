"""`inrush run --realtime` beside a real server: it runs to its end, and the results say how the client was scheduled."""

from __future__ import annotations

import json

from inrush.engines.base.instance import Target
from inrush.results.store import Results
from tests.terminal import Inrush
from tests.test_realtime import PERMITTED


@PERMITTED
def test_a_study_beside_a_server_tells_how_its_client_was_scheduled(
    inrush: Inrush, postgresql: Target
) -> None:
    said = inrush("run", "quickstart", postgresql.url, "--scale", "xs", "--realtime")
    assert said.code in (0, 3), said.err
    results = Results(inrush.store.find(None).path)
    study = json.loads((results.path / "study.json").read_text())
    assert study["call"]["realtime"] and study["command"].endswith("--realtime")
    runs = results.runs
    assert runs and all("SCHED_FIFO" in run.env["client_scheduling"] for run in runs)
