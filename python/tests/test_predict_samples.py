"""Claims about samples that are due one after the other: what one takes, whether each is stored in time, and until when."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from inrush.analysis.points import Analysis
from inrush.commands.predict import claim_lines
from inrush.commands.prove import score_lines
from inrush.guards.analyse import analyse
from inrush.predict.board import board_document, board_lines
from inrush.predict.claims import claim, forecast_of, kept_up
from inrush.predict.proof import observed, score_document
from inrush.predict.training import Training, stand_in, trainings
from inrush.report.scoreboard import knees_table
from inrush.results.predictions import Predictions
from inrush.results.schema import SCHEMAS
from inrush.results.store import Store
from inrush.stats.record import RunRecord, StudyRecord
from tests import synthetic
from tests.terminal import Inrush

S = synthetic.SECOND
DOC = {
    **synthetic.STUDY,
    "id": "kept",
    "study": "telemetry-keepup",
    "answer": {"kind": "keeps_up", "of": "writers.in_time_share", "along": "readers", "per": ["engine"]},
}


def kept(readers: int, takes_s: float, block: int, seed: int = 0, begun_unix_ns: int = 0) -> RunRecord:
    """Ten samples, one due each second, written one after the other; each takes about so long."""
    noise = np.exp(np.random.default_rng([seed, readers, block]).normal(0, 0.02, 10))
    free, rows = 0.0, []
    for i, of in enumerate(noise):
        due = 1.0 + i
        sent = max(due, free)
        free = sent + takes_s * float(of)
        rows.append({"segment": 2, "repetition": 0, "role": "writers", "sample": i, "due_ns": int(due * S),
                     "collected_ns": int(due * S), "sent_ns": int(sent * S), "done_ns": int(free * S),
                     "rows": 50_000, "missing": 0, "seen_ns": 0,
                     "sent_on_time_ns": int(sent * S), "done_on_time_ns": int(free * S)})  # fmt: skip
    made = synthetic.run("sqlite", {"readers": readers}, block, readers, makespan_s=free - 1.0,
                         doc={"begun_unix_ns": begun_unix_ns})  # fmt: skip
    plan: Any = copy.deepcopy(made.plan)
    plan["segments"][1]["roles"][0]["schedule"] = {"kind": "samples", "every_ns": S, "parts": 1}
    return replace(
        made, plan=plan, tables={**made.tables, "samples": pa.Table.from_pylist(rows, SCHEMAS["samples"])}
    )


def study(takes: Mapping[int, float], blocks: int = 3, **how: Any) -> Analysis:
    """Readers beside the writer -> seconds that a sample takes."""
    runs = [kept(n, s, block, **how) for block in range(blocks + 1) for n, s in takes.items()]
    return analyse(StudyRecord(DOC, runs))


#: A sample takes 0.2 s, and 0.05 s more for each reader: from 16 readers on it takes more than there is.
TRUTH = {n: 0.2 + 0.05 * n for n in (0, 1, 2, 4, 8, 12, 24, 32)}
SMALL = {n: TRUTH[n] for n in (0, 1, 2, 4)}


def training(of: Analysis) -> Training:
    (found,) = trainings(of)
    return found


def claimed(of: Analysis, to: float) -> dict[str, Any]:
    found = training(of)
    return claim(of, found, forecast_of(found, to), 1000, (), kept_up(found, to))


def test_what_is_continued_is_the_time_that_a_sample_takes() -> None:
    found = training(study(SMALL))
    assert (found.kind, found.figure, found.every_s) == ("sample", "writers.insert_p50_s", 1.0)
    assert {r.x for r in found.runs} == {0, 1, 2, 4}
    assert forecast_of(found, 12).median == pytest.approx(TRUTH[12], rel=0.03)


def test_a_writer_that_falls_behind_still_tells_how_long_a_sample_takes() -> None:
    """What its samples waited behind each other grows with the run, and is in no figure that is continued."""
    found = training(study({n: TRUTH[n] for n in (4, 12, 24)}))
    assert forecast_of(found, 32).median == pytest.approx(TRUTH[32], rel=0.03)


@pytest.mark.parametrize(("to", "in_time"), [(8, True), (12, True), (24, False), (32, False)])
def test_it_is_claimed_and_scored_whether_samples_are_stored_in_time(
    to: int, in_time: bool, tmp_path: Path
) -> None:
    small = study(SMALL)
    document = claimed(small, to)
    held = document["keeps_up"]
    assert held["says"] is in_time and held["limit_s"] == 1.0
    assert held["until"] == pytest.approx(15.3, rel=0.1)  # the slowest of ten are some 3 % slower
    assert (held["sure"] > 0.9) is in_time and (held["sure"] < 0.1) is not in_time
    frozen = Predictions(Store(tmp_path)).freeze(document)
    seen = observed(study({to: TRUTH[to]}, seed=7, begun_unix_ns=2000), frozen.doc)
    assert seen.kept_up is in_time
    score = score_document(frozen.doc, seen, "proof", 3000)
    assert score["verdict"] == "confirmed" and score["kept_up_hit"] is True
    detail = "\n".join(claim_lines(frozen.doc))
    assert ("keeps up" if in_time else "falls behind") in detail and "falls behind from readers 1" in detail
    assert (
        "; every sample in time" if in_time else "; not every sample in time"
    ) + ", as claimed" in "\n".join(score_lines(frozen.doc, score))


def test_the_board_counts_how_often_keeping_up_was_told_right() -> None:
    document = claimed(study(SMALL), 12)
    scores = [
        score_document({**document, "sha256": ""}, observed(study({12: s}, begun_unix_ns=2000), document), "proof", 3)
        for s in (TRUTH[12], 1.2)
    ]  # fmt: skip
    assert [s["kept_up_hit"] for s in scores] == [True, False]
    entries = [({**document, "sha256": ""}, s) for s in scores]
    assert board_document(entries)["kept_up"] == {"claims": 2, "correct": 1}
    assert "correct in 1 of 2 claims" in board_lines(entries)[-1]
    assert "correct in 1 of 2 claims" in knees_table(entries)
    assert "not as claimed" in "\n".join(score_lines(entries[1][0], scores[1]))


def test_other_roles_claim_nothing_of_samples() -> None:
    plain = analyse(synthetic.study({("sqlite", b): 2 + 200 / b for b in (100, 1000)}))
    (found,) = trainings(plain)
    assert found.every_s is None and kept_up(found, 500) is None
    assert "keeps_up" not in claim(plain, found, forecast_of(found, 500), 1000)


def test_a_group_that_only_reads_is_continued_by_its_readers() -> None:
    """Of `telemetry-mixed`: no writers there, so that the study's own figure is no figure."""
    runs = [synthetic.run("sqlite", {"n": n}, 1, n) for n in (1, 2, 4)]
    measured = analyse(StudyRecord(DOC, runs)).runs
    only = [
        replace(m, figures={"readers.sessions": float(n), "readers.ops_per_s": 9.0 * n})
        for m, n in zip(measured, (1, 2, 4), strict=True)
    ]
    assert stand_in(only, "n", "writers.makespan_s") == "readers.ops_per_s"
    both = [replace(m, figures={**m.figures, "writers.makespan_s": 1.0}) for m in only]
    assert stand_in(both, "n", "writers.makespan_s") == "writers.makespan_s"


