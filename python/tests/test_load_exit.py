"""What `inrush load` ends with: rejected rows are no success unless the command line took them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from inrush.cli import main
from inrush.load.rejects import reasons_of
from inrush.load.resumed import Resumed


def run(words: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("sys.argv", ["inrush", "load", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("INRUSH_RESULTS", str(tmp_path / "results"))
    return ["--into", f"duckdb://{tmp_path}/t.duckdb", "--table", "t", "--create"]


def test_a_load_that_stores_nothing_is_not_proven(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"id,name\n" + b"".join(b"%d,M\xfcller\n" % i for i in range(200)))
    assert run([str(file), *words], monkeypatch) == 1
    shown = capsys.readouterr().out
    assert (
        f"nothing stored: 200 of 200 rows rejected, the first: {file}, line 2: column name: not UTF-8"
        in shown
    )
    assert "proven" not in shown
    assert "200 rows rejected (all of them for column name: not UTF-8" in shown
    # The same again stores nothing either.
    assert run([str(file), *words, "--json"], monkeypatch) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["verdict"], document["proven"]) == ("nothing", False)
    assert run([str(file), *words, "--reject-limit", "200"], monkeypatch) == 0
    assert "proven" not in capsys.readouterr().out


def test_rejected_rows_are_exit_code_1_with_their_main_reason_and_0_within_a_limit_that_is_said(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.csv"
    lines = [f"{i},{i}" for i in range(300)]
    lines[10:13] = ["10", "11,n/a", "12,n/a"]
    file.write_text("\n".join(["id,v", *lines]) + "\n")
    assert run([str(file), *words, "--strict"], monkeypatch) == 1
    shown = capsys.readouterr().out
    assert "proven: " in shown
    assert (
        "3 rows rejected (most of them, 2, for column v: not an integer), each with line and reason" in shown
    )
    assert run([str(file), *words, "--strict", "--again", "--reject-limit", "3"], monkeypatch) == 0


def test_a_reject_file_has_the_bytes_of_its_rows(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = [b"0,M\xfcller", b'1,"\xff,\xfe"', b"2,a\xe9"]
    file = tmp_path / "a.csv"
    file.write_bytes(b"\n".join([b"id,name", *(b"%d,x" % i for i in range(3, 200)), *bad]) + b"\n")
    assert run([str(file), *words, "--json"], monkeypatch) == 1
    rejects = Path(json.loads(capsys.readouterr().out)["rejects"])
    with rejects.open(newline="", encoding="latin-1") as found:
        assert [row["text"].encode("latin-1") for row in csv.DictReader(found)] == bad
    assert reasons_of(rejects).first.endswith("line 199: column name: not UTF-8")


def test_the_most_frequent_reason_of_rejected_rows_is_most_of_them_only_above_half(tmp_path: Path) -> None:
    def said(*reasons: str) -> str:
        file = tmp_path / "rejects.csv"
        lines = [f"a.csv,{k},v,{why},1" for k, why in enumerate(reasons)]
        file.write_text("\n".join(["file,line,column,reason,text", *lines]) + "\n")
        return reasons_of(file).most

    assert said("odd", "odd") == "all of them for column v: odd"
    assert said("odd", "odd", "even") == "most of them, 2, for column v: odd"
    assert said("odd", "even") == "1 of them for column v: odd"


def test_a_load_without_a_rejected_row_is_exit_code_0(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.csv").write_text("id,v\n1,2\n")
    assert run([str(tmp_path / "a.csv"), *words], monkeypatch) == 0


def test_a_quiet_load_says_its_last_lines_alone(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.csv"
    file.write_text("id,name\n1,a\n2,b\n")
    assert run([str(file), *words, "--quiet"], monkeypatch) == 0
    said = capsys.readouterr()
    assert said.err == "" and said.out.startswith("2 rows stored in ")
    assert run([str(file), *words, "--again", "-q"], monkeypatch) == 0
    assert capsys.readouterr().err == ""


def test_a_finished_load_that_is_repeated_is_complete_and_one_that_was_cut_goes_on(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.csv"
    file.write_text("id,v\n" + "".join(f"{i},2\n" for i in range(2_000)))
    assert run([str(file), *words], monkeypatch) == 0
    assert "import" not in capsys.readouterr().err
    assert run([str(file), *words], monkeypatch) == 0
    said = capsys.readouterr().err
    assert "is complete, with 2,000 rows; nothing to load" in said and "goes on" not in said


def test_an_import_goes_on_with_the_first_row_that_is_stored() -> None:
    notes: list[str] = []
    before = Resumed(notes.append, "f00", 20_000)
    seen: list[dict[str, Any]] = []
    event = before.watched(seen.append)
    event({"event": "progress", "role": "client", "rows_stored": 0})
    assert notes == []
    for _ in range(2):
        event({"event": "progress", "role": "client", "rows_stored": 5})
    before.end(5)
    assert notes == ["import f00 goes on: 20,000 rows are stored already"] and len(seen) == 3


def test_a_load_beyond_its_limit_of_rejects_says_what_stays_stored(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.csv"
    file.write_text("id,v\n" + "".join(f"{i},{i if i % 100 else 'x'}\n" for i in range(2_000)))
    assert run([str(file), *words, "--strict", "--reject-limit", "5"], monkeypatch) == 1
    (said,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("inrush: ")]
    assert said.startswith(
        f"inrush: 6 rows rejected, more than --reject-limit 5 takes; the last is {file}, line 502, column v: not an integer; "
    )
    assert said.endswith(
        "rows that were stored by then stay stored, and the same command with a higher limit goes on"
    )
    # As it says.
    assert run([str(file), *words, "--reject-limit", "50"], monkeypatch) == 0
    assert "1,980 rows stored" in capsys.readouterr().out


def test_a_proof_may_count_rows_alone_and_be_made_later(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.csv"
    file.write_text("id,v\n" + "".join(f"{i},{i * 7}\n" for i in range(1_000)))

    def verdict(*more: str) -> tuple[int, str, str]:
        code = run([str(file), *words, "--json", *more], monkeypatch)
        found = json.loads(capsys.readouterr().out)
        return code, found["verdict"], found["why"]

    left_out = "--proof count left the sums of columns out; the same command without it compares them"
    assert verdict("--proof", "count") == (0, "counted", left_out)
    assert verdict()[:2] == (0, "proven")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as table:
        table.execute("UPDATE t SET v = v + 1 WHERE id = 3")
    # What is counted alone is not seen to have other values, and a row that is gone is.
    assert verdict("--proof", "count")[:2] == (0, "counted")
    assert verdict()[:2] == (3, "different")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as table:
        table.execute("DELETE FROM t WHERE id = 3")
    assert run([str(file), *words, "--proof", "count"], monkeypatch) != 0
    assert "999 rows" in "".join(capsys.readouterr())
    assert run([str(file), *words, "--proof", "count", "--verify"], monkeypatch) == 2
    assert "--proof count: --verify compares every row" in capsys.readouterr().err
