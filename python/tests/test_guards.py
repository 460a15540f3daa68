"""Every guard is provoked, and passes where it should."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from inrush.analysis.comparability import holds_engines_together
from inrush.analysis.verdicts import Outcome, Verdict, by_guard, worst
from inrush.guards import notes
from inrush.guards.analyse import analyse, measured_run
from inrush.guards.guard import run_guards
from inrush.guards.settings import same
from inrush.guards.steps import shortened
from inrush.stats.record import RunRecord, StudyRecord
from inrush.stats.run_figures import figures_of_run
from tests import synthetic
from tests.synthetic import SECOND
from tests.test_trends import drawn, served, written_and_read


def verdicts(run: RunRecord) -> dict[str, Verdict]:
    return {v.guard: v for v in measured_run(run).verdicts}


def study_verdicts(record: StudyRecord) -> dict[str, Verdict]:
    return {v.guard: v for where, v in analyse(record).verdicts if not where}


TRUTH = {("duckdb", b): s for b, s in ((200, 3.0), (1000, 2.0), (5000, 1.5))}


def test_a_verdict_says_how_far_a_run_misses() -> None:
    found = verdicts(synthetic.run("postgresql", **dict(PROVOKED["warm-up not counted"][0])))[
        "warm-up not counted"
    ]
    share = re.search(r"at ([0-9.]+) % of the rest", found.sentence)
    assert share is not None and found.size == pytest.approx(1 - float(share[1]) / 100, abs=0.006)
    for totals, size in (({"ok": 47}, 3), ({"ok": 47, "ops": 54}, 7), ({"ok": 52, "ops": 46}, 6)):
        found = verdicts(synthetic.run("postgresql", totals=totals))["errors not counted as fast"]
        assert (found.outcome, found.size) == (Outcome.INVALID, size), found


@pytest.mark.parametrize(
    ("known", "outcome", "said"),
    [
        (("POWER_LOSS", "POWER_LOSS"), Outcome.PASS, ""),
        (("POWER_LOSS", None), Outcome.NOTE, "is not known of sqlite"),
        ((None, None), Outcome.NOTE, "is not known of duckdb, sqlite"),
        (("POWER_LOSS", "PROCESS_CRASH"), Outcome.INVALID, "Rows survive different things"),
    ],
)
def test_what_is_not_known_to_survive_is_not_called_equal(
    known: tuple[str | None, str | None], outcome: Outcome, said: str
) -> None:
    runs = [
        synthetic.run(engine, {}, block, doc={"durability": {"survives": of}} if of else {"durability": None})
        for block in (1, 2)
        for engine, of in zip(("duckdb", "sqlite"), known, strict=True)
    ]
    answer = {"kind": "comparison", "of": "writers.rows_per_s", "along": "engine"}
    found = study_verdicts(StudyRecord({**synthetic.STUDY, "answer": answer}, runs))["equal durability"]
    assert found.outcome is outcome and said in found.sentence, found


@pytest.mark.parametrize(
    ("engines", "along", "per", "factors", "together"),
    [
        (2, "engine", (), {}, True),
        (2, None, (), {}, True),
        (1, "engine", (), {}, False),
        (1, "batch_rows", ("readers",), {}, False),
        (2, "batch_rows", ("engine",), {}, False),
        (2, "batch_rows", ("readers",), {}, True),
        (2, "batch_rows", (), {}, False),
        (2, None, (), {"batch_rows": (1, 2)}, False),
    ],
)
def test_which_answers_hold_engines_against_each_other(
    engines: int, along: str | None, per: Sequence[str], factors: Mapping[str, Sequence[Any]], together: bool
) -> None:
    assert holds_engines_together(engines, along, per, factors) == together


@pytest.mark.parametrize(("length", "shown"), [(60, 60), (61, 60)])
def test_a_statement_is_shown_in_a_line(length: int, shown: int) -> None:
    text = "SELECT\n   1 " + "x" * (length - 9)
    found = shortened(text)
    assert len(found) == shown and found.startswith("SELECT 1 x") and found.endswith("…") == (length > shown)


def test_a_sound_run_passes_every_guard_that_can_invalidate_it() -> None:
    found = verdicts(synthetic.run("postgresql"))
    assert worst(found.values()) is Outcome.NOTE  # only: the data fits into memory
    assert [g for g, v in found.items() if v.outcome is Outcome.NOTE] == ["data larger than caches"]


#: guard -> (what provokes it, or the run itself; outcome; words of the sentence)
PROVOKED: dict[str, tuple[Mapping[str, Any] | Callable[[], RunRecord], Outcome, str]] = {
    "ended as planned": ({"doc": {"status": "failed", "failure": {"kind": "crash", "message": "killed by signal 9"}}},
                         Outcome.INVALID, "killed by signal 9"),
    "rows proven": ({"more": {"proofs": [{"table": "pe", "item": "rows", "expected": "50000", "found": "49999", "holds": False}]}},
                    Outcome.INVALID, "pe: rows is 49999, expected 50000"),
    "answers right": ({"totals": {"wrong": 3}}, Outcome.INVALID, "3 answers were wrong"),
    "oracle agrees": ({"doc": {"oracle": [{"op": "pc_top", "holds": False, "found": "19 rows, the oracle has 20"}]}},
                      Outcome.INVALID, "the oracle has 20"),
    "queries found rows": ({"more": {"intervals": [{"segment": 2, "repetition": 0, "role": "readers", "op": "page",
                                                     "t_ns": SECOND, "dt_ns": SECOND, "ops": 200, "errors": 1}]}},
                            Outcome.NOTE, "page of readers: 199 calls, no row"),
    "client on time": ({"schedule": "constant", "lag_ns": [2_000_000] * 50, "latency_ns": [4_000_000] * 50},
                       Outcome.INVALID, "of writers is 4.01 ms, and with a client on time 2.01 ms"),
    "server had its processors": ({"schedule": "constant", "totals": {"unsent": 20}, "noise": {"others": 0.85}},
                                  Outcome.INVALID, "writers did not keep up, and other processes took 85 % of the processors"),
    "clients started together": ({"doc": {"clients": {"count": 2, "starts": [
                      {"segment": 2, "repetition": 0, "first_session_late_ns": [0, 0], "last_session_late_ns": [0, 900_000_000]}]}}},
                  Outcome.INVALID, "the last session of client process 2 began 0.9 s late"),
    "client not saturated": ({"client_cores": 6.9}, Outcome.INVALID, "6.90 of 8 cores"),
    "load not interrupted": ({"doc": {"gaps": [{"step": "load", "from_ns": 1_000, "until_ns": 61_000_001_000}],
                                "stretches": [{"env": {}, "settings": {}}, {"env": {"kernel": "7.0"}, "settings": {"version": "18"}}]},
                        "more": {"settings": [{"segment": 1, "t_ns": 0, "name": "version", "value": "17"}]}},
                       Outcome.NOTE, "The server's version was 17, and later 18"),
    "cold was cold": (lambda: cold_run([]), Outcome.INVALID, "the caches were dropped"),
    "inputs cold": (lambda: input_run(0.4), Outcome.NOTE, "40 % of the input"),
    "warm-up not counted": ({"makespan_s": 30.0, "rate": lambda t_s: 1 - 0.6 * np.exp(-t_s / 2), "rows": 500_000, "batch_rows": 10},
                            Outcome.NOTE, "of the rest"),
    "unit of work constant": (lambda: growing_run(), Outcome.NOTE, "bytes per row change by"),
    "rows rejected": ({"more": {"counters": [{"name": "inrush.files.mine.rows_read", "value": "95"}, {"name": "inrush.files.mine.rows_rejected", "value": "5"}]}},
                      Outcome.NOTE, "mine: 5 of 100 rows rejected"),
    "statement beside roles": (lambda: beside_run(), Outcome.INVALID, "The statement failed, so nothing is known of its cost: no room"),
    "table of one size": (lambda: written_and_read(0, 50_000), Outcome.NOTE, "while it grew from 0 to 50,000 rows"),
    "service time steady": (lambda: served(drawn(7, lambda t: (1 + 22 * t) / 3000, 0.0, 0.05, 1)), Outcome.NOTE,
                            "service time rises"),
    "no waves": ({"makespan_s": 30.0, "rows": 3_000_000, "batch_rows": 100,
                  "rate": lambda t_s: 1 + 0.2 * np.sin(2 * np.pi * t_s / 2)}, Outcome.NOTE, "every 2 s"),
    "release build": ({"env": {"core_build_profile": "debug"}}, Outcome.INVALID, "debug build"),
    "one server": ({"env": {"data_servers": [12, 34]}}, Outcome.INVALID, "2 servers"),
    "on its storage": ({"doc": {"storage": {"name": "slow", "folder": "/slow", "device": "8:1", "files": "/slower/pg",
                                            "files_device": "8:1", "said_by_server": True}}},
                       Outcome.INVALID, "in /slower/pg, which is not in /slow of storage slow"),
    "no other study on the server": ({"doc": {"other_studies": [{"said": "study x (process 7)", "here": True},
                                                                 {"said": "study y", "here": False}]}},
                                     Outcome.INVALID, "held this server meanwhile: study x (process 7). Its runs there are load"),
    "no other server of this engine": ({"doc": {"neighbours": [{"pid": 7, "folder": "/fast/pg", "cpu_s": 60.0}], "begun_unix_ns": 1,
                                    "ended_unix_ns": 120 * SECOND}},
                           Outcome.NOTE, "process 7 in /fast/pg) and used 0.5 cores"),
    "settings as asked": ({"doc": {"settings_asked": {"shared_buffers": "64MB", "fsync": "on"}},
                           "more": {"settings": [{"name": "shared_buffers", "value": "16384 8kB"}, {"name": "fsync", "value": "on"}]}},
                          Outcome.NOTE, "shared_buffers is 16384 8kB and not 64MB"),
    "below physical ceilings": ({"batch_rows": 1, "makespan_s": 1.0}, Outcome.INVALID, "50000 commits/s"),
    "Little's law": ({"latency_ns": [90_000_000] * 50}, Outcome.INVALID, "2.25 calls under way by rate × service time, with 1 sessions"),
    "utilisation at most 1": ({"env": {"cpu_logical": 1}, "client_cores": 0.5}, Outcome.NOTE, "1.30 cores busy of 1"),
    "sum of parts": ({"more": {"sessions": [{"segment": 2, "repetition": 0, "role": "writers", "ops": 49, "rows": 50_000}]}},
                     Outcome.INVALID, "sessions add up to 49 ops, the role has 50"),
    "keeps the rate": ({"schedule": "poisson", "totals": {"unsent": 5}}, Outcome.NOTE, "90.9 % of what was due"),
    "long enough": ({"makespan_s": [0.2, 0.3]}, Outcome.NOTE, "0.5 s"),
    "quiet machine": ({"noise": {"steal": 0.03, "psi": 0.2, "others": 0.1}}, Outcome.NOTE,
                      "steal 3.0 % (limit 1 %), CPU pressure 20.0 % (limit 5 %), other processes"),
    "errors not counted as fast": ({"totals": {"ok": 40, "errors": 10}}, Outcome.INVALID, "50 latencies and 0 failures of 50 calls"),
    "data larger than caches": ({"env": {"mem_total_bytes": 10**9}}, Outcome.NOTE, "fit into"),
    "program in memory": (lambda: faulting_run(60.0), Outcome.NOTE, "384 MB of memory, and reads 60 pages a second of its own"),
}  # fmt: skip


def faulting_run(per_s: float, held: bool = True) -> RunRecord:
    """A server that is held to 384 MB, with so many major page faults a second."""
    run = synthetic.run("mysql", doc={"limits": {"memory": {"asked": 3.84e8}}} if held else {})
    told = run.tables["resources"].to_pylist()
    rows = [{**r, "metric": "major_faults", "value": per_s * r["t_ns"] / SECOND} for r in told
            if (r["role"], r["metric"]) == ("server", "cpu_s")]  # fmt: skip
    table = pa.Table.from_pylist([*told, *rows], schema=run.tables["resources"].schema)
    return replace(run, tables={**run.tables, "resources": table})


def test_a_server_that_keeps_its_program_in_memory_passes_and_one_without_a_limit_is_not_asked() -> None:
    assert verdicts(faulting_run(40.0))["program in memory"].outcome is Outcome.PASS
    assert verdicts(faulting_run(60.0, held=False))["program in memory"].outcome is Outcome.NOT_CHECKED


def test_a_lock_that_another_machine_left_is_a_note_and_a_server_without_another_passes() -> None:
    def judged(others: list[dict[str, object]]) -> tuple[Outcome, str]:
        found = verdicts(synthetic.run("mysql", doc={"other_studies": others}))[
            "no other study on the server"
        ]
        return found.outcome, found.sentence

    outcome, sentence = judged([{"said": "study y", "here": False}])
    assert outcome is Outcome.NOTE and "whether it still runs is not known here: study y" in sentence
    assert judged([])[0] is Outcome.PASS


@pytest.mark.parametrize("guard", PROVOKED)
def test_a_provoked_guard_says_what_it_found(guard: str) -> None:
    how, outcome, words = PROVOKED[guard]
    found = verdicts(how() if callable(how) else synthetic.run("postgresql", **how))[guard]
    assert found.outcome is outcome
    assert words in found.sentence


@pytest.mark.parametrize("guard", [g for g, p in PROVOKED.items() if p[1] is Outcome.INVALID])
def test_a_provoked_guard_makes_its_run_invalid_and_no_other_guard_does(guard: str) -> None:
    how = PROVOKED[guard][0]
    found = verdicts(how() if callable(how) else synthetic.run("postgresql", **how))
    assert [g for g, v in found.items() if v.outcome is Outcome.INVALID] == [guard]


@pytest.mark.parametrize(
    "guard",
    ["ended as planned", "rows proven", "answers right", "oracle agrees", "errors not counted as fast"],
)
def test_a_run_with_wrong_rows_or_answers_has_no_figure_anywhere(guard: str) -> None:
    how = PROVOKED[guard][0]
    assert not callable(how)
    bad = synthetic.run("postgresql", {"batch_rows": 1000}, 1, 7, makespan_s=0.001, **how)
    record = synthetic.study({("postgresql", 1000): 2.0})
    with_bad = analyse(replace(record, runs=[*record.runs, bad]))
    values = with_bad.values("writers.makespan_s")[with_bad.points[0]]
    assert min(values.values()) > 1 and len(values) == 5
    assert all(h.n == 5 * 50 for h in with_bad.latencies.values())


def test_rows_that_are_missing_are_laid_to_the_calls_that_failed() -> None:
    proofs = [{"table": "pe", "item": "rows", "expected": "1200", "found": "1175", "holds": False}]
    failure = {
        "role": "ports",
        "op": "insert",
        "outcome": "conflict",
        "count": 1,
        "first_message": "Deadlock found",
    }
    lost, detail = (
        verdicts(synthetic.run("mysql", more={"proofs": proofs, **more}))["rows proven"].sentence
        for more in ({}, {"failures": [failure]})
    )
    assert lost.endswith("look for lost, doubled or changed rows")
    assert detail.endswith(
        "1 call failed and their rows were not sent again: insert conflict, Deadlock found"
    )


def test_rows_that_were_never_proven_are_unverified() -> None:
    found = verdicts(synthetic.run("sqlite", without=["proofs"]))["rows proven"]
    assert found.outcome is Outcome.INVALID and "unverified" in found.sentence
    null = verdicts(synthetic.run("null:pgcopy", without=["proofs"]))["rows proven"]
    assert null.outcome is Outcome.NOT_CHECKED


def test_a_client_is_late_against_five_percent_of_a_slow_median() -> None:
    slow = {"schedule": "constant", "latency_ns": [200_000_000] * 50}
    assert (
        verdicts(synthetic.run("postgresql", lag_ns=[8_000_000] * 50, **slow))["client on time"].outcome
        is Outcome.NOTE  # 200 ms against 192: within 5 %, and the bracket is in the sentence
    )
    assert (
        verdicts(synthetic.run("postgresql", lag_ns=[12_000_000] * 50, **slow))["client on time"].outcome
        is Outcome.INVALID
    )


@pytest.mark.parametrize(("steal", "said"), [(0.03, True), (0.005, False)])
def test_a_late_client_is_told_of_a_host_that_took_its_processors(steal: float, said: bool) -> None:
    late = {"schedule": "constant", "lag_ns": [2_000_000] * 50, "latency_ns": [4_000_000] * 50}
    verdict = verdicts(synthetic.run("postgresql", noise={"steal": steal}, **late))["client on time"]
    assert verdict.outcome is Outcome.INVALID
    assert ("gave 3.0 % of the processors to others (steal)" in verdict.sentence) is said


def test_a_server_freeze_leaves_the_client_valid_and_a_late_client_does_not() -> None:
    frozen_server = synthetic.run(
        "postgresql", schedule="constant", latency_ns=[10**6] * 40 + [SECOND] * 10, lag_ns=[20_000] * 50,
        service_ns=[10**6] * 49 + [SECOND],
    )  # fmt: skip
    late_client = synthetic.run("postgresql", schedule="constant", latency_ns=[10**6] * 40 + [SECOND] * 10,
                                lag_ns=[20_000] * 40 + [SECOND] * 10)  # fmt: skip
    assert figures_of_run(frozen_server)["writers.latency_p99_s"] > 0.9
    assert worst(verdicts(frozen_server).values()) is not Outcome.INVALID
    assert verdicts(late_client)["client on time"].outcome is Outcome.INVALID


def test_a_process_that_stood_still_makes_a_closed_run_invalid_though_no_call_has_lag() -> None:
    def outcome(stalled_s: float, t_ns: int = 2 * SECOND) -> Verdict | None:
        stalls = [
            {"role": "client", "t_ns": t_ns, "metric": "stall_total_s", "device": "", "value": stalled_s}
        ]
        run = synthetic.run("postgresql", makespan_s=2.0, more={"resources": stalls})
        return verdicts(run).get("client on time")

    late = outcome(0.4)
    assert late is not None and late.outcome is Outcome.INVALID
    assert "stood still for 400 ms of 2 s" in late.sentence
    assert "makespan of writers" in late.sentence and late.breaks("writers.rows_per_s")
    assert not late.breaks("writers.rows") and not late.breaks("server.busy_cores")
    none = outcome(0.0)
    assert none is not None and none.outcome is Outcome.PASS
    # Before the measured repetitions it is no concern of theirs.
    before = outcome(0.4, t_ns=SECOND // 2)
    assert before is not None and before.outcome is Outcome.PASS


def test_sessions_that_compute_instead_of_waiting_are_the_bottleneck() -> None:
    found = verdicts(synthetic.run("postgresql", totals={"cpu_ns": int(1.9 * SECOND)}))[
        "client not saturated"
    ]
    assert found.outcome is Outcome.INVALID and "95 %" in found.sentence


def test_an_engine_in_our_process_is_said_to_share_our_cpu() -> None:
    assert verdicts(synthetic.run("duckdb", client_cores=7.9))["client not saturated"].outcome is Outcome.NOTE


def test_a_call_that_is_neither_timed_nor_counted_as_failed_is_a_fault_of_the_instrument() -> None:
    found = verdicts(synthetic.run("postgresql", totals={"ops": 55}))["errors not counted as fast"]
    assert found.hides and "50 latencies and 0 failures of 55 calls that ended" in found.sentence


def test_errors_are_counted_apart_and_told_with_their_first_message() -> None:
    found = verdicts(synthetic.run("postgresql", failed=2))["errors not counted as fast"]
    assert found.outcome is Outcome.NOTE and "insert timeout, no answer in 1 s" in found.sentence


def beside_run() -> RunRecord:
    """A run whose statement failed while its writers went on."""
    own = {
        "segment": 2,
        "role": "change",
        "start_ns": SECOND,
        "end_ns": 2 * SECOND,
        "ops": 1,
        "errors": 1,
        "sessions": 1,
    }
    failure = {
        "segment": 2,
        "role": "change",
        "op": "index",
        "outcome": "other",
        "count": 1,
        "first_message": "no room",
    }
    run = synthetic.run("postgresql", more={"repetitions": [own], "failures": [failure]})
    create, measure = run.plan["segments"]
    roles = [*measure["roles"], synthetic.role_plan("change", "index")]
    labels = {**run.labels, "steps": {"change": "alter"}}
    segments = [create, {**measure, "step": "change", "roles": roles}]
    return replace(run, plan={**run.plan, "segments": segments}, summary={**run.summary, "labels": labels})


def cold_run(actions: list[dict[str, Any]], colds: int = 1) -> RunRecord:
    """Steps that make the engine cold, and one that then reads."""
    run = synthetic.run("postgresql", doc={"actions": actions})
    pauses = [
        {"kind": "pause", "label": f"cold{n}", "step": f"cold{n}", "action": "make_cold"}
        for n in range(colds)
    ]
    segments = [*pauses, {"kind": "drive", "label": "read", "step": "read"}]
    rows = [
        {"segment": n, "kind": s["kind"], "label": s["label"], "step": s["step"], "phase": "", "ended_by": "work",
         "start_ns": n * SECOND, "end_ns": (n + 1) * SECOND}
        for n, s in enumerate(segments)
    ]  # fmt: skip
    tables = {**run.tables, "segments": pa.Table.from_pylist(rows)}
    return replace(run, plan={**run.plan, "segments": segments}, tables=tables, _rows={})


def test_a_cold_run_that_was_not_made_cold_is_invalid() -> None:
    refused = cold_run(
        [{"index": 0, "action": "make_cold", "ok": False, "why": "dropping caches needs root"}]
    )
    assert "needs root" in verdicts(refused)["cold was cold"].sentence
    assert verdicts(cold_run([]))["cold was cold"].outcome is Outcome.INVALID
    done = [{"index": 0, "action": "make_cold", "ok": True, "how": "0 pages resident"}]
    assert verdicts(cold_run(done))["cold was cold"].outcome is Outcome.PASS
    assert verdicts(cold_run(done, colds=2))["cold was cold"].outcome is Outcome.INVALID, "once of two"


@pytest.mark.parametrize(
    ("held", "outcome"), [(0.0, Outcome.PASS), (0.4, Outcome.NOTE), (None, Outcome.NOT_CHECKED)]
)
def test_input_that_the_kernel_still_held_is_noted(held: float | None, outcome: Outcome) -> None:
    assert verdicts(input_run(held))["inputs cold"].outcome is outcome


def input_run(held: float | None) -> RunRecord:
    pages = {} if held is None else {"inputs_bytes": 1000, "inputs_cached_bytes": 1000 * held}
    run = synthetic.run(
        "postgresql", more={"counters": [{"name": n, "value": str(v)} for n, v in pages.items()]}
    )
    create, measure = run.plan["segments"]
    loads = {"writers": {"inputs": {"cold": True}, "shards": [{}]}}
    return replace(run, plan={**run.plan, "segments": [create, {**measure, "kind": "load"}], "loads": loads})


def test_a_load_larger_than_memory_is_not_noted_as_cached() -> None:
    run = synthetic.run("postgresql", env={"mem_total_bytes": 10**6})
    assert verdicts(run)["data larger than caches"].outcome is Outcome.PASS


def test_a_warm_up_inside_the_measured_phase_is_told() -> None:
    run = synthetic.run(
        "postgresql",
        makespan_s=30.0,
        rate=lambda t_s: 1 - 0.6 * np.exp(-t_s / 2),
        rows=500_000,
        batch_rows=10,
    )
    found = verdicts(run)["warm-up not counted"]
    assert found.outcome is Outcome.NOTE and "of the rest" in found.sentence


def test_a_growing_unit_of_work_is_told() -> None:
    assert "bytes per row change by" in verdicts(growing_run())["unit of work constant"].sentence
    run = synthetic.run("postgresql", makespan_s=10.0)
    assert verdicts(run)["unit of work constant"].outcome is Outcome.PASS


def growing_run() -> RunRecord:
    run = synthetic.run("postgresql", makespan_s=10.0)
    table = run.tables["intervals"].to_pylist()
    for i, row in enumerate(table):
        row["bytes"] = row["rows"] * (100 + i)
    return replace(run, tables={**run.tables, "intervals": synthetic.table("intervals", table)}, _rows={})


def test_waves_in_throughput_are_told_with_their_period() -> None:
    run = synthetic.run("postgresql", makespan_s=30.0, rows=3_000_000, batch_rows=100,
                        rate=lambda t_s: 1 + 0.2 * np.sin(2 * np.pi * t_s / 2))  # fmt: skip
    found = verdicts(run)["no waves"]
    assert found.outcome is Outcome.NOTE and "every 2 s" in found.sentence


def test_a_wave_behind_a_role_without_one_is_found_and_what_is_paced_has_none() -> None:
    steady = synthetic.run(
        "postgresql", makespan_s=30.0, rows=3_000_000, batch_rows=100, reader_ns=[10**6] * 300
    )
    noise = np.random.default_rng(1).normal(0, 3, 300)

    def calls(t: int, role: str, ops: float) -> dict[str, Any]:
        return {"segment": 2, "role": role, "op": "page" if role == "readers" else "insert", "dt_ns": SECOND // 10,
                "t_ns": SECOND + t * SECOND // 10, "ops": int(ops)}  # fmt: skip

    rows = [calls(t, "writers", 100 + noise[t]) for t in range(300)]
    rows += [calls(t, "readers", 100 + 50 * (t % 20 < 10) + noise[t]) for t in range(300)]
    run = replace(steady, tables={**steady.tables, "intervals": synthetic.table("intervals", rows)}, _rows={})
    found = verdicts(run)["no waves"]
    assert found.outcome is Outcome.NOTE and found.sentence.startswith("readers:")

    roles = [
        {**role, "schedule": {"kind": "constant", "rate_per_s": 1.0}} if role["name"] == "readers" else role
        for role in run.plan["segments"][1]["roles"]
    ]
    plan = {**run.plan, "segments": [run.plan["segments"][0], {**run.plan["segments"][1], "roles": roles}]}
    assert verdicts(replace(run, plan=plan, _rows={}))["no waves"].outcome is Outcome.PASS


def test_notes_never_invalidate() -> None:
    assert not hasattr(notes, "invalid")


def test_only_the_measured_phase_enters_figures() -> None:
    run = synthetic.run("postgresql")
    warm = {
        "segment": 1,
        "kind": "drive",
        "label": "warm",
        "phase": "warm",
        "end_ns": SECOND,
        "ended_by": "time",
    }
    repetitions = [
        *run.tables["repetitions"].to_pylist(),
        {**run.rows("repetitions")[0], "segment": 1, "rows": 10**9},
    ]
    more = {
        "segments": synthetic.table("segments", [warm, *run.rows("segments")]),
        "repetitions": synthetic.table("repetitions", repetitions),
    }
    both = replace(run, tables={**run.tables, **more}, _rows={})
    assert figures_of_run(both) == figures_of_run(run)


# The study as a whole.


def test_blocks_in_one_order_few_blocks_and_a_lone_pilot_are_told() -> None:
    assert study_verdicts(synthetic.study(TRUTH))["interleaved repeats"].outcome is Outcome.PASS
    for how, words in (({"shuffled": False}, "same order"), ({"blocks": 3}, "least to publish"),
                       ({"blocks": 1}, "no spread"), ({"blocks": 0}, "Only the pilot")):  # fmt: skip
        found = study_verdicts(synthetic.study(TRUTH, **how))["interleaved repeats"]
        assert found.outcome is Outcome.NOTE and words in found.sentence


def test_injected_carry_over_is_told_with_what_came_before() -> None:
    record = synthetic.study(
        {("duckdb", b): 1.0 for b in (1, 2, 3, 4, 5)}, blocks=8, spread=0.02,
        carry=lambda before: 1.3 if before == ("duckdb", 5) else 1.0,
    )  # fmt: skip
    found = study_verdicts(record)["no carry-over"]
    assert found.outcome is Outcome.NOTE and "after duckdb, batch_rows 5" in found.sentence


def test_unequal_and_unknown_durability_are_told() -> None:
    record = synthetic.study({("duckdb", 1): 1.0, ("sqlite", 1): 1.0})
    assert study_verdicts(record)["equal durability"].outcome is Outcome.PASS

    def with_sqlite(durability: Any) -> StudyRecord:
        runs = [
            replace(r, summary={**r.summary, "durability": durability}) if r.engine == "sqlite" else r
            for r in record.runs
        ]
        return replace(record, runs=runs)

    unequal = study_verdicts(with_sqlite({"survives": "PROCESS_CRASH"}))["equal durability"]
    assert (
        unequal.outcome is Outcome.NOTE and "sqlite: process crash" in unequal.sentence
    )  # no engine is ranked
    assert "not known of sqlite" in study_verdicts(with_sqlite(None))["equal durability"].sentence


@pytest.mark.parametrize(
    ("asked", "allowed", "outcome"),
    [
        ({"along": "batch_rows", "per": ["engine"]}, False, Outcome.NOTE),
        ({"along": "engine", "per": ["batch_rows"]}, False, Outcome.INVALID),
        ({"along": "batch_rows", "per": ["table"]}, False, Outcome.INVALID),
        ({"along": "engine", "per": ["batch_rows"]}, True, Outcome.NOTE),
    ],
)
def test_engines_of_unequal_durability_may_not_be_compared_unless_asked(
    asked: Mapping[str, Any], allowed: bool, outcome: Outcome
) -> None:
    doc = {"answer": {"kind": "best", "of": "writers.makespan_s", **asked}, "unequal_durability": allowed}
    analysis = analyse(synthetic.unequal({("duckdb", 1): 1.0, ("sqlite", 1): 3.0}, doc=doc))
    found = {v.guard: v for where, v in analysis.verdicts if not where}["equal durability"]
    assert found.outcome is outcome
    assert analysis.valid is (outcome is not Outcome.INVALID)
    assert len(analysis.values("writers.makespan_s")) == 2, "each engine's own figures stand"


def test_durability_as_a_factor_of_engines_alike_at_each_value_is_equal() -> None:
    """What a weaker promise gains is a fair question, asked of all engines alike."""
    record = synthetic.study({(e, b): 1.0 for e in ("duckdb", "sqlite") for b in (1, 2)})
    runs = [
        replace(r, summary={**r.summary, "durability": {"survives": "PROCESS_CRASH"}})
        if r.point["batch_rows"] == 2
        else r
        for r in record.runs
    ]
    assert study_verdicts(replace(record, runs=runs))["equal durability"].outcome is Outcome.PASS


def test_a_rate_near_that_of_the_null_engine_is_the_clients() -> None:
    near = study_verdicts(synthetic.study({("null", 1): 1.0, ("sqlite", 1): 1.1}))[
        "client is not the bottleneck"
    ]
    assert near.outcome is Outcome.INVALID and "client sets this figure" in near.sentence
    far = study_verdicts(synthetic.study({("null", 1): 0.1, ("sqlite", 1): 1.1}))[
        "client is not the bottleneck"
    ]
    assert far.outcome is Outcome.PASS


@pytest.mark.parametrize(("engine", "outcome"), [("sqlite", Outcome.PASS), ("postgresql", Outcome.INVALID)])
def test_the_floor_of_a_server_is_the_null_engine_with_an_encoder_whatever_ran_last(
    engine: str, outcome: Outcome
) -> None:
    for nulls in (("null", 0.1), ("null:text", 1.0)), (("null:text", 1.0), ("null", 0.1)):
        truth = {(name, 1): makespan_s for name, makespan_s in (*nulls, (engine, 1.1))}
        assert study_verdicts(synthetic.study(truth))["client is not the bottleneck"].outcome is outcome


def test_runs_that_overlap_on_one_target_are_invalid() -> None:
    spans = [(0, 10), (5, 15)]
    runs = [
        synthetic.run(
            "postgresql",
            {"batch_rows": 1},
            1,
            i,
            doc={"begun_unix_ns": 1 + a * SECOND, "ended_unix_ns": b * SECOND},
        )
        for i, (a, b) in enumerate(spans)
    ]
    found = study_verdicts(StudyRecord(synthetic.STUDY, runs))
    assert found["one run at a time"].outcome is Outcome.INVALID


def test_no_guard_of_a_run_is_without_a_run_in_which_it_fails() -> None:
    assert sorted(g.name for g in run_guards()) == sorted(PROVOKED)
    assert all(outcome in (Outcome.INVALID, Outcome.NOTE) for _, outcome, _ in PROVOKED.values())


def test_verdicts_are_gathered_by_guard_with_the_worst_first() -> None:
    a, b = Verdict("g", Outcome.PASS, ""), Verdict("g", Outcome.INVALID, "")
    assert [v.outcome for _, v in by_guard([("1", a), ("2", b)])["g"]] == [Outcome.INVALID, Outcome.PASS]


def test_a_reader_is_not_held_against_the_fsyncs_of_the_disk() -> None:
    run = synthetic.run("postgresql", reader_ns=[1000] * 100_000)
    assert figures_of_run(run)["readers.ops_per_s"] > 10 * 2000
    assert verdicts(run)["below physical ceilings"].outcome is Outcome.PASS


def test_a_rate_a_little_above_a_short_probe_is_noted_not_condemned() -> None:
    run = synthetic.run("postgresql", batch_rows=10, makespan_s=1.0)  # 5,000 commits/s, 2,000 fsyncs/s
    assert verdicts(run)["below physical ceilings"].outcome is Outcome.NOTE


@pytest.mark.parametrize(
    ("probes", "after", "outcome"),
    [
        ([500.0, 510.0, 490.0], [], Outcome.INVALID),  # 5,000 commits/s, and the probes agree
        (
            [500.0, 510.0, 490.0],
            [5_500.0, 5_000.0, 5_400.0],
            Outcome.PASS,
        ),  # the disk was busy before the study
        (
            [100.0, 500.0, 480.0],
            [],
            Outcome.NOTE,
        ),  # the probes differ by five: who knows what the disk can do
        ([500.0, 510.0, 490.0], [900.0, 520.0, 500.0], Outcome.NOTE),
    ],
)
def test_the_disk_is_held_to_its_best_probe_as_far_as_the_probes_agree(
    probes: list[float], after: list[float], outcome: Outcome
) -> None:
    env = {"disk_fsync_probes": probes, "disk_fsync_per_s": max(probes)}
    doc = {"disk_after": {"disk_fsync_probes": after, "disk_fsync_per_s": max(after)}} if after else {}
    run = synthetic.run("postgresql", batch_rows=10, makespan_s=1.0, env=env, doc=doc)
    detail = verdicts(run)["below physical ceilings"]
    assert detail.outcome is outcome
    assert ("Inconclusive" in detail.sentence) == (outcome is Outcome.NOTE)


@pytest.mark.parametrize(
    ("asked", "reported", "equal"),
    [
        ("128MB", "16384 8kB", True),
        ("128MB", "16385 8kB", False),
        ("16384", "16384 8kB", True),
        ("2G", "2147483648", True),
        ("2G", "2 GB", True),
        ("200", "200 ms", True),
        ("5min", "300 s", True),
        ("5min", "301 s", False),
        ("OFF", "0", True),
        ("OFF", "ON", False),
        ("0", "off", True),
        ("ON", "1", True),
        ("fsync", "fsync", True),
        ("O_DIRECT", "fsync", False),
        ("nonsense", "7", False),
        ("500", "500", True),
        ("500", "151", False),
        ("1 parsec", "1", False),
    ],
)
def test_a_setting_is_the_same_in_whatever_unit_it_is_reported(
    asked: str, reported: str, equal: bool
) -> None:
    assert same(asked, reported) is equal


def test_settings_that_the_server_does_not_tell_are_named_and_count_as_nothing() -> None:
    run = synthetic.run(
        "clickhouse",
        doc={"settings_asked": {"max_memory_usage": "10000000000", "mark_cache_size": "5368709120"}},
        more={"settings": [{"name": "max_memory_usage", "value": "10000000000"}]},
    )
    found = verdicts(run)["settings as asked"]
    assert found.outcome is Outcome.PASS
    assert found.sentence == "1 setting read back as asked; the server does not report mark_cache_size"


def test_a_value_of_inrush_s_own_profile_that_the_server_rounds_is_told_and_no_complaint() -> None:
    asked = {"innodb_buffer_pool_size": "1800000000", "sort_buffer_size": "1M"}
    detail = [
        {"name": "innodb_buffer_pool_size", "value": "1879048192"},
        {"name": "sort_buffer_size", "value": "262144"},
    ]

    def found(*chosen: str) -> Verdict:
        doc = {"settings_asked": asked, "settings_by_profile": list(chosen)}
        return verdicts(synthetic.run("mysql", doc=doc, more={"settings": detail}))["settings as asked"]

    own = found("innodb_buffer_pool_size", "sort_buffer_size")
    assert own.outcome is Outcome.PASS
    assert "of what inrush chose innodb_buffer_pool_size is 1879048192 and not 1800000000" in own.sentence
    named = found("innodb_buffer_pool_size")
    assert named.outcome is Outcome.NOTE
    assert (
        "it was started with: sort_buffer_size is 262144 and not 1M; of what inrush chose" in named.sentence
    )
    assert found().outcome is Outcome.NOTE


@pytest.mark.parametrize(
    ("noise", "outcome", "says"),
    [
        ({"psi": 0.6}, Outcome.PASS, "CPU pressure 60.0 % (of the run itself)"),
        ({"psi": 0.6, "others": 0.2}, Outcome.NOTE, "CPU pressure 60.0 % (limit 5 %), other processes"),
        ({"psi": 0.01}, Outcome.PASS, "CPU pressure 1.0 % (limit 5 %)"),
    ],
)
def test_cpu_pressure_of_the_run_itself_is_no_noise(
    noise: dict[str, float], outcome: Outcome, says: str
) -> None:
    found = verdicts(synthetic.run("postgresql", noise=noise))["quiet machine"]
    assert found.outcome is outcome and says in found.sentence


def test_of_a_server_of_the_users_nothing_was_asked() -> None:
    detail = {"settings": [{"name": "fsync", "value": "off"}]}
    found = verdicts(synthetic.run("postgresql", more=detail))["settings as asked"]
    assert found.outcome is Outcome.NOT_CHECKED


def test_a_log_is_no_stored_data() -> None:
    of_table = {"segment": 4, "t_ns": SECOND, "name": 'table:"a"."pe"', "value": "5000000"}
    log = {**of_table, "name": "log:wal", "value": "536870912"}
    assert notes.stored_bytes(synthetic.run("postgresql", more={"sizes": [of_table, log]})) == 5_000_000


@pytest.mark.parametrize(
    ("changed", "outcome"),
    [
        ({}, Outcome.PASS),
        ({"files": "/slow"}, Outcome.PASS),
        ({"files_device": None}, Outcome.PASS),
        ({"files": "/slow-2/pg"}, Outcome.INVALID),
        ({"files_device": "8:2"}, Outcome.INVALID),
    ],
)
def test_a_server_elsewhere_than_on_its_storage_is_told(changed: dict[str, Any], outcome: Outcome) -> None:
    found = {
        "name": "slow", "folder": "/slow", "device": "8:1", "files": "/slow/pg", "files_device": "8:1", "said_by_server": True,
        **changed,
    }  # fmt: skip
    told = verdicts(synthetic.run("postgresql", doc={"storage": found}))["on its storage"]
    assert told.outcome is outcome, told.sentence


@pytest.mark.parametrize("cpu_s", [0.0, 1.0])
def test_servers_that_wait_beside_ours_are_named_and_no_note(cpu_s: float) -> None:
    doc = {
        "neighbours": [{"pid": 7, "folder": None, "cpu_s": cpu_s}],
        "begun_unix_ns": 1,
        "ended_unix_ns": 120 * SECOND,
    }
    told = verdicts(synthetic.run("postgresql", doc=doc))["no other server of this engine"]
    assert told.outcome is Outcome.PASS and "1 other server" in told.sentence and "not known" in told.sentence
    alone = verdicts(synthetic.run("postgresql", doc={**doc, "neighbours": []}))[
        "no other server of this engine"
    ]
    assert alone.outcome is Outcome.PASS and "No other" in alone.sentence
