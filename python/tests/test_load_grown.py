"""A file that grew while it was loaded, or since: no row is stored twice, and what is said says how to go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inrush.errors import CoreError, UsageError
from inrush.load.call import Call
from inrush.load.run import load
from tests.test_load_faults import ROWS, Place, lines, silent


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def cut_short(place: Place, change: Any) -> tuple[str, int]:
    """A load whose second file is changed while it is read: what was said, and how many rows are stored."""
    last, done = place.files[1], []

    def on_event(event: Any) -> None:
        if event.get("role") == "client" and event.get("rows_stored", 0) > ROWS and not done:
            done.append(change(last))

    with pytest.raises(CoreError) as failed:
        place.load(on_event, bytes_per_s=40_000.0)
    [(stored,)] = place.ask("SELECT count(*) FROM t")
    assert done and ROWS < stored < 2 * ROWS
    return str(failed.value), stored


def append(file: Path, first: int = 2 * ROWS, rows: int = 500) -> None:
    with file.open("a") as out:
        out.write(lines(first, rows))


def counts(place: Place) -> tuple[int, int]:
    """Rows, and different ones."""
    [found] = place.ask("SELECT count(*), count(DISTINCT id) FROM t")
    return found


def test_a_file_that_grew_while_it_was_loaded_goes_on_behind_the_rows_that_are_stored(place: Place) -> None:
    message, stored = cut_short(place, append)
    assert f"{stored:,} rows of this import are in table" in message and "the same command goes on" in message
    notes: list[str] = []
    again = load(
        Call(tuple(map(str, place.files)), "t", f"sqlite:///{place.folder}/t.db"),
        place.folder / "loads",
        notes.append,
        silent,
    )
    assert (again.verdict, again.rows_before, again.rows_stored) == (
        "proven",
        stored,
        2 * ROWS + 500 - stored,
    )
    assert counts(place) == (2 * ROWS + 500, 2 * ROWS + 500)
    assert any("goes on" in note and f"{stored:,} rows that are stored stay" in note for note in notes)
    # It is known by what it holds now.
    third = place.load()
    assert (third.verdict, third.rows_stored, third.rows_before) == ("proven", 0, 2 * ROWS + 500)
    assert third.import_id == again.import_id


def test_a_file_that_grows_once_more_while_it_goes_on_goes_on_again(place: Place) -> None:
    cut_short(place, append)
    first, done = place.files[1], []

    def on_event(event: Any) -> None:
        if event.get("role") == "client" and event.get("rows_stored", 0) > 100 and not done:
            done.append(append(first, 2 * ROWS + 500))

    with pytest.raises(CoreError):
        place.load(on_event, bytes_per_s=40_000.0)
    assert done and place.load().verdict == "proven"
    assert counts(place) == (2 * ROWS + 1_000, 2 * ROWS + 1_000)


def rewritten(file: Path) -> None:
    file.write_text(file.read_text().replace("name", "eman"))


def unended(file: Path) -> None:
    """Its last line, which had no end, is another one now."""
    with file.open("a") as out:
        out.write("0\n")


@pytest.mark.parametrize("change", [rewritten, unended])
def test_a_file_with_another_beginning_is_refused_with_the_rows_and_the_ways_out(
    place: Place, change: Any
) -> None:
    if change is unended:
        place.files[1].write_text(lines(ROWS).rstrip("\n"))
    _, stored = cut_short(place, change)
    with pytest.raises(UsageError) as refused:
        place.load()
    message = str(refused.value)
    assert f"{stored:,} of its rows" in message and "To remove them" in message and "to keep them" in message
    assert counts(place) == (stored, stored) and "\n" not in message
    place.ask("SELECT 1")
    assert place.load(again=True).rows_stored == 2 * ROWS


def test_a_file_that_grew_since_it_was_loaded_is_refused_with_the_command_for_what_is_new(
    place: Place,
) -> None:
    place.files = place.files[:1]
    assert place.load().verdict == "proven"
    size = place.files[0].stat().st_size
    append(place.files[0])
    with pytest.raises(UsageError) as refused:
        place.load()
    assert f"`tail -c +{size + 1} {place.files[0]} | inrush load -`" in str(refused.value)
    assert f"{ROWS:,} rows" in str(refused.value) and counts(place) == (ROWS, ROWS)


def test_what_may_be_there_twice_stands_among_the_last_lines(place: Place) -> None:
    from inrush.commands.load import lines as last_lines

    place.files = place.files[:1]
    place.load()
    place.files[0].write_text(lines(10, ROWS))
    done = place.load()
    assert any("rows that both files have are there twice" in line for line in last_lines(done))
