"""Calls by key on a Valkey whose rows are not what was loaded: the server's own answer tells it, at any depth."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.engines.valkey import script
from inrush.plan.plan import plan_study
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment
from tests.test_by_key_run import STUDY, WORKLOAD

from .border import run
from .servers import control

TWIN = server("valkey")
#: Takes away every row from 500 on, and writes a row of another key where rows are going to be inserted.
TAMPER = (
    "local row = redis.call('HGET', ARGV[1] .. '/100', '') "
    "for k = 500, 999 do redis.call('UNLINK', ARGV[1] .. '/' .. string.format('%d', 100 + 3 * k)) end "
    "for k = 1000, 1099 do redis.call('HSET', ARGV[1] .. '/' .. string.format('%d', 100 + 3 * k), '', row) end return 1"
)


@pytest.mark.parametrize("depth", [1, 64])
def test_rows_that_went_are_not_updated_and_rows_that_are_there_are_not_inserted(
    valkey: Target, folder: Path, depth: int
) -> None:
    (folder / "workload.toml").write_text(WORKLOAD)
    (folder / "by-key.toml").write_text(STUDY.replace("ENGINE", "valkey").replace("DEPTHS", f"[{depth}]"))
    plan = dict(plan_study(load_study(str(folder / "by-key.toml")), {"valkey": TWIN}).runs[0].plan)
    table = plan["tables"][0]["name"]
    at_drive = [k for k, s in enumerate(plan["segments"]) if s["kind"] == "drive"][-1]
    pause = {"kind": "pause", "label": "tamper", "action": "tamper"}
    plan["segments"] = [*plan["segments"][:at_drive], pause, *plan["segments"][at_drive:]]

    def at(event: Mapping[str, Any]) -> None:
        if event["event"] == "paused":
            control(valkey, script(TAMPER, table))

    ran = run(Deployment(TWIN, valkey), plan, folder / "run", at_event=at)
    failed = {(f["role"], f["outcome"]): f["first_message"] for f in ran.tables["failures"]}
    assert "no row was added; it was row 1" in failed["putters", "missing"], failed
    assert "no row was changed; row " in failed["changers", "missing"], failed
    assert ("readers", "missing") in failed and ("readers", "wrong") in failed, failed
    # A write takes what is there and what is not.
    assert not [role for role, _ in failed if role == "setters"], failed
    assert "rows_by_key" in {p["item"] for p in ran.broken()}


def test_an_update_of_a_row_that_is_not_there_adds_none(valkey: Target, folder: Path) -> None:
    (folder / "workload.toml").write_text(WORKLOAD)
    text = STUDY.replace("ENGINE", "valkey").replace("DEPTHS", "[8]")
    roles = text.index("[roles]")
    changers = next(line for line in text.splitlines() if line.startswith("changers"))
    (folder / "by-key.toml").write_text(f"{text[:roles]}[roles]\n{changers}\n")
    plan = dict(plan_study(load_study(str(folder / "by-key.toml")), {"valkey": TWIN}).runs[0].plan)
    table = plan["tables"][0]["name"]
    at_drive = [k for k, s in enumerate(plan["segments"]) if s["kind"] == "drive"][-1]
    first, last = ({"kind": "pause", "label": name, "action": name} for name in ("empty", "look"))
    segments = plan["segments"]
    plan["segments"] = [*segments[:at_drive], first, segments[at_drive], last, *segments[at_drive + 1 :]]
    left: list[Any] = []

    def at(event: Mapping[str, Any]) -> None:
        if event["event"] == "paused" and event["action"] == "empty":
            control(
                valkey,
                script(
                    "for _, k in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('UNLINK', k) end",
                    f"{table}/*",
                ),
            )
        elif event["event"] == "paused":
            left.append(control(valkey, f"KEYS {table}/*"))

    ran = run(Deployment(TWIN, valkey), plan, folder / "run", at_event=at)
    assert left == [[]]
    (failed,) = ran.tables["failures"]
    assert (failed["outcome"], failed["count"]) == ("missing", ran.totals("changers")["ops"]), failed
