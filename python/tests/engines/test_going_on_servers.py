"""A load that goes on, on servers that inrush started: the server is killed, and inrush, which leaves its server running."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.analysis.verdicts import Outcome
from tests import killing
from tests.test_going_on import one_run, proven, words_of
from tests.test_steps_loaded import ROWS

from .servers import SETTINGS, need


@pytest.mark.timeout(400)
@pytest.mark.parametrize("engine", ["postgresql", pytest.param("mysql", marks=pytest.mark.slow)])
def test_a_load_goes_on_when_its_server_was_killed_and_when_inrush_was(engine: str, folder: Path) -> None:
    need(engine)
    settings = ",".join(f"{name}={value}" for name, value in SETTINGS[engine].items())
    results, (_, study, _) = words_of(folder, engine, ("interval_s = 0.1", "interval_s = 0.1, sizes_s = 0.2"))
    words: tuple[str, ...] = ("run", study, "--start", f"{engine},{settings}", "--data", str(folder / "data"))
    for victim, at in (("database", 8_000), ("inrush", 18_000)):
        killing.killed(results, words, victim, at)
        words = ("run", "--resume")
    code, said = killing.finished(results, *words)
    assert code == 0, said
    one = one_run(results)
    proven(one)
    run = one.run
    assert len(run.summary["gaps"]) == 2 and one.figures["load.rows"] == ROWS
    assert sum(i["rows"] for i in run.rows("intervals") if i["role"] == "load") == ROWS
    (load,) = (s["segment"] for s in run.rows("segments") if s["kind"] == "load")
    sizes = [s for s in run.rows("sizes") if s["segment"] == load and s["name"].startswith("table:")]
    gaps = run.summary["gaps"]
    for begin, end in [(0, gaps[0]["from_ns"]), (gaps[1]["until_ns"], run.rows("segments")[-1]["end_ns"])]:
        assert any(begin <= s["t_ns"] <= end for s in sizes), "sampled before and after the gaps"
    grown = [int(s["value"]) for s in sizes if s["name"].endswith('"events"') or "events" in s["name"]]
    assert grown[-1] > grown[0]
    assert {"load_client", "load_server", "server"} <= {r["role"] for r in run.rows("resources")}
    (note,) = (v for v in one.verdicts if v.guard == "load not interrupted")
    assert note.outcome is Outcome.NOTE and "version" not in note.sentence
