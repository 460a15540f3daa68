"""A file that grew while it was loaded, or since: no row is stored twice, and what is said says how to go on."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from inrush.errors import CoreError, FileChanged, UsageError
from inrush.load import grown
from inrush.load.call import Call
from inrush.load.identity import Content, Start
from inrush.load.ledgers import Ledgers
from inrush.load.process import End
from inrush.load.run import load
from tests.test_load_faults import ROWS, Place, lines, silent
from tests.test_load_rules import header


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def cut_short(place: Place, change: Any) -> tuple[str, int]:
    """A load whose second file is changed while it is read: what was said, and how many rows are stored."""
    message, stored = cut(place, lambda: change(place.files[1]), ROWS + 1)
    assert ROWS < stored < 2 * ROWS
    return message, stored


def cut(place: Place, change: Any, behind: int, **words: Any) -> tuple[str, int]:
    """A load that ends because of a change behind so many rows that are stored."""
    done = []

    def on_event(event: Any) -> None:
        if event.get("role") == "client" and event.get("rows_stored", -1) >= behind and not done:
            done.append(change())

    with pytest.raises(FileChanged) as failed:
        place.load(on_event, bytes_per_s=40_000.0, **words)
    [(stored,)] = place.ask("SELECT count(*) FROM t")
    assert done
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


def test_a_file_that_grew_after_its_last_row_was_read_goes_on_behind_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.files = place.files[:1]
    size = place.files[0].stat().st_size
    # All rows are one chunk, which waits for its turn: the end of the file is only found behind it.
    _, stored = cut(place, lambda: append(place.files[0], ROWS), 0, chunk_rows=20_000)
    assert stored == ROWS
    wait_for, last_words = End.wait_for, list[Any]()

    def heard(self: End, *words: Any) -> Any:
        last_words.append(wait_for(self, *words))
        return last_words[-1]

    monkeypatch.setattr(End, "wait_for", heard)
    again = place.load()
    assert (again.verdict, again.rows_before, again.rows_stored) == ("proven", ROWS, 500)
    (of_client,) = [word for word in last_words if "bytes_before" in word]
    assert (of_client["bytes_before"], of_client["bytes"]) == (size, place.files[0].stat().st_size - size)
    assert counts(place) == (ROWS + 500, ROWS + 500)


def test_a_file_that_grew_before_it_was_begun_goes_on_too(place: Place) -> None:
    _, stored = cut(place, lambda: append(place.files[1]), 1)
    assert stored == ROWS
    again = place.load()
    assert (again.verdict, again.rows_before) == ("proven", ROWS)
    assert counts(place) == (2 * ROWS + 500, 2 * ROWS + 500)


@pytest.mark.parametrize("stop", ["INSERT", "UPDATE"])
def test_a_command_that_ends_while_it_notes_what_the_files_hold_now_is_repeated(
    place: Place, stop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, stored = cut_short(place, append)
    ask = Ledgers.ask

    def dies(self: Ledgers, k: int, statement: str, *more: Any) -> Any:
        if statement.startswith(stop):
            raise KeyboardInterrupt
        return ask(self, k, statement, *more)

    with monkeypatch.context() as patched:
        patched.setattr(Ledgers, "ask", dies)
        try:
            place.load()
        except KeyboardInterrupt:
            pass
        else:
            assert stop == "INSERT"
    done = place.load()
    assert done.verdict == "proven" and done.rows_before >= stored
    assert counts(place) == (2 * ROWS + 500, 2 * ROWS + 500)


def test_an_import_that_went_on_and_one_of_the_old_content_have_two_names(place: Place) -> None:
    old = place.files[1].read_text()
    cut_short(place, append)
    went_on = place.load()
    place.files[1].write_text(old)
    other = place.load(again=True)
    assert other.import_id != went_on.import_id
    assert (other.verdict, other.rows_stored, other.rows_before) == ("proven", 2 * ROWS, 0)


def in_folders(place: Place) -> None:
    """Two files of one name."""
    for n, file in enumerate(place.files):
        (place.folder / f"d={n}").mkdir()
        place.files[n] = file.rename(place.folder / f"d={n}" / "p.tsv")
    place.load()
    append(place.files[0])
    del place.files[1]


def renamed(place: Place) -> None:
    place.load()
    append(place.files[0])
    place.files = [place.files[0].rename(place.folder / "c.tsv")]


def without_last_end(place: Place) -> None:
    place.files[0].write_text(lines(0).rstrip("\n"))
    place.load()
    place.files = place.files[:1]
    place.files[0].write_text(lines(0, ROWS + 500))


@pytest.mark.parametrize("words", [{}, {"import_id": "mine"}])
@pytest.mark.parametrize("grow", [in_folders, renamed, without_last_end])
def test_a_grown_file_is_known_by_what_it_holds(place: Place, grow: Any, words: dict[str, str]) -> None:
    grow(place)
    stored = counts(place)
    with pytest.raises(UsageError, match=rf"grown since import .* stored {ROWS:,} rows of it"):
        place.load(**words)
    assert counts(place) == stored


def test_a_file_of_no_rows_is_the_beginning_of_none() -> None:
    """Of many files one may hold the line of names alone, with which others begin."""
    stored = header("1", files=("a", "b"), names=("a.csv", "b.csv"), sizes=(5, 90))
    new = Content("c.csv", "c", 100, (Start(5, "a", True), Start(90, "x", True)))
    [one] = grown.grown_of([new], [stored])
    assert (one.number, one.before) == (0, 5)
    grown.refuse([one], {("1", 1): 7}, "t", lambda _: "cat")
    with pytest.raises(UsageError, match=r"stored 1 row of it .* would store it twice"):
        grown.refuse([one], {("1", 0): 1}, "t", lambda _: "cat")


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
    assert f"{ROWS:,} rows" in str(refused.value) and counts(place) == (ROWS, ROWS)
    follow(place, str(refused.value))
    assert f"tail -c +{size + 1} " in str(refused.value) and counts(place) == (ROWS + 500, ROWS + 500)


def follow(place: Place, message: str) -> None:
    """Runs the command that a message names."""
    [command] = re.findall(r"`(.* \| inrush load - .*?)`", message)
    bin_dir = Path(sys.executable).parent
    subprocess.run(
        command,
        shell=True,
        check=True,
        cwd=place.folder,
        env={**os.environ, "PATH": f"{bin_dir}:{os.environ['PATH']}"},
    )


@pytest.mark.parametrize("name", ["my rows.tsv", "it's.tsv.gz"])
def test_the_command_for_what_is_new_is_one_that_runs(place: Place, name: str) -> None:
    file = place.folder / name
    place.files = [file]

    def write(rows: int) -> None:
        text = ("id\tname\n" + lines(0, rows)).encode()
        file.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)

    write(ROWS)
    assert place.load().verdict == "proven"
    write(ROWS + 500)
    with pytest.raises(UsageError) as refused:
        place.load()
    follow(place, str(refused.value))
    assert counts(place) == (ROWS + 500, ROWS + 500)


def test_what_may_be_there_twice_stands_among_the_last_lines(place: Place) -> None:
    from inrush.commands.load import lines as last_lines

    place.files = place.files[:1]
    place.load()
    place.files[0].write_text(lines(10, ROWS))
    done = place.load()
    assert any("rows that both files have are there twice" in line for line in last_lines(done))
