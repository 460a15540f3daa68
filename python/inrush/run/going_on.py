"""A run that was killed in a load that goes on: whether it can, and what its next worker is given.

What the load has stored is known by its ledger, in the database; that it is this run's own data is known by a mark there.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inrush.border.pipeline import AnyPlan, GoesOn, loads_of, with_load
from inrush.errors import from_core
from inrush.load.pipeline.journal import lines
from inrush.load.pipeline.loading import JOURNAL
from inrush.results.store import Doc, OpenRun, StudyFolder, read_json, unsealed_runs
from inrush.targets.ask import ask
from inrush.targets.passwords import environment

#: Limit of one statement, s: rows are counted.
ASK_S = 600.0
#: A server may end what a killed load server had asked for: so often, and so far apart, it is looked again.
LOOKS, LOOK_S = 20, 0.5


@dataclass(frozen=True)
class Left:
    """What the workers of a run have left."""

    step: str
    mark: str
    #: Files were due, by the last worker's journal; by any worker's.
    begun_last: bool
    begun: bool
    #: All files were stored.
    ended: bool
    #: The step behind the load that has changed what it stored; empty: none did.
    changed: str

    @property
    def goes_on(self) -> bool:
        return self.begun and not self.changed


def resumable_step(plan: AnyPlan) -> str:
    """Empty where no load of the plan goes on after a kill."""
    return next((step for step, of in loads_of(plan).items() if "goes_on" in of), "")


def marked(plan: AnyPlan, folder: StudyFolder, mark: str = "") -> AnyPlan:
    """The plan with the mark that its load leaves in the ledger. mark: that of the run that goes on."""
    step = resumable_step(plan)
    if not step:
        return plan
    own = mark or f"{folder.path.name}/{plan['run_id']}/{secrets.token_hex(8)}"
    return with_load(plan, step, {"mark": own})


def continued(plan: AnyPlan, earlier: Sequence[str]) -> AnyPlan:
    """The plan for a next worker. earlier: as of `StepEnds`."""
    return with_load(plan, resumable_step(plan), {"earlier": list(earlier)})


def left(opened: OpenRun) -> Left | None:
    """None of a run without such a load."""
    path = opened.path / "plan.json"
    loads = read_json(path).get("loads", {}) if path.is_file() else {}
    resumable = next((step for step, of in loads.items() if "mark" in of), None)
    if resumable is None:
        return None
    begun, begun_last, ended, changed = False, False, False, ""
    for parts in (*opened.earlier, opened.parts):
        begun_last = False
        for line in lines(parts / JOURNAL.format(resumable)):
            match line["said"]:
                case "go":
                    begun = begun_last = True
                    ended = False
                case "end":
                    ended = line["by"] == "work"
                case "changed":
                    changed = str(line["by"])
    return Left(resumable, loads[resumable]["mark"], begun_last, begun, ended, changed)


def goes_on(opened: OpenRun | None) -> bool:
    found = left(opened) if opened is not None else None
    return found is not None and found.goes_on


def unfinished(folder: StudyFolder) -> bool:
    """Whether a run of the study waits to go on: its data must stay."""
    return any(goes_on(OpenRun(path)) for path in unsealed_runs(folder.path))


def lost(plan: AnyPlan, mark: str, variables: Mapping[str, str]) -> str | None:
    """Why the data is not what the run had stored; None: it is. plan: with the address of today.

    variables: what the target needs in the environment. Raises TargetError of a server that does not answer at all.
    """
    from inrush import _core

    of = loads_of(plan)[resumable_step(plan)]
    asked, target = of["goes_on"], plan["target"]

    def number(text: str) -> int:
        return int(ask(target, text, ASK_S)[0][0])

    with environment(variables):
        try:
            ask(target, "SELECT 1", ASK_S)
        except _core.CoreFailure as failure:
            raise from_core(*failure.args) from None
        try:
            return other_data(asked, mark, lambda text: ask(target, text, ASK_S)) or uneven(
                number, of["rows_in_ledger"], asked["rows"]
            )
        except _core.CoreFailure as failure:
            return f"its tables are gone ({str(failure.args[1]).splitlines()[0]})"


def other_data(asked: GoesOn, mark: str, rows: Callable[[str], Any]) -> str | None:
    found = [str(row[0]) for row in rows(asked["read_mark"])]
    if not found:
        return "its ledger is empty"
    if mark not in found:
        return f"the ledger is that of another run ({found[0]})"
    return None


def uneven(number: Callable[[str], int], ledger: str, table: str) -> str | None:
    """Rows and their lines commit together. What was on its way when a load server was killed may come between two looks."""
    for _ in range(LOOKS):
        before, rows, after = number(ledger), number(table), number(ledger)
        if before == rows == after:
            return None
        time.sleep(LOOK_S)
    return f"the table has {rows:,} rows, and the ledger {after:,}"


def document(opened: OpenRun, env: Mapping[str, Any]) -> Doc:
    """`gaps` and `stretches` of run.json; empty of a run that was never killed. env: of its last worker."""
    path = opened.parts / "stretches.json"
    if not path.is_file():
        return {}
    found = read_json(path)
    first = read_json(opened.path / "env.json")
    environments = [
        *(read_json(p / "env.json") if (p / "env.json").is_file() else first for p in opened.earlier), env
    ]  # fmt: skip
    by_parts = dict(zip([*map(str, opened.earlier), str(opened.parts)], environments, strict=True))
    stretches = [
        {**{k: v for k, v in one.items() if k != "parts"}, "env": differing(first, by_parts[one["parts"]])}
        for one in found["stretches"]
    ]
    return {"gaps": found["gaps"], "stretches": stretches}


def settings_of_stretches(
    first: Mapping[str, str], stretches: Sequence[Mapping[str, Any]]
) -> list[dict[str, str]]:
    """Of each stretch, from those at first and what differed; of a run that was never killed those at first."""
    held = [{**first, **one["settings"]} for one in stretches] or [dict(first)]
    return [{k: v for k, v in one.items() if v is not None} for one in held]


def differing(first: Mapping[str, Any], other: Mapping[str, Any]) -> Doc:
    """Facts of the machine that are others than at first; None: such a fact is not there any more."""
    return {k: other.get(k) for k in sorted({*first, *other}) if first.get(k) != other.get(k)}
