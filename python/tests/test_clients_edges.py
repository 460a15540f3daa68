"""Looks at processes that wait for each other: what holds at the instant at which a segment begins, and at which it ends."""

from __future__ import annotations

import pyarrow as pa

from inrush.agent.edges import NEAR_NS, shared_windows, with_edges
from inrush.results.schema import SCHEMAS
from inrush.stats.watched import looks, spent

MS = 1_000_000


def looked(*series: tuple[str, list[tuple[int, float]]]) -> pa.Table:
    """Role -> looks at its CPU: (ms, s)."""
    rows = [
        {"role": role, "t_ns": t * MS, "metric": "cpu_s", "device": "", "value": value}
        for role, at in series
        for t, value in at
    ]
    return pa.Table.from_pylist(rows, SCHEMAS["resources"])


def segments(*spans: tuple[int, int, int]) -> pa.Table:
    return pa.table(
        {
            "segment": pa.array([n for n, _, _ in spans], pa.uint16()),
            "start_ns": pa.array([a * MS for _, a, _ in spans], pa.uint64()),
            "end_ns": pa.array([b * MS for _, _, b in spans], pa.uint64()),
        }
    )


def test_windows_are_of_segments_that_several_drove_from_the_first_begin_to_the_last_end() -> None:
    each = [segments((0, 0, 9), (1, 10, 20), (3, 40, 50)), segments((1, 11, 25), (3, 40, 45))]
    assert shared_windows(each) == [(10 * MS, 25 * MS), (40 * MS, 50 * MS)]


def test_a_process_that_ended_early_has_what_it_had_at_both_edges() -> None:
    windows = [(100 * MS, 130 * MS), (200 * MS, 210 * MS)]
    table = looked(("client", [(75, 1.0), (112, 1.5), (150, 1.5), (180, 1.5), (240, 1.7)]))
    assert all(spent(looks(table)["client"], [w]) is None for w in windows)
    found = looks(with_edges(table, windows))
    assert [spent(found["client"], [w]) for w in windows] == [0.5, 1.7 - 1.5]


def test_what_a_server_and_a_machine_did_between_two_looks_is_not_all_of_the_segment() -> None:
    """At one core all the time, looked at far around a step of 50 ms: 0.265 s are no CPU of it."""
    table = looked(("server", [(975, 0.975), (1_240, 1.240)]), ("host", [(975, 1.95), (1_240, 2.48)]))
    found = looks(with_edges(table, [(1_000 * MS, 1_050 * MS)]))
    assert {role: spent(of, [(1_000 * MS, 1_050 * MS)]) for role, of in found.items()} == {
        "server": None,
        "host": None,
    }


def test_what_is_said_at_the_end_of_a_repetition_is_said_once() -> None:
    table = looked(("client", [(75, 1.0), (120, 1.5), (150, 1.6)]))
    at_end = table.set_column(
        table.schema.get_field_index("metric"), "metric", pa.array(["repetition_cpu_s"] * table.num_rows)
    )
    assert with_edges(at_end, [(100 * MS, 130 * MS)]).num_rows == table.num_rows


def test_a_look_of_another_segment_or_of_long_ago_holds_at_no_edge() -> None:
    windows = [(100 * MS, 130 * MS), (200 * MS, 210 * MS)]
    # The only looks near are within the segments, before the first one by more than a look, and behind the last one.
    far = NEAR_NS // MS + 1
    table = looked(("client", [(100 + 20, 1.0), (205, 2.0), (210 + far, 3.0)]))
    assert with_edges(table, windows).sort_by("t_ns").equals(table.sort_by("t_ns"))
    exact = looked(("client", [(100, 1.0), (130, 2.0)]))
    assert with_edges(exact, windows[:1]).equals(exact), "a look at the edge itself is not told twice"


def test_without_segments_of_several_or_without_looks_nothing_changes() -> None:
    table = looked(("client", [(0, 1.0)]))
    assert with_edges(table, []) is table
    nothing = SCHEMAS["resources"].empty_table()
    assert with_edges(nothing, [(0, MS)]) is nothing