@pytest.mark.slow
def test_mixed_and_keepup_as_shipped_are_claimed_and_proven_by_the_commands(inrush: Inrush) -> None:
    """The shipped studies at their smallest, on a real engine: trained, frozen, run and scored."""
    few = ["-P", "repeats.count=2", "-P", "factors.n=[1,2]"]
    ran = inrush("run", "telemetry-mixed", "duckdb", "--scale", "xs", *few)
    assert ran.code in (0, 3), ran.err
    made = inrush("predict", "telemetry-mixed", "--to", "4", "--claim", "--json")
    if (
        "Invalid runs train nothing" in made.err
    ):  # the machine was too busy for a paced reader: said, not hidden
        assert ran.code == 3
    else:
        claims = {c["group"]["combination"]: c for c in made.json["claims"]}
        assert set(claims) <= {"PC", "all", "all, read only"} and claims
        for name, c in claims.items():
            assert c["kind"] == "load"
            assert c["figure"] == ("readers.ops_per_s" if "read only" in name else "writers.rows_per_s")
        proven = inrush("prove", next(iter(claims.values()))["id"], "--json")
        assert proven.json["verdict"] in ("confirmed", "rejected", "inconclusive", "invalid"), proven.err
    ran = inrush("run", "telemetry-keepup", "sqlite", "--scale", "xs", "-P", "readers=[0,1]")
    assert ran.code in (0, 3), ran.err
    made = inrush("predict", "telemetry-keepup", "--to", "2", "--claim", "--json")
    if made.code:
        assert ran.code == 3 and "Invalid runs train nothing" in made.err
        return
    (held,) = made.json["claims"]
    assert held["kind"] == "sample" and held["keeps_up"]["limit_s"] == pytest.approx(0.1)
    proven = inrush("prove", held["id"], "--json")
    assert proven.json["verdict"] in ("confirmed", "rejected", "inconclusive", "invalid"), proven.err
    if proven.json["verdict"] != "invalid":
        assert isinstance(proven.json["kept_up"], bool)
