"""Locks of other studies in a server, without one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from inrush import _core
from inrush.engines.servers import life
from inrush.targets.locks import Holder, beside_studies, other_studies, ourselves

MINE = ourselves("mine", Path("/results"))
#: Of the parent of this process, which lives.
OTHER = replace(MINE, study="other", pid=str(os.getppid()), began=str(life.started_at(os.getppid())))


def deployment(*places: Mapping[str, Holder | str | None]) -> Any:
    """A server and its shards, each with names and what their holder's line says; None: it may not be read."""

    def ask(statement: str, place: int | None = None) -> list[list[str]]:
        there = places[place or 0]
        if statement == "locks":
            return [[name] for name in there]
        found = there[statement]
        if found is None:
            raise _core.CoreFailure("statement", "permission denied")
        return [[found.text() if isinstance(found, Holder) else found]]

    server = SimpleNamespace(
        ask_locks=lambda: "locks", ask_holder=lambda name: name, parse_holder=lambda rows: str(rows[0][0])
    )
    return SimpleNamespace(server=server, ask=ask, shards=tuple(range(1, len(places))))


def test_a_study_that_lives_is_seen_and_ours_and_one_that_has_gone_are_not() -> None:
    gone = replace(OTHER, study="gone", began="0")
    held = {"inrush_lock_a": MINE, "inrush_lock_b": OTHER, "inrush_lock_c": gone, "a database": OTHER}
    assert other_studies(deployment(held)) == [OTHER]
    assert other_studies(deployment({})) == []


def test_a_study_that_holds_a_shard_is_seen() -> None:
    assert other_studies(deployment({}, {"inrush_lock_a": MINE}, {"inrush_lock_b": OTHER})) == [OTHER]


def test_a_lock_that_does_not_say_whose_it_is_leaves_it_unknown() -> None:
    assert other_studies(deployment({"inrush_lock_a": None})) is None
    assert other_studies(deployment({"inrush_lock_a": "of another version"})) is None


def test_those_of_both_looks_are_kept_once_and_one_that_failed_leaves_nothing() -> None:
    far = replace(MINE, machine="another")
    assert beside_studies([MINE], [far, MINE]) == {
        "other_studies": [{"said": str(MINE), "here": True}, {"said": str(far), "here": False}]
    }
    assert beside_studies(None, []) == beside_studies([], None) == {}
