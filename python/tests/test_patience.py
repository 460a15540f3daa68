"""A worker that goes on after its time is ended by its parent, whatever it does."""

from __future__ import annotations

import dataclasses
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from inrush.agent.patience import USUAL, Graces, Patience
from inrush.errors import Interrupted
from inrush.results.store import Results
from tests.test_run import FINISHED, Diary, Planned, begin, make

SEGMENT = {"event": "segment", "index": 0}
WORKS = {"event": "progress"}


def plan(limit_s: float = 10.0, **more: Any) -> dict[str, Any]:
    return {"segments": [{"kind": "drive", "label": "measure", "limit_ns": int(limit_s * 1e9), **more}]}


def waited(of: dict[str, Any], *events: tuple[float, dict[str, Any] | str]) -> tuple[float, str]:
    """When the worker is given up after these events, and why."""
    found = Patience(of)
    for at, event in events:
        if event == "stop":
            found.stop_sent(at)
        else:
            assert isinstance(event, dict)
            found.saw(event, at)
    assert found.over(found.until) is None
    return found.until, str(found.over(found.until + 0.01))


def test_a_segment_is_waited_for_until_its_limit_and_a_grace_time() -> None:
    until, why = waited(plan(), (100.0, SEGMENT))
    assert until == 110 + USUAL.limit_s
    assert "segment measure" in why and "10 s" in why and "limit_s" in why


def test_what_is_proven_between_two_repetitions_is_waited_for_and_sessions_at_work_are_not() -> None:
    quiet = waited(plan(repeat={"max": 3}), (100.0, SEGMENT), (105.0, WORKS))
    assert quiet[0] == 110 + USUAL.limit_s + USUAL.between_repetitions_s
    late = 110 + USUAL.limit_s + 1
    assert waited(plan(repeat={"max": 3}), (100.0, SEGMENT), (late, WORKS))[0] < late


def test_the_next_segment_has_a_time_of_its_own() -> None:
    segments = [*plan(10)["segments"], {"kind": "proof", "label": "proof"}]
    found = Patience({"segments": segments})
    found.saw(SEGMENT, 0.0)
    found.saw({"event": "segment", "index": 1}, 5.0)
    assert found.over(1e9) is None, "a proof is as long as its table"
    found.saw({"event": "paused", "index": 2}, 6.0)
    assert found.over(1e9) is None, "a pause is the parent's own"


@pytest.mark.parametrize("word", ["finished", "failed"])
def test_after_its_last_word_a_worker_ends_soon(word: str) -> None:
    until, why = waited(plan(repeat={"max": 3}), (0.0, SEGMENT), (3.0, {"event": word}))
    assert until == 3 + USUAL.end_s and word in why


def test_a_stop_has_a_grace_time_whatever_the_worker_says_then() -> None:
    until, why = waited(plan(1000), (0.0, SEGMENT), (3.0, "stop"), (4.0, SEGMENT), (900.0, WORKS))
    assert until == 3 + USUAL.stop_s and "asked to stop" in why


def test_a_run_without_limits_is_waited_for() -> None:
    assert waited({}, (0.0, SEGMENT), (5.0, WORKS))[0] == float("inf")
    assert waited(plan(0), (0.0, SEGMENT))[0] == float("inf")


# --- a process that keeps a core busy and ignores everything -------------------------------------------


@dataclasses.dataclass(frozen=True)
class Limited(Planned):
    @property
    def plan(self) -> dict[str, Any]:
        return {**super().plan, **plan(0.2)}


def test_a_worker_that_spins_past_its_limit_is_killed_and_the_others_go_on(tmp_path: Path) -> None:
    folder, diary = begin(tmp_path), Diary()
    runs = [Limited(0, [SEGMENT, "spin"]), Limited(1, [SEGMENT, FINISHED])]
    outcome = make(folder, runs, diary, graces=Graces(limit_s=0.3))
    assert outcome.done == 1 and len(outcome.failed) == 1
    failure = Results(folder.path).runs[0].doc["failure"]
    assert failure["kind"] == "deadline" and "after the limit of segment measure" in failure["message"]
    assert any("inrush ended it" in note for note in diary.notes)


class Terminated(Diary):
    """One SIGTERM when the worker has said that a segment begins."""

    def event(self, event: dict[str, Any]) -> None:
        if event["event"] == "segment":
            os.kill(os.getpid(), signal.SIGTERM)


def test_a_worker_that_heeds_no_stop_is_killed_after_one_sigterm(tmp_path: Path) -> None:
    folder, diary, began = begin(tmp_path), Terminated(), time.monotonic()
    with pytest.raises(Interrupted, match="--resume"):
        make(folder, [Planned(0, [SEGMENT, "spin"])], diary, graces=Graces(stop_s=0.5))
    assert time.monotonic() - began < 60
    assert Results(folder.path).study["status"] == "interrupted"
    assert any("after it was asked to stop" in note for note in diary.notes), diary.notes


def test_a_worker_that_does_not_end_after_it_failed_is_killed_and_keeps_its_reason(tmp_path: Path) -> None:
    failed = {"event": "failed", "kind": "deadline", "message": "a call of users that was cancelled"}
    folder = begin(tmp_path)
    make(folder, [Planned(0, [SEGMENT, failed, "spin"])], graces=Graces(end_s=0.3))
    assert "a call of users" in Results(folder.path).runs[0].doc["failure"]["message"]
