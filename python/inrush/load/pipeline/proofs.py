"""What stands in the shards after a load, against the generator: counts and sums of all shards together, and the ledger."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from inrush.agent.drive import said
from inrush.border.pipeline import AnyPlan, PipelineShard, StepEnds
from inrush.border.plan import ProbePlan, ProbeSegment, ProofSegment, RunPlan, Statement, StoredTable
from inrush.errors import CoreError
from inrush.results.parts import whole
from inrush.targets.ask import ask

Doc = dict[str, Any]

#: Limit of one statement, s.
LIMIT_S = 600.0
WRAPPED = "sum_wrapped("


def control(shard: PipelineShard, statement: Statement) -> list[list[Any]]:
    """Rows of one statement on a shard. Raises CoreFailure."""
    return ask(shard["target"], statement, LIMIT_S)


def core_run(plan: RunPlan, folder: Path) -> dict[str, pa.Table]:
    """A plan of the core to its end, in this process; its tables. Raises CoreError with what it failed with."""
    from inrush import _core

    folder.mkdir(parents=True)
    run = _core.start(json.dumps(plan), str(folder))
    for texts in said(run):
        for event in map(json.loads, texts):
            if event["event"] == "failed":
                raise CoreError(event["message"])
    return tables_in(folder)


def tables_in(folder: Path) -> dict[str, pa.Table]:
    return {path.stem: whole(path.stem, folder) for path in folder.glob("*.arrows")}


def replica_plan(plan: AnyPlan, of: StepEnds, k: int) -> RunPlan | None:
    """A RunPlan that proves the copies on shard k; None where rows are stored once."""
    copy = of["shards"][k].get("replica")
    if copy is None:
        return None
    proof: ProofSegment = {"kind": "proof", "label": "replica", "proofs": [copy["proof"]]}
    return shard_plan(plan, of["shards"][k], copy["table"], [proof])


def proving_plan(plan: AnyPlan, of: StepEnds, k: int) -> RunPlan:
    """A RunPlan that looks at shard k: settings of the first one, sizes, and the proof."""
    shard = of["shards"][k]
    probes: list[ProbePlan] = [{"into": "settings", "statement": s} for s in shard["settings"] if k == 0]
    probes += [{"into": "sizes", "statement": s} for s in shard["sizes"]]
    look: list[ProbeSegment] = [{"kind": "probe", "label": "after", "probes": probes}] if probes else []
    proof: ProofSegment = {"kind": "proof", "label": "proof", "proofs": [shard["proof"]]}
    return shard_plan(plan, shard, shard["table"], [*look, proof])


def shard_plan(
    plan: AnyPlan, shard: PipelineShard, table: StoredTable, segments: Sequence[ProbeSegment | ProofSegment]
) -> RunPlan:
    return {
        "version": plan["version"],
        "run_id": plan["run_id"],
        "study": plan["study"],
        "seed": plan["seed"],
        "epoch_ns": plan["epoch_ns"],
        "target": shard["target"],
        "tables": [{**table, "source": plan["tables"][0]["source"]}],
        "operations": [],
        "segments": segments,
        "record": {"interval_ns": 1_000_000_000, "flush_ns": 1_000_000_000},
        "watch": {"every_ns": 0, "processes": {}},
    }


def together(proofs: Sequence[Sequence[Mapping[str, Any]]], table: str) -> list[Doc]:
    """Proof rows of the whole from those of its shards: every figure is a sum over rows. Pure.

    proofs: of each shard, its part found and the whole expected.
    """
    if len(proofs) == 1:
        return [dict(row) for row in proofs[0]]
    found = []
    for rows in zip(*proofs, strict=True):
        expected = str(rows[0]["expected"])
        try:
            total = sum(int(row["found"]) for row in rows)
        except ValueError:  # a shard that did not answer proves nothing
            value = next(str(row["found"]) for row in rows if not str(row["found"]).lstrip("-").isdigit())
        else:
            value = str(wrapped(total) if str(rows[0]["item"]).startswith(WRAPPED) else total)
        found.append({**rows[0], "table": table, "found": value, "holds": value == expected})
    return found


def beside(
    rows: Sequence[Sequence[Mapping[str, Any]]], copies: Sequence[Sequence[Mapping[str, Any]]], table: str
) -> Doc:
    """Whether the rows of every shard have their copies on the next one: together they add up wherever they lie. Pure.

    rows, copies: proof rows found on each shard; both in the order of the shards.
    """
    other = [
        f"{of['item']} is {of['found']} on shard {k}, and {copy['found']} in its copies on shard {on}"
        for k, on in enumerate([*range(1, len(rows)), 0])
        for of, copy in zip(rows[k], copies[on], strict=True)
        if of["found"] != copy["found"]
    ]
    return {
        "table": table,
        "item": "copies on the next shard",
        "expected": "those of each shard",
        "found": other[0] if other else "those of each shard",
        "holds": not other,
    }


def wrapped(total: int) -> int:
    """Modulo 2^64, as a signed number: what wrapping sums of parts add up to."""
    return (total + 2**63) % 2**64 - 2**63


def compared(table: str, item: str, expected: int, found: int) -> Doc:
    return {
        "table": table,
        "item": item,
        "expected": str(expected),
        "found": str(found),
        "holds": expected == found,
    }
