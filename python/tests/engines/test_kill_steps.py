"""Kill −9 of inrush, its worker and its server inside a load and inside a statement that writes the table anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from benches import kills
from benches.kill_checks import ROWS, as_before_or_after

from .servers import need


def shown(found: list[kills.Kill]) -> None:
    table = kills.table(found)
    assert all(kill.inside for kill in found), table
    assert not any(kill.wrong for kill in found), table


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("victim", "step"),
    [
        # Servers are killed in runs by test_trouble too.
        pytest.param("server", "load", marks=pytest.mark.slow),
        ("inrush", "rewrite"),
        pytest.param("worker", "load", marks=pytest.mark.slow),
    ],
)
def test_a_kill_inside_a_step_leaves_nothing_and_costs_no_row(victim: str, step: str, folder: Path) -> None:
    need("postgresql")
    with kills.own("postgresql", folder / "postgresql") as data:
        long = kills.rehearsed("postgresql", folder / "rehearsal", data)
        found = kills.inside("postgresql", victim, step, 0.4, long, folder / "kill", data)
    shown([found])
    if victim == "inrush":
        assert found.rows == ROWS, "the table that was left was looked at"


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("engine", "in_load", "in_statement"), [("mysql", 0, 1), ("clickhouse", 1, 0)])
def test_a_kill_of_each_in_a_step_of_other_kinds_of_servers(
    engine: str, in_load: int, in_statement: int, folder: Path
) -> None:
    """Every engine, each step, and as many kills as asked for: `python -m benches.kills`."""
    need(engine)
    found = list(kills.campaign(engine, in_load, in_statement, 1, folder))
    assert len(found) == len(kills.VICTIMS)
    shown(found)


def kill(inside: bool, *wrong: str) -> kills.Kill:
    return kills.Kill("postgresql", "worker", "load", 0.5, inside, None, wrong)


def test_a_kill_that_missed_its_step_or_left_something_is_counted_apart() -> None:
    line = kills.table([kill(True), kill(False), kill(True, "1 namespaces are left")]).splitlines()[1]
    assert line.split()[:6] == ["postgresql", "worker", "load", "3", "2", "2"]
    assert line.endswith("1 × 1 namespaces are left")


class Answers:
    """A server with one table of a run."""

    class server:
        name = "mysql"

    def __init__(self, *figures: int) -> None:
        self.figures = figures

    def ask(self, statement: str) -> list[list[object]]:
        return [["inrush_1", "events"]] if "information_schema" in statement else [list(self.figures)]


@pytest.mark.parametrize(
    ("figures", "step", "said"),
    [
        ((ROWS, ROWS, 7), "rewrite", ()),
        ((ROWS - 1, ROWS - 1, 7), "rewrite", ("the table has 119999 rows with the sum 7",)),
        ((ROWS, ROWS, 8), "rewrite", ("the table has 120000 rows with the sum 8",)),
        ((500, 500, 3), "load", ()),
        ((500, 499, 3), "load", ("1 rows are there twice",)),
    ],
)
def test_what_a_killed_step_may_leave_of_its_table(
    figures: tuple[int, ...], step: str, said: tuple[str, ...]
) -> None:
    found = as_before_or_after(Answers(*figures), step, "server", 7)  # type: ignore[arg-type]
    assert found == (figures[0], list(said))
