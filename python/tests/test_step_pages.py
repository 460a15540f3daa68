"""Pages that the answers of a step took, and bytes of its rows: what is taken from counters, and what from the process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from inrush.engines import server
from inrush.engines.base.page_counters import PageCounters
from inrush.stats.pages import page_figures
from inrush.stats.record import RunRecord
from inrush.stats.run_figures import figures_of_run
from tests.test_steps import ANALYZE, LOAD, WARM, planned, segments
from tests.test_steps_alone import S, table

COUNTED = PageCounters(("read",), ("asked",), page=("page", 8192)).document({})
#: Segments of a run: a look, then a step and a look behind each.
STEPS = {"load": "load", "warm": "read", "chill": "cold", "cold": "extract"}
KINDS = [("", "probe"), ("load", "drive"), ("load", "probe"), ("warm", "drive"), ("warm", "probe"),
         ("chill", "pause"), ("chill", "probe"), ("cold", "drive"), ("cold", "probe")]  # fmt: skip


def run_of(
    looks: Mapping[int, tuple[float, float]],
    counters: Mapping[str, Any] = COUNTED,
    **rows: list[dict[str, Any]],
) -> RunRecord:
    """looks: segment -> (read, asked)."""
    found = [
        {"segment": i, "kind": kind, "label": step, "step": step, "start_ns": i * S, "end_ns": (i + 1) * S,
         "phase": "measure" if kind == "drive" else ""}
        for i, (step, kind) in enumerate(KINDS)
    ]  # fmt: skip
    said = [
        {"segment": at, "name": name, "value": str(value)}
        for at, values in looks.items()
        for name, value in zip(("read", "asked"), values, strict=True)
    ]
    tables: dict[str, pa.Table] = {
        name: table(name, of) for name, of in {"segments": found, "counters": said, **rows}.items()
    }
    roles = {"load": {"kind": "rows", "table": 0}, "warm": {"kind": "calls"}, "cold": {"kind": "calls"}}
    plan = {
        "segments": [
            {"kind": kind, "step": step, "roles": [{"name": step, "work": roles[step], "operations": [],
             "schedule": {"kind": "closed"}}] if kind == "drive" else []}
            for step, kind in KINDS
        ]
    }  # fmt: skip
    return RunRecord("r", plan, {}, {"labels": {"steps": STEPS}, "page_counters": counters}, tables)


def pages(run: RunRecord, step: str, rows: float = 100) -> dict[str, float]:
    return page_figures(run, step, rows, 8192.0)


def test_pages_are_the_difference_of_the_looks_beside_the_step() -> None:
    run = run_of({0: (5, 50), 2: (10, 100), 4: (30, 400), 6: (31, 410), 8: (131, 910)})
    assert pages(run, "warm") == {
        "pages_asked": 300, "pages_read": 20, "page_bytes": 8192, "pages_per_row": 0.2
    }  # fmt: skip
    assert pages(run, "cold")["pages_per_row"] == 1.0
    assert pages(run, "load") == pages(run, "chill") == {}, "what a load reads is not of answers"
    assert "pages_per_row" not in pages(run, "warm", 0)


def test_a_server_that_was_started_meanwhile_counts_from_0_again() -> None:
    # The look behind `chill` is missing: it began anew between 4 and 8.
    run = run_of({2: (10, 100), 4: (30, 400), 8: (100, 500)})
    assert pages(run, "cold") == {
        "pages_asked": 500, "pages_read": 100, "page_bytes": 8192, "pages_per_row": 1.0
    }  # fmt: skip
    # What it kept when it was stopped is no page of this step.
    kept = {**COUNTED, "begin_anew": False}
    assert pages(run_of({4: (30, 400), 8: (100, 500)}, kept), "cold")["pages_read"] == 70
    # Less than before: it began anew, whatever is known of it.
    assert pages(run_of({4: (30, 400), 8: (20, 500)}, kept), "cold")["pages_read"] == 20
    assert pages(run_of({2: (30, 400), 4: (7, 40)}), "warm")["pages_read"] == 7


def test_counters_that_no_look_has_are_no_pages() -> None:
    assert pages(run_of({2: (10, 100)}), "warm") == {} == pages(run_of({4: (10, 100)}), "warm")
    other = {**COUNTED, "read": ["another"], "asked": ["one more"]}
    assert pages(run_of({2: (10, 100), 4: (30, 400)}, other), "warm") == {}
    run = run_of({2: (10, 100), 4: (30, 400)})
    assert (
        page_figures(RunRecord("r", run.plan, {}, {"labels": run.labels}, run.tables), "warm", 9, 1.0) == {}
    )


def test_a_look_that_a_step_takes_while_it_works_is_not_the_one_behind_it() -> None:
    assert pages(run_of({2: (10, 100), 3: (20, 200), 4: (30, 400)}), "warm")["pages_read"] == 20
    assert "pages_read" not in pages(run_of({2: (10, 100), 3: (20, 200)}), "warm")


def test_bytes_are_pages_by_their_size_and_those_of_the_process_stand_in_for_what_is_not_counted() -> None:
    run = run_of({2: (0, 8192), 4: (0, 3 * 8192)}, {**COUNTED, "read": [], "in_bytes": True})
    assert page_figures(run, "warm", 10, 4 * 8192.0) == {
        "pages_asked": 2, "pages_read": 4, "page_bytes": 8192, "pages_per_row": 0.4
    }  # fmt: skip
    assert page_figures(run, "warm", 10, None) == {"pages_asked": 2, "page_bytes": 8192}


def test_figures_of_a_run_have_the_pages_of_its_steps() -> None:
    work = [
        {
            "segment": 3,
            "role": "warm",
            "start_ns": 3 * S,
            "end_ns": 4 * S,
            "rows": 40,
            "ops": 4,
            "ok": 4,
            "sessions": 1,
        }
    ]
    found = figures_of_run(run_of({2: (10, 100), 4: (30, 400)}, repetitions=work))
    assert (found["warm.pages_read"], found["warm.pages_per_row"]) == (20, 0.5)


def test_each_engine_with_counters_of_pages_names_some_that_its_probe_has() -> None:
    settings = {"innodb_page_size": "4096", "page_size": "1024", "default_block_size": "16384"}
    sizes = {e: server(e).page_counters.document(settings)["page_bytes"]  # type: ignore[union-attr]
             for e in ("postgresql", "timescaledb", "mysql", "mariadb", "clickhouse", "sqlite", "duckdb")}  # fmt: skip
    assert sizes == {
        "postgresql": 8192, "timescaledb": 8192, "mysql": 4096, "mariadb": 4096, "clickhouse": 4096, "sqlite": 1024,
        "duckdb": 16_384,
    }  # fmt: skip
    assert server("valkey").page_counters is None


def test_pages_of_sessions_that_end_are_waited_for_before_they_are_asked_for() -> None:
    plan = planned(LOAD, ANALYZE, WARM, engines=["postgresql"])
    for kind, step in (("drive", "load"), ("statement", "analyze"), ("drive", "warm")):
        behind = segments(plan)[segments(plan).index((kind, step, step)) + 1 :]
        behind = [s for s in behind if s[1] != "seen"]
        assert behind[:2] == [("control", "counted", ""), ("probe", step, step)]
    for waited in [s for s in plan.runs[0].plan["segments"] if s["label"] == "counted"]:
        assert [s["repeat"] for s in waited["statements"]] == ["until_no_rows"]
    assert not any(label == "counted" for _, label, _ in segments(planned(LOAD, WARM)))


def counted_behind(*steps: Mapping[str, Any]) -> list[str]:
    plan = planned(*steps, engines=["postgresql"])
    found = [s for s in segments(plan) if s[1] != "seen"]
    return [found[i - 1][2] for i, s in enumerate(found) if s[1] == "counted"]


def test_pages_of_a_step_that_no_read_follows_are_not_waited_for() -> None:
    assert counted_behind(LOAD, ANALYZE) == []
    assert counted_behind(LOAD, {"name": "anew", "do": "restart"}, WARM) == ["warm"], (
        "a server that was restarted has no such session"
    )


# bytes of a row


def sized(**sizes: str) -> list[dict[str, Any]]:
    return [{"segment": int(at[1:]), "name": "table:t", "value": value} for at, value in sizes.items()]


def test_bytes_of_a_row_are_those_that_a_load_added() -> None:
    work = [{"segment": 1, "role": "load", "end_ns": S, "rows": 50, "ops": 1, "ok": 1, "sessions": 1}]
    run = run_of({}, sizes=sized(s0="1000", s2="6000"), repetitions=work)
    assert figures_of_run(run)["load.bytes_per_row"] == 100
    smaller = run_of({}, sizes=sized(s0="7000", s2="6000"), repetitions=work)
    assert "load.bytes_per_row" not in figures_of_run(smaller)


@pytest.mark.parametrize("again", [False, True])
def test_bytes_of_a_row_after_a_statement_are_of_all_rows_that_stand_there(again: bool) -> None:
    """again: a load from a dump, which brings the rows of the first one back."""
    kinds = [
        ("", "probe"),
        ("load", "drive"),
        ("back", "drive"),
        ("load", "probe"),
        ("index", "statement"),
        ("index", "probe"),
    ]
    found = [
        {"segment": i, "kind": kind, "step": step, "start_ns": i * S, "end_ns": (i + 1) * S,
         "phase": "measure" if kind == "drive" else ""}
        for i, (step, kind) in enumerate(kinds)
    ]  # fmt: skip
    work = [
        {"segment": at, "role": step, "end_ns": S, "rows": rows, "sessions": 1}
        for at, step, rows in ((1, "load", 50), (2, "back", 50))
    ]
    plan = {
        "segments": [
            {"step": step, "roles": [{"name": step, "operations": [], "schedule": {"kind": "closed"},
             "work": {"kind": "rows", "table": int(step == "back" and not again)}}]}
            for step in ("load", "back")
        ]
    }  # fmt: skip
    of = {"segments": found, "repetitions": work, "sizes": sized(s0="0", s3="5000", s5="8000")}
    run = RunRecord("r", plan, {}, {"labels": {}}, {name: table(name, rows) for name, rows in of.items()})
    assert figures_of_run(run)["index.bytes_per_row"] == (160 if again else 80)


@pytest.mark.parametrize("writers", [1, 2])
def test_bytes_of_a_row_beside_readers_are_of_the_rows_that_were_written(writers: int) -> None:
    kinds = [("", "probe"), ("mixed", "drive"), ("mixed", "probe"), ("sort", "statement"), ("sort", "probe")]
    found = [
        {"segment": i, "kind": kind, "step": step, "start_ns": i * S, "end_ns": (i + 1) * S,
         "phase": "measure" if kind == "drive" else ""}
        for i, (step, kind) in enumerate(kinds)
    ]  # fmt: skip
    roles = {f"mixed.w{i}": {"kind": "rows", "table": i} for i in range(writers)}
    roles["mixed.users"] = {"kind": "calls"}
    work = [
        {
            "segment": 1,
            "role": role,
            "end_ns": S,
            "rows": 100 if of["kind"] == "rows" else 9_900,
            "sessions": 1,
        }
        for role, of in roles.items()
    ]
    plan = {
        "segments": [
            {"kind": "drive", "step": "mixed", "roles": [{"name": role, "operations": [], "work": of,
             "schedule": {"kind": "closed"}} for role, of in roles.items()]}
        ]
    }  # fmt: skip
    of = {"segments": found, "repetitions": work, "sizes": sized(s0="0", s2="20000", s4="21800")}
    run = RunRecord("r", plan, {}, {"labels": {}}, {name: table(name, rows) for name, rows in of.items()})
    figures = figures_of_run(run)
    assert (figures["mixed.bytes_per_row"], figures["sort.bytes_per_row"]) == (200 / writers, 218 / writers)


@pytest.mark.parametrize("embedded", [False, True])
def test_bytes_that_the_client_read_are_pages_of_an_engine_in_its_process_alone(embedded: bool) -> None:
    looks = [
        {"t_ns": at * S, "role": "client", "metric": "read_bytes", "value": at * 81_920.0} for at in range(10)
    ]
    counters = {**COUNTED, "read": [], "embedded": embedded}
    work = [{"segment": 3, "role": "warm", "end_ns": S, "rows": 40, "ok": 4, "ops": 4, "sessions": 1}]
    figures = figures_of_run(run_of({}, counters, repetitions=work, resources=looks))
    assert figures["warm.client_read_bytes"] == 81_920
    assert figures.get("warm.pages_read") == (10 if embedded else None)
    assert ("warm.pages_per_row" in figures) is embedded


def test_whether_the_engine_is_in_the_clients_process_is_in_the_counters() -> None:
    assert server("sqlite").page_counters.document({}, embedded=True)["embedded"] is True  # type: ignore[union-attr]
    assert server("clickhouse").page_counters.document({}, embedded=False)["embedded"] is False  # type: ignore[union-attr]
