"""Files of a load by the sessions of a fleet: which of them a process makes, and where. Pure.

Sessions take files in turn, as they take calls: file n is one of process n % N. So each process makes these, in the folder of
its worker, and no host needs the files of another one. Sorted files have rows of all, so these are made and sorted whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inrush.border.pipeline import AnyPlan
from inrush.border.plan import InputPlan, InputWay, RunPlan, SharePlan
from inrush.study.files import at_inputs

#: How files come in whose bytes a session sends. Others are read by the server, on its own host.
SENT: tuple[InputWay, ...] = ("client", "parsed")


@dataclass(frozen=True)
class OwnFiles:
    """The files of one load, as one process has them."""

    plan: InputPlan
    #: Numbers of those that it makes.
    made: range

    @property
    def elsewhere(self) -> Sequence[int]:
        """Numbers of those that others make."""
        return [n for n in range(self.plan["files"]) if n not in self.made]


def inputs_of(plan: AnyPlan) -> list[InputPlan]:
    """The files that a run makes."""
    return [of for segment in plan["segments"] if segment["kind"] == "inputs" for of in segment["inputs"]]


def makes_own(plan: AnyPlan) -> bool:
    return any(of["way"] in SENT for of in inputs_of(plan))


def at_worker(plan: RunPlan, folder: Path) -> RunPlan:
    """The plan with these files in `folder`."""
    placed: RunPlan = at_inputs(plan, folder, SENT)  # type: ignore[assignment]
    return placed


def shares(plan: RunPlan) -> list[OwnFiles]:
    """Of a plan with a share: those that its process makes."""
    share = share_of(plan)
    whole = [segment["from"] for segment in plan["segments"] if segment["kind"] == "sort"]

    def made(of: InputPlan) -> range:
        is_sorted = any((by["folder"], by["name"]) == (of["folder"], of["name"]) for by in whole)
        return range(of["files"]) if is_sorted else range(share["index"], of["files"], share["of"])

    return [OwnFiles(of, made(of)) for of in inputs_of(plan) if of["way"] in SENT]


def making(plan: RunPlan) -> RunPlan:
    """What makes them, before the run: a plan of one process. The first process sorts in the run, as a step."""
    first = share_of(plan)["index"] == 0
    found: RunPlan = {**plan, "segments": [], "watch": {"every_ns": 0, "processes": {}}}
    del found["share"]
    sorts = [s for s in plan["segments"] if s["kind"] == "sort" and s["from"]["way"] in SENT and not first]
    files = [of.plan for of in shares(plan)]
    found["segments"] = [{"kind": "inputs", "label": "inputs", "inputs": files}, *sorts]
    return found


def share_of(plan: RunPlan) -> SharePlan:
    share = plan.get("share")
    assert share is not None, "a run over a fleet is shared"
    return share
