"""What may be said of a table after a load, and which import a file is: without a server."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inrush import _core
from inrush.commands.load import cost_line, lines
from inrush.engines import server
from inrush.errors import UsageError
from inrush.load import identity, ledger, proof
from inrush.load.check import Loaded, changed
from inrush.load.identity import Content
from inrush.load.input import open_inputs
from inrush.load.ledger import Header
from inrush.load.proof import LoadEvidence, judge
from inrush.load.shards import loading_of
from inrush.times import Times

ITEMS = (
    {"kind": "rows"},
    {"kind": "not_null", "column": "v"},
    {"kind": "sum_hash", "column": "v", "hash": "city_hash64"},
    {"kind": "sum_low", "column": "at"},
    {"kind": "sum_high", "column": "at", "signed": True},
)
SUMS = [100, 90, 2**63, 5_000, 7]
GOOD = LoadEvidence(
    rows_read=100, rows_in_ledger=100, rows_on_replicas=None, transactional=True, shards=[("here", 100, 100)], unknown=0,
    items=ITEMS, of_client=SUMS, of_ledger=SUMS, expected=SUMS, found=[("the table", SUMS)],
)  # fmt: skip


def header(load: str, **words: Any) -> Header:
    usual: dict[str, Any] = {
        "load": load, "base": load, "again": 0, "table": "public.t", "files": ("f" + load,), "names": (f"{load}.csv",),
        "chunk_rows": 500, "began": f"2026-01-01T00:00:00.{load:>06}", "rows_before": 0, "place": 0, "shards": 1,
        "items": ITEMS, "types": {"v": "text", "at": "time_us"},
    }  # fmt: skip
    return Header(**{**usual, **words})


def test_equal_figures_are_proven() -> None:
    said = judge(GOOD)
    assert (said.verdict, said.columns) == ("proven", {"v": "sum of hashes", "at": "sum"})
    assert judge(replace(GOOD, imports=2)).why.endswith("all 2 imports that filled the table")
    said = judge(replace(GOOD, imports=2, unfinished=("x",)))
    assert said.why.endswith("that filled the table, as far as these were stored: of x a part is missing")


@pytest.mark.parametrize("at", range(len(SUMS)))
def test_any_other_figure_of_the_table_or_of_a_replica_is_different(at: int) -> None:
    other = [figure + (k == at) for k, figure in enumerate(SUMS)]
    for found in ([("the table", other)], [("the table", SUMS), ("the replicas", other)]):
        said = judge(replace(GOOD, found=found))
        assert said.verdict == "different"
        column = ITEMS[at].get("column", "its rows")
        assert str(column) in said.why
        assert all((name == column) == ("different" in how) for name, how in said.columns.items())


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ({"rows_in_ledger": 99}, "different"),
        ({"rows_in_ledger": 101}, "different"),
        ({"rows_on_replicas": 101}, "different"),
        ({"rows_on_replicas": 99}, "different"),
        ({"rows_on_replicas": 100, "astray": "the copies on b are not those of a: other sums"}, "different"),
        (
            {"rows_on_replicas": 100, "copies_missing": "the copies on b are not those of a: other rows"},
            "different",
        ),
        ({"shards": [("here", 99, 100)]}, "missing"),
        ({"unknown": None}, "counted"),
        ({"unknown": 3}, "different"),
        ({"unknown": 3, "transactional": False}, "different"),
        ({"expected": None, "uncompared": "x"}, "counted"),
        ({"of_client": [*SUMS[:-1], 8]}, "different"),
        ({"of_client": None}, "different"),
        ({"of_ledger": [*SUMS[:-1], 8], "expected": None}, "different"),
        ({"of_ledger": [*SUMS[:-1], 8], "unknown": None}, "different"),
        ({"of_client": None, "of_ledger": None, "expected": None, "uncompared": "x"}, "counted"),
        ({"weak": {"k": "is rewritten"}}, "counted"),
        ({"changed": "a.csv"}, "different"),
    ],
)
def test_whatever_is_not_as_it_should_be_is_not_proven(words: dict[str, Any], verdict: str) -> None:
    assert judge(replace(GOOD, **words)).verdict == verdict


def test_values_that_differ_are_named_before_the_copies_that_do() -> None:
    other = [*SUMS[:-1], SUMS[-1] + 1]
    said = judge(replace(GOOD, rows_on_replicas=100, found=[("the table", other)], astray="the copies on b"))
    assert said.verdict == "different" and "the table's values are not the files'" in said.why
    said = judge(replace(GOOD, rows_on_replicas=100, astray="the copies on b"))
    assert (said.verdict, said.why) == ("different", "the copies on b")


def test_copies_must_be_on_the_shard_after_their_rows() -> None:
    assert proof.astray(["a", "b", "c"], [1, 2, 3], [1, 2, 3], "sums") == ""
    assert proof.astray(["a", "b", "c"], [1, 2, 3], [1, 3, 2], "sums").startswith(
        "the copies on c are not those of b"
    )
    assert "on a are not those of c" in proof.astray(["a", "b", "c"], [1, 2, 3], [1, 2, 4], "sums")


ROWS = {"kind": "sum_rows", "hash": "city_hash64", "columns": ["v", "at"], "unsigned": [], "trimmed": []}


def test_values_in_other_rows_are_different_though_every_column_has_its_sum() -> None:
    whole = replace(
        GOOD, items=(*ITEMS, ROWS), of_client=[*SUMS, 9], of_ledger=[*SUMS, 9], expected=[*SUMS, 9]
    )
    proven = judge(replace(whole, found=[("the table", [*SUMS, 9])]))
    assert proven.verdict == "proven" and "and those of whole rows are equal" in proven.why
    assert "not checked: whether two rows exchanged their values of `v` or `at`" in judge(GOOD).why
    assert "not checked" not in proven.why
    said = judge(replace(whole, found=[("the table", [*SUMS, 9]), ("the replicas", [*SUMS, 8])]))
    assert (said.verdict, said.moved) == ("different", ("the replicas",))
    assert said.why == "values stand in other rows of the replicas than in the files"
    named = proof.with_moved(said, ["at"])
    assert (named.verdict, named.why) == (
        "different",
        "values of `at` stand in other rows of the replicas than in the files",
    )
    assert named.columns == {"v": "sum of hashes", "at": "sum, in other rows: different"}
    assert proof.with_moved(said, []) == said
    # A changed value is no move.
    other = judge(replace(whole, found=[("the table", [*SUMS[:-1], 8, 8])]))
    assert (other.verdict, other.moved) == ("different", ()) and "in `at`" in other.why


def test_columns_that_are_in_no_sum_of_rows_are_named() -> None:
    only = {**ROWS, "columns": ["at", "w"]}
    whole = replace(
        GOOD, items=(*ITEMS, only), of_client=[*SUMS, 9], of_ledger=[*SUMS, 9], expected=[*SUMS, 9]
    )
    said = judge(replace(whole, found=[("the table", [*SUMS, 9])]))
    assert "(not checked: whether two rows exchanged their values of `v`)" in said.why


@pytest.mark.parametrize("transactional", [True, False])
def test_rows_that_no_line_accounts_for_are_said_with_what_to_do(transactional: bool) -> None:
    said = judge(replace(GOOD, unknown=3, transactional=transactional)).why
    assert said.startswith("the table has 3 rows more than the ledger: ") and "--again" in said
    assert ("a chunk was stored twice" in said) is not transactional


def test_what_a_type_rounded_is_counted_and_more_than_that_is_different() -> None:
    weak = {"at": "datetime keeps 0 digits of a second and rounds the others"}
    rounded = [*SUMS[:3], 5_000 + 400_000, 7]
    said = judge(replace(GOOD, weak=weak, found=[("the table", rounded)]))
    assert said.verdict == "counted" and "datetime" in said.why
    assert judge(replace(GOOD, weak=weak)).verdict == "proven"
    by_one = [*SUMS[:3], 5_000 - 1, 7]
    assert judge(replace(GOOD, weak=weak, found=[("the table", by_one)])).verdict == "counted"
    # A replica that is equal says nothing of the table.
    said = judge(replace(GOOD, weak=weak, found=[("the table", rounded), ("the replicas", SUMS)]))
    assert said.verdict == "counted" and "datetime" in said.why
    changed_value = [*SUMS[:4], 8]
    assert judge(replace(GOOD, weak=weak, found=[("the table", changed_value)])).verdict == "different"
    # No rounding makes a NULL.
    items = [*ITEMS[:3], {"kind": "not_null", "column": "at"}, *ITEMS[3:]]
    sums = [*SUMS[:3], 90, *SUMS[3:]]
    of = replace(GOOD, items=items, of_client=sums, of_ledger=sums, expected=sums, weak=weak)
    assert judge(replace(of, found=[("the table", sums)])).verdict == "proven"
    one_more = [*SUMS[:3], 89, *SUMS[3:]]
    assert judge(replace(of, found=[("the table", one_more)])).columns["at"].endswith("different")


def test_another_spelling_is_counted_and_the_same_proven() -> None:
    weak = {"v": "numeric(10,2) is stored in another spelling, or rounded"}
    assert judge(replace(GOOD, weak=weak)).verdict == "proven"
    said = judge(replace(GOOD, weak=weak, found=[("the table", [*SUMS[:2], 1, *SUMS[3:]])]))
    assert (said.verdict, said.columns["v"]) == ("counted", f"not compared: {weak['v']}"), said.why
    # It is no excuse for another column.
    both = judge(replace(GOOD, weak=weak, found=[("the table", [*SUMS[:2], 1, 4_999, 7])]))
    assert both.verdict == "different" and "`v`" not in both.why


@pytest.mark.parametrize(
    ("kind", "engine", "weak"),
    [
        ("datetime", "mysql", True), ("datetime(6)", "mysql", False), ("datetime(3)", "mariadb", True),
        ("timestamp with time zone", "postgresql", False), ("timestamp(3) with time zone", "postgresql", True),
        ("timestamp without time zone", "postgresql", False), ("float(7,4)", "mysql", True), ("float", "mysql", False), ("json", "mysql", True), ("text", "mysql", False),
    ],
)  # fmt: skip
def test_types_that_change_values_are_known(kind: str, engine: str, weak: bool) -> None:
    assert bool(proof.weak_columns({"c": kind}, loading_of(server(engine)), "")) is weak


@pytest.mark.parametrize(
    ("method", "weak"), [("tsv", {"f"}), ("values", {"f"}), ("native", set()), ("rowbinary", set())]
)
def test_floats_that_clickhouse_reads_from_text_may_be_their_neighbours(method: str, weak: set[str]) -> None:
    declared = {"d": "Date", "f": "Float64", "n": "Int64"}
    found = proof.weak_columns(declared, loading_of(server("clickhouse")), method)
    assert {column for column in found if column != "d"} == weak


def test_sums_of_parts_are_those_of_the_whole_and_wrap_as_the_engine_does() -> None:
    assert proof.added(ITEMS, [SUMS, SUMS]) == [200, 180, 0, 10_000, 14]
    assert proof.added(ITEMS, []) == [0] * 5
    text = " ".join(map(str, SUMS))
    assert proof.of_lines(ITEMS, [text, text]) == [200, 180, 0, 10_000, 14]
    assert proof.of_lines(ITEMS, [text, ""]) is None and proof.of_lines(ITEMS, [text, None]) is None
    items = ({"kind": "rows"}, {"kind": "sum_hash", "column": "l", "hash": "read_back"}, {"kind": "sum_low"})
    assert proof.together(items, ["3", None], [9]) == [3, 9, 0]


def test_rows_are_accounted_for_by_the_imports_that_filled_the_table() -> None:
    first, second, third = header("1"), header("2", rows_before=10), header("3", rows_before=15)
    rows = {"1": 10, "2": 5, "3": 7}
    assert proof.unknown_rows([first, second, third], rows, 22) == (0, [first, second, third])
    assert proof.unknown_rows([first, second, third], rows, 25) == (3, None)
    # Rows were deleted between two imports: what is too much is counted from the one that accounts for most.
    assert proof.unknown_rows([first, header("2", rows_before=5)], rows, 18) == (3, None)
    # Emptied, and the third one loaded again: what was before it is gone.
    anew = header("3", rows_before=0)
    assert proof.unknown_rows([first, second, anew], rows, 7) == (0, [anew])
    # Two rows more than those since it was emptied, though fewer than those of all imports.
    assert proof.unknown_rows([first, second, anew], rows, 9) == (2, None)
    # Rows that were there before any import.
    assert proof.unknown_rows([header("1", rows_before=4)], rows, 14) == (0, None)
    # Two that began over an empty table at once.
    assert proof.unknown_rows([first, header("2")], rows, 15) == (0, [first, header("2")])


def test_a_small_part_of_a_large_table_does_not_have_the_whole_summed() -> None:
    many = [header("1"), header("2", rows_before=90)]
    assert proof.worth_summing("2", many, {"1": 90, "2": 10})
    assert not proof.worth_summing("2", many, {"1": 91, "2": 10})
    # Rows from before the table was emptied do not count.
    assert proof.worth_summing("2", [header("1"), header("2")], {"1": 10_000, "2": 10})
    assert not proof.worth_summing("1", [header("1", rows_before=1)], {"1": 10})


def test_a_table_has_at_least_what_was_before_an_import_and_all_since() -> None:
    own = header("2", rows_before=10)
    assert proof.least(own, [header("3")], {"1": 100, "2": 5, "3": 7}) == 22


def test_headers_are_read_as_they_were_written_and_only_those_of_the_table() -> None:
    odd = header("1", names=('it\'s a \\ "file" é.csv',))
    written = [
        (h.load, statement_text(ledger.note_header("l", h)))
        for h in (odd, header("2", table="public.u"), replace(odd, began="2026-01-02", rows_before=3))
    ]
    rows = [*written, (ledger.OWN, "abc")]
    [found] = ledger.headers(rows, "public.ledger", "public.t")
    assert (found.rows_before, found.names, found.items) == (3, odd.names, ITEMS)
    assert "\\" not in written[0][1] and '"' not in written[0][1] and "'" not in written[0][1]


def statement_text(statement: str) -> str:
    return statement.rpartition(", '")[2].removesuffix("')")


def contents(*digests: str) -> list[Content]:
    return [Content(f"{digest}.csv", digest, 10) for digest in digests]


def test_an_import_is_its_content_its_table_and_its_database_alone() -> None:
    base = identity.base_id(contents("a", "b"), "public.t", "db")
    assert base == identity.base_id(contents("b", "a"), "public.t", "db")
    assert base == identity.base_id([c._replace(shown="x") for c in contents("a", "b")], "public.t", "db")
    others = [
        identity.base_id(contents("a"), "public.t", "db"),
        identity.base_id(contents("a", "b"), "public.u", "db"),
        identity.base_id(contents("a", "b"), "public.t", "other"),
    ]
    assert base not in others


def test_files_have_the_numbers_that_they_were_begun_with() -> None:
    own = header("1", files=("a", "b", "a"))
    assert identity.numbers(own, contents("b", "a", "a")) == (1, 0, 2)


def test_two_files_of_one_content_are_refused() -> None:
    identity.refuse_twice(contents("a", "b"))
    with pytest.raises(UsageError, match=r"x\.csv: holds the same as a\.csv"):
        identity.refuse_twice([*contents("a"), Content("x.csv", "a", 10)])


def test_a_file_of_another_import_is_refused_where_that_has_stored_rows() -> None:
    other = header("1", files=("a",), names=("old.csv",), began="2026-11-22T15:00:00.000000")
    identity.refuse_stored(contents("a"), [other], {}, "public.t")
    with pytest.raises(
        UsageError, match=r"a\.csv was stored as old\.csv by import 1 of 2026-11-22 15:00 UTC.*--again"
    ):
        identity.refuse_stored(contents("a", "b"), [other], {"1": 7}, "public.t")
    of_two = header("2", files=("z", "a"), names=("z.csv", "second.csv"))
    with pytest.raises(UsageError, match=r"a\.csv was stored as second\.csv by import 2"):
        identity.refuse_stored(contents("a"), [of_two], {"2": 7}, "public.t")


def test_a_file_of_the_same_name_and_other_content_is_named() -> None:
    other = header("1", files=("a",), names=("day.csv",), began="2026-11-22T15:00:00.000000")
    new = [Content("day.csv", "b", 10)]
    assert "day.csv: import 1 of 2026-11-22 15:00 UTC stored" in identity.namesake(new, [other], {"1": 7})
    assert identity.namesake(new, [other], {}) == ""
    assert identity.namesake([Content("other.csv", "b", 10)], [other], {"1": 7}) == ""


def test_an_import_of_other_shards_is_refused() -> None:
    own = header("1", files=("a",), shards=2)
    identity.check_same(own, contents("a"), [own, replace(own, place=1)])
    for places in ([own], [replace(own, place=1), own], [own, None]):
        with pytest.raises(UsageError, match="--again"):
            identity.check_same(own, contents("a"), places)


def test_a_file_that_changes_under_a_load_is_no_proof(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id\n1\n2\n")
    inputs = open_inputs([str(path)], tmp_path)
    assert changed(inputs) == ""
    path.write_text("id\n1\n2\n3\n")
    assert changed(inputs) == str(path)
    path.unlink()
    assert changed(inputs) == str(path)


def test_a_file_that_was_written_again_with_as_many_bytes_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n")
    inputs = open_inputs([str(path)], tmp_path / "spool")
    assert changed(inputs) == ""
    stat = path.stat()
    path.write_text("a,b\n1,3\n")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert changed(inputs) == str(path)


def test_content_is_one_number(tmp_path: Path) -> None:
    one, other = tmp_path / "a", tmp_path / "b"
    one.write_bytes(b"x" * 1_000_000)
    other.write_bytes(b"x" * 999_999 + b"y")
    assert _core.file_digest(str(one)) != _core.file_digest(str(other))
    other.write_bytes(one.read_bytes())
    assert _core.file_digest(str(one)) == _core.file_digest(str(other))
    assert _core.file_digest(str(one))[1] == 1_000_000


def test_the_last_lines_say_what_was_compared_and_what_it_cost() -> None:
    costs = {
        "digest_s": 0.05, "proof_s": 0.5, "verify_s": 0.0, "sampling_s": 0.2, "storing_s": 1.0, "rest_s": 0.3,
    }  # fmt: skip
    assert cost_line(costs) == (
        "of these sampling took 200 ms, storing 1.00 s, the proof 500 ms, the rest 300 ms (digests of the files 50.0 ms)"
    )
    assert "reading back 2.00 s" in cost_line({**costs, "verify_s": 2.0})
    assert "reading back 4.56 µs" in cost_line({**costs, "verify_s": 4.56e-6})
    done = Loaded(
        "abc", 100, 0, 0, 0, 10, 2.0, 1, (), None, 100, None, "different", "the table's values are not the files' in v",
        {"v": "sum of hashes: different", "w": "sum"}, None, costs,
    )  # fmt: skip
    said = lines(done)
    assert said[1].startswith("NOT PROVEN: the table's values") and "v: sum of hashes: different" in said
    assert not any(line.startswith("w:") for line in said)
    assert (
        not any("not stored twice" in line for line in said)
        and "empty the table and give --again" in said[-1]
    )
    assert "not stored twice" in lines(replace(done, verdict="proven"))[-1]


def test_the_parts_of_a_load_are_its_whole_time() -> None:
    times = Times(["sampling_s", "storing_s", "proof_s"])
    with times.part("sampling_s"):
        time.sleep(0.02)
    with times.part("storing_s"):
        time.sleep(0.03)
    time.sleep(0.01)
    parts, whole_s = times.parts(), times.whole_s
    assert parts["sampling_s"] >= 0.02 and parts["storing_s"] >= 0.03 and parts["rest_s"] >= 0.01
    assert sum(parts.values()) == pytest.approx(whole_s, abs=0.01)
