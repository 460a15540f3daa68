"""The picture of a report in README.md: `python -m benches.report_picture RESULTS`, of results of `inrush run quickstart`.

The page is written again and opened in Chromium without a window. What it says (study, command, date, headings) goes
into the picture as text: a test compares it with what the report of today has.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from html import unescape
from pathlib import Path
from typing import Any

PICTURE = Path(__file__).parents[2] / "docs" / "report.png"
SIGNATURE = b"\x89PNG\r\n\x1a\n"
#: Pixels: a page of a laptop's width, down to below its first charts.
WIDTH, HEIGHT = 1200, 1855
#: Milliseconds that the page's own clock has for drawing its charts.
DRAWING_MS = 20_000
#: Keyword of the text in the picture.
KEY = b"inrush"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", help="path, id or study, as `inrush show` takes it")
    parser.add_argument("--out", type=Path, default=PICTURE)
    asked = parser.parse_args(arguments)
    chromium = shutil.which("chromium")
    if chromium is None:
        parser.error("chromium is not here: apt-get install chromium")
    from inrush.report.report import write_report
    from inrush.results.store import Store

    found = Store().find(asked.results)
    study = json.loads((found.path / "study.json").read_text(encoding="utf-8"))
    write_report(found, found.report_path)
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "shot.png"
        subprocess.run(
            [
                chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                f"--user-data-dir={folder}/profile", f"--window-size={WIDTH},{HEIGHT}",
                f"--virtual-time-budget={DRAWING_MS}", f"--screenshot={shot}", found.report_path.resolve().as_uri(),
            ],
            check=True,
            capture_output=True,
        )  # fmt: skip
        page = found.report_path.read_text(encoding="utf-8")
        asked.out.write_bytes(with_text(shot.read_bytes(), described(study, page)))
    print(f"{asked.out}: {', '.join(headings(page))}")
    return 0


def described(study: dict[str, Any], page: str) -> dict[str, Any]:
    return {
        "study": study["name"],
        "command": study["command"],
        "begun_unix_ns": study["begun_unix_ns"],
        "headings": headings(page),
    }


def headings(page: str) -> list[str]:
    """What stands above the parts of a page, in their order."""
    body = page.split('<script type="module">')[0]
    return [
        " ".join(unescape(re.sub(r"<[^>]*>", "", text)).split())
        for text in re.findall(r"<h2[^>]*>(.*?)</h2>", body, re.S)
    ]


# PNG


def with_text(picture: bytes, said: dict[str, Any]) -> bytes:
    """The same picture with a chunk of text behind its header."""
    end = len(SIGNATURE) + 25  # the header: a length, a name, 13 bytes, a checksum
    return picture[:end] + chunk(b"tEXt", KEY + b"\0" + json.dumps(said).encode("ascii")) + picture[end:]


def text_of(picture: bytes) -> dict[str, Any]:
    """What `with_text` has put there. Raises ValueError where it has not."""
    at = len(SIGNATURE)
    while at < len(picture):
        (length,) = struct.unpack(">I", picture[at : at + 4])
        name, body = picture[at + 4 : at + 8], picture[at + 8 : at + 8 + length]
        if name == b"tEXt" and body.startswith(KEY + b"\0"):
            found: dict[str, Any] = json.loads(body[len(KEY) + 1 :])
            return found
        at += 12 + length
    raise ValueError("no text of inrush: make the picture by `python -m benches.report_picture RESULTS`")


def chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


if __name__ == "__main__":
    sys.exit(main())
