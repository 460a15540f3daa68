"""Who holds a study: told in one word, and known to live or not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from inrush import _core
from inrush.engines import server
from inrush.errors import UsageError
from inrush.targets import locks
from inrush.targets.locks import (
    holder_in,
    holder_problems,
    lock_name,
    one_at_a_time,
    ourselves,
    release,
    take,
)

MINE = ourselves("batch", Path("/tmp/my results/it's \\ one"))
NAME = lock_name("batch", 7)


def gone() -> str:
    """Id of a process that was there a moment ago."""
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    return str(child.pid)


DEAD = replace(MINE, pid=gone())
ELSEWHERE = replace(MINE, machine="another boot", host="far.example")


def test_a_holder_reads_itself_again_and_is_one_word() -> None:
    assert holder_in(MINE.text()) == MINE
    assert not set(MINE.text()) & set(" /\\'\"`")
    for text in ("", "autogen", "made_by_inrush", "study=batch", MINE.text().replace("pid=", "pid=x")):
        assert holder_in(text) is None


@pytest.mark.parametrize("length", [1, 200, 201, 2_000])
def test_a_long_holder_is_several_names_to_influxdb(length: int) -> None:
    """It takes names of up to 255 characters, and tells them in any order."""
    own, text = server("influxdb"), "a%2F" * length
    _, *made = own.lock(NAME, text[:length])
    names = [statement.split('"')[1] for statement in made]
    assert all(len(name) <= 255 for name in names) and len(names) == -(-length // 200)
    rows = [[name, "0s"] for name in (*reversed(names), "made_by_inrush")]
    assert own.parse_holder(rows) == text[:length]


def test_a_process_lives_until_it_ends_and_one_of_another_machine_cannot_be_told() -> None:
    assert MINE.lives() is True and DEAD.lives() is False and ELSEWHERE.lives() is None
    assert replace(MINE, began="1").lives() is False, "its id is another's now"


def test_force_takes_what_cannot_be_told_and_never_what_lives() -> None:
    for force in (False, True):
        assert not list(holder_problems(Fake(), DEAD, force))  # type: ignore[arg-type]
        (lives,) = holder_problems(Fake(), MINE, force)  # type: ignore[arg-type]
        assert re.search(rf"study batch \(process {os.getpid()} on .*another --seed$", str(lives))
    assert not list(holder_problems(Fake(), ELSEWHERE, force=True))  # type: ignore[arg-type]
    (there,) = holder_problems(Fake(), ELSEWHERE, force=False)  # type: ignore[arg-type]
    assert re.search(r"far\.example.*no longer there, say --force$", str(there))


def test_one_looks_at_a_time_and_the_next_as_soon_as_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "PATIENCE_S", 0.1)
    with (
        one_at_a_time(NAME),
        one_at_a_time(NAME + "x"),
        pytest.raises(UsageError, match="about to begin the same study"),
        one_at_a_time(NAME),
    ):
        pass
    with one_at_a_time(NAME):
        pass


@dataclass
class Fake:
    """A server that holds at most one lock; `refuses` is what it says to statements that make one."""

    held: str | None = None
    refuses: Callable[[], Exception | None] = lambda: None
    said: list[str] = field(default_factory=list)

    @property
    def server(self) -> Any:
        return self

    @property
    def target(self) -> Any:
        return self

    url = "postgresql://there/db"

    def lock(self, _name: str, holder: str) -> tuple[str, ...]:
        return (f"make {holder}",)

    def ask_holder(self, _name: str) -> str:
        return "who"

    def parse_holder(self, rows: list[list[Any]]) -> str:
        return str(rows[0][0])

    def drop_namespace(self, _name: str) -> tuple[str, ...]:
        return ("drop",)

    def ask(self, statement: str, _place: object = None) -> list[list[Any]]:
        match statement.split():
            case ["who"]:
                if self.held is None:
                    raise _core.CoreFailure("statement", "no such table")
                return [[self.held]]
            case ["drop"]:
                self.held = None
            case ["make", text]:
                if (failure := self.refuses()) is not None:
                    raise failure
                self.held = text
        return []


@pytest.fixture
def notes() -> Iterator[list[str]]:
    yield []


@pytest.mark.parametrize(("before", "says"), [(None, []), (DEAD, ["taken over"])])
def test_a_free_and_a_dead_lock_are_taken_and_given_back(
    before: Any, says: list[str], notes: list[str]
) -> None:
    deployment: Any = Fake(before and before.text())
    assert take(deployment, NAME, MINE, False, notes.append)
    assert holder_in(str(deployment.held)) == MINE
    assert len(notes) == len(says) and all(s in n for s, n in zip(says, notes, strict=True))
    assert not take(deployment, NAME, MINE, False, notes.append), "another address of the same server"
    release(deployment, NAME, replace(MINE, pid="1"))
    assert deployment.held, "it is given back by its holder alone"
    release(deployment, NAME, MINE)
    assert deployment.held is None


def test_a_lock_that_lives_is_left_as_it_is(notes: list[str]) -> None:
    deployment: Any = Fake(ELSEWHERE.text())
    with pytest.raises(UsageError):
        take(deployment, NAME, MINE, False, notes.append)
    assert holder_in(str(deployment.held)) == ELSEWHERE and not notes
    assert take(deployment, NAME, MINE, True, notes.append) and len(notes) == 1


def test_who_was_faster_is_refused_and_a_server_without_a_lock_is_named(notes: list[str]) -> None:
    deployment: Any = Fake()

    def faster() -> Exception:
        deployment.held = ELSEWHERE.text()
        return _core.CoreFailure("statement", "exists already")

    deployment.refuses = faster
    with pytest.raises(UsageError, match=r"far\.example"):
        take(deployment, NAME, MINE, False, notes.append)
    assert not notes
    closed: Any = Fake(refuses=lambda: _core.CoreFailure("statement", "permission denied"))
    away: Any = Fake(refuses=lambda: _core.CoreFailure("target", "nothing listens"))
    for other, reason in ((closed, "permission denied"), (away, "nothing listens")):
        assert not take(other, NAME, MINE, False, notes.append)
        assert f"{other.url}: no lock was made there ({reason})" in notes.pop()
