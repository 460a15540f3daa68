"""The picture in README.md is of a report as it is today: what it says of its page is compared with a page made now."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from benches.report_picture import HEIGHT, PICTURE, WIDTH, chunk, headings, main, text_of, with_text
from inrush import report
from inrush.report.report import write_report
from tests import synthetic

SOURCE = "".join(p.read_text(encoding="utf-8") for p in Path(report.__file__).parent.glob("*.py"))
#: Parts that every page of a study has.
ALWAYS = {"Figures", "Every point", "Machine", "Order of runs", "Reproduce"}


def test_the_picture_is_of_the_first_study_and_has_the_parts_of_todays_page(tmp_path: Path) -> None:
    """It was of another report for eight days."""
    said = text_of(PICTURE.read_bytes())
    assert said["study"] == "telemetry-quickstart" and shlex.split(said["command"])[:3] == [
        "inrush",
        "run",
        "quickstart",
    ]
    assert [name for name in said["headings"] if f'"{name}"' not in SOURCE] == [], "make it again"
    page = tmp_path / "report.html"
    write_report(synthetic.study({("duckdb", 100): 2.0, ("duckdb", 200): 1.0}), page)
    today = headings(page.read_text(encoding="utf-8"))
    both = set(today) & set(said["headings"])
    assert both >= ALWAYS
    assert [n for n in today if n in both] == [n for n in said["headings"] if n in both]


def test_a_picture_keeps_its_size_and_tells_what_was_put_into_it() -> None:
    picture = PICTURE.read_bytes()
    assert int.from_bytes(picture[16:20], "big") == WIDTH and int.from_bytes(picture[20:24], "big") == HEIGHT
    bare = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", bytes(13)) + chunk(b"IEND", b"")
    with pytest.raises(ValueError, match="no text of inrush"):
        text_of(bare)
    assert text_of(with_text(bare, {"headings": ["Ä", "b"]})) == {"headings": ["Ä", "b"]}
    assert headings("<h2 class='x'>One &amp; <i>two</i>\n</h2><script type=\"module\"><h2>no</h2>") == [
        "One & two"
    ]


def test_without_a_browser_the_command_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(SystemExit):
        main(["quickstart"])
    assert "apt-get install chromium" in capsys.readouterr().err
