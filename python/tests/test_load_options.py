"""Every option of `inrush load` that makes other values of the same files has a say in what an import goes on with."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from inrush.errors import UsageError
from inrush.load import reading
from inrush.load.call import Call
from inrush.load.ledger import Header
from inrush.load.reading import PARTS, OptionEffect
from inrush.study.chosen import Asked, DatesUndecided, read_dates
from inrush.study.date_formats import read_formats
from inrush.study.zones import rules_of

#: One file as a load reads it.
FILE = {"path": "a.csv", "format": "csv", "header": True, "written": {"delimiter": ";", "null": "NA"}}
HASH = {"kind": "hash_partitions"}


def begun(**words: Any) -> Header:
    noted: dict[str, Any] = {
        "files": [FILE],
        "numbers": [0],
        "times": {"day": "dmy"},
        "key": ["id"],
        "rule": HASH,
    }
    made = reading.reading_of(**{**noted, **words})
    return Header(
        load="abc", base="abc", again=0, table="public.t", files=("f",), names=("a.csv",), chunk_rows=500,
        began="2026-11-22T15:00:00.000000", rows_before=0, place=0, shards=1, types={"id": "i64", "day": "time_us"}, reading=made,
    )  # fmt: skip


def test_every_option_has_a_decision() -> None:
    """A new option of `Call` belongs into `PARTS`: do the values that are stored depend on it?"""
    assert set(PARTS) == {field.name for field in dataclasses.fields(Call)}


def test_options_that_are_compared_are_those_that_a_test_below_refuses() -> None:
    assert {name for name, part in PARTS.items() if part is OptionEffect.COMPARED} == {
        "dates",
        "date_formats",
        "timezone",
        "key",
        "rule",
        "written",
    }


@pytest.mark.parametrize(("words", "was"), [("mdy", "dmy"), ("day=mdy", "dmy"), ("text", "dmy")])
def test_another_order_of_dates_is_refused_by_name_with_what_it_was_and_what_to_do(
    words: str, was: str
) -> None:
    asked = Asked(dates=read_dates(words))
    now = {} if words == "text" else {"day": "mdy"}
    for times, undecided in ((now, None), ({}, DatesUndecided("which?"))):
        with pytest.raises(
            UsageError, match=rf"--dates.*day.*2026-11-22 15:00 UTC.*with {was}.*--again"
        ) as refused:
            reading.times_as_begun(times, undecided, asked, begun())
        assert "\n" not in str(refused.value) and not isinstance(refused.value, DatesUndecided)


def test_the_order_that_an_import_was_begun_with_holds_where_none_is_said() -> None:
    own = begun(times={"day": "dmy", "at": "iso"})
    assert reading.times_as_begun({}, DatesUndecided("which?"), Asked(), own) == {"day": "dmy", "at": "iso"}
    assert reading.times_as_begun({"day": "mdy"}, None, Asked(), own) == {"day": "dmy", "at": "iso"}
    same = Asked(dates=read_dates("day=dmy"))
    assert reading.times_as_begun({}, DatesUndecided("at?"), same, own) == {"day": "dmy", "at": "iso"}


def test_another_format_of_dates_or_another_zone_is_refused_with_what_it_was_and_none_goes_on() -> None:
    own = begun(times={"day": "%d.%m.%y"})
    same = Asked(formats=read_formats(["%d.%m.%y"]))
    assert reading.times_as_begun({"day": "%d.%m.%y"}, None, same, own) == {"day": "%d.%m.%y"}
    assert reading.times_as_begun({}, DatesUndecided("which?"), Asked(), own) == {"day": "%d.%m.%y"}
    # Also where another column's dates are undecided, and nothing is known of this one.
    for times, undecided in (({"day": "%m.%d.%y"}, None), ({}, DatesUndecided("which?"))):
        for words in (["%m.%d.%y"], ["day=%m.%d.%y"]):
            with pytest.raises(UsageError, match=r"--date-format: .* as %m\.%d\.%y .*--again"):
                reading.times_as_begun(times, undecided, Asked(formats=read_formats(words)), own)
    in_utc, there = begun(), begun()
    there.reading.update(timezone="Europe/Berlin", zone_rules=rules_of("Europe/Berlin"))
    assert reading.zone_as_begun("UTC", in_utc) == "" and reading.zone_as_begun("+00:00", in_utc) == ""
    assert [reading.zone_as_begun(zone, there) for zone in ("", "Europe/Berlin")] == ["Europe/Berlin"] * 2
    with pytest.raises(UsageError, match=r"--timezone Asia/Tokyo: .* with Europe/Berlin.*--again"):
        reading.zone_as_begun("Asia/Tokyo", there)
    with pytest.raises(UsageError, match=r"--timezone Asia/Tokyo: .* with UTC"):
        reading.zone_as_begun("Asia/Tokyo", in_utc)
    assert reading.zone_as_begun("Asia/Tokyo", reading.begun_with(there, stored=False)) == "Asia/Tokyo"
    there.reading["zone_rules"] = "others"
    with pytest.raises(UsageError, match="other rules of this zone"):
        reading.zone_as_begun("", there)


def test_of_an_import_that_has_stored_nothing_or_noted_nothing_no_order_is_known() -> None:
    fresh = reading.begun_with(begun(), stored=False)
    assert (fresh.reading, fresh.types) == ({}, {})
    asked = Asked(dates=read_dates("mdy"))
    assert reading.times_as_begun({"day": "mdy"}, None, asked, fresh) == {"day": "mdy"}
    with pytest.raises(DatesUndecided):
        reading.times_as_begun({}, DatesUndecided("which?"), asked, fresh)
    assert reading.begun_with(begun(), stored=True) == begun()


def test_files_are_read_as_the_import_was_begun_in_whatever_order_they_are_given() -> None:
    other = {**FILE, "path": "b.csv", "written": {"decimal": ","}}
    own = begun(files=[FILE, other], numbers=[1, 0])
    assert [file["written"] for file in own.reading["files"]] == [other["written"], FILE["written"]]
    now = [{**FILE, "path": "new.csv", "written": {"null": ""}}, other]
    first, second = reading.files_as_begun(now, (1, 0), own)
    assert (first["path"], first["written"]) == ("new.csv", FILE["written"])
    assert second == other
    assert reading.files_as_begun(now, (1, 0), reading.begun_with(own, stored=False)) == tuple(now)


def test_other_marks_are_refused_by_name_and_those_of_its_begin_are_none() -> None:
    own = begun()
    now = [{**FILE, "written": {"delimiter": ";", "decimal": ","}}]
    as_begun = reading.files_as_begun(now, (0,), own)
    reading.refuse_other_marks(["delimiter"], now, as_begun, own)
    with pytest.raises(UsageError, match=r"--decimal: import .* was begun without it.*--again"):
        reading.refuse_other_marks(["delimiter", "decimal"], now, as_begun, own)
    with pytest.raises(UsageError, match=r"--null: import .* was begun with NA"):
        reading.refuse_other_marks(["null"], now, as_begun, own)


@pytest.mark.parametrize(
    "words",
    [
        {"key": ["day"]},
        {"key": []},
        {"rule": {"kind": "distributed", "hash": "int_hash64", "weights": [1, 2]}},
    ],
)
def test_another_placing_of_rows_is_refused(words: dict[str, Any]) -> None:
    reading.refuse_other_places(begun().reading, begun())
    with pytest.raises(UsageError, match=r"(--key|rule).*begun with.*--again"):
        reading.refuse_other_places(begun(**words).reading, begun())


def test_a_table_that_got_or_lost_a_column_of_the_files_is_refused() -> None:
    reading.refuse_other_columns(["day", "id"], begun())
    reading.refuse_other_columns(["id", "day"], begun(files=[{**FILE, "header": False}]))
    with pytest.raises(UsageError, match="now they are day, id"):
        reading.refuse_other_columns(["day", "id"], begun(files=[{**FILE, "header": False}]))
    for columns in (["id"], ["id", "day", "v"]):
        with pytest.raises(UsageError, match=r"begun with the columns id, day, and now they are id.*--again"):
            reading.refuse_other_columns(columns, begun())


@pytest.mark.parametrize(
    ("words", "zone", "times", "said"),
    [
        (
            "mdy",
            "",
            {"day": "iso"},
            "--dates: no column has dates that are written as month/day/year; --date-format",
        ),
        ("day=dmy", "", {"day": "iso"}, "--dates: column day has none that are written as day/month/year"),
        (None, "CET", {}, "--timezone CET: no column has times of day"),
        (None, "CET", {"day": "iso"}, "--timezone CET: no column has times of day"),
        ("dmy", "", {"day": "dmy"}, ""),
        ("text", "CET", {"day": "iso", "at": "%d.%m.%y %H:%M"}, ""),
    ],
)
def test_what_no_column_is_read_by_is_said(
    words: str | None, zone: str, times: dict[str, str], said: str
) -> None:
    types = {"id": "i64", "day": "date", "at": "time_ms"}
    found = reading.unused_lines(Asked(dates=read_dates(words)), zone, types, times)
    assert len(found) == (1 if said else 0) and "".join(found).startswith(said)
