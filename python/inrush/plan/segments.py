"""The segments of a point's run, from the first statement to the last. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inrush.border import plan as border
from inrush.border.plan import Segment, Statement
from inrush.plan.documents import input_document
from inrush.plan.io import laid_out
from inrush.plan.loads import create_ledger, drop_ledger
from inrush.plan.step_segments import StepSegments

if TYPE_CHECKING:
    from inrush.plan.draft import Draft


def segments(draft: Draft) -> list[Segment]:
    """The first and the last of every run are the same; between them are its steps."""
    of = StepSegments(draft)
    # What the first of several steps changes is the difference to these sizes.
    before: tuple[border.ProbeTable, ...] = ("settings", "counters", *(("sizes",) if draft.steps else ()))
    inputs = [input_document(r, r.input, draft.index, False) for r in draft.roles if r.input is not None]
    made: list[Segment] = [{"kind": "inputs", "label": "inputs", "inputs": inputs}] if inputs else []
    return [
        *made,
        of.control("create", created(draft)),
        *of.probe("before", before),
        *of.body(),
        *of.proof("proof", list(draft.tables)),
        *of.ask(),
        *of.probe("after", ("sizes", "counters")),
        of.control("drop", dropped(draft)),
    ]


def created(draft: Draft) -> list[Statement]:
    # A server may hold what a killed run of this point left; an embedded engine begins with a fresh file.
    leftovers = [] if draft.server.embedded else dropped(draft)
    return [
        *leftovers,
        *draft.server.open_namespace(draft.namespace),
        *(s for t in draft.plans.values() for s in t.create),
        *create_ledger(draft),
        *laid_out(draft.operations),
    ]


def dropped(draft: Draft) -> list[Statement]:
    """Everything that carries this run's mark."""
    tables = () if draft.server.namespace_holds_tables else draft.plans.values()
    drop = [s for plan in tables for s in plan.drop]
    return [*drop_ledger(draft), *drop, *draft.server.drop_namespace(draft.namespace)]
