"""Commands of the documentation's code blocks as a reader types them: which of them there are, and what to put in for what is the reader's own."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from inrush.study.reading import load_study
from tests.pages import Page

#: What a line of a code block begins with where it is typed into a shell.
PROGRAMS = ("inrush", "make", "python", "pip", "cargo", "go", "for", "do")
SERVER = re.compile(r"^(postgresql|mysql|clickhouse|influxdb)://")


@dataclass(frozen=True)
class Typed:
    page: str
    line: int
    words: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.words)

    @property
    def servers(self) -> int:
        """How many servers it names by address, or starts."""
        return sum(
            bool(SERVER.match(word)) or word in ("--start", "COORDINATOR", "FRONT", "--server")
            for word in self.words
        )


def typed(pages: Mapping[str, Page]) -> Iterator[Typed]:
    """Every call in a code block, each text once: a command that stands on two pages is one."""
    seen = set()
    for page in pages.values():
        for line in page.lines():
            first, _, rest = line.text.strip().partition(" ")
            is_setting = rest.startswith("=")  # a step's `do = "load"`
            if (
                line.code
                and first in PROGRAMS
                and first != "inrush"
                and line.text.strip() not in seen
                and not is_setting
            ):
                seen.add(line.text.strip())
                yield Typed(page.path, line.number, tuple(line.text.strip().split()))
        for number, words in page.typed("inrush"):
            call = Typed(page.path, number, ("inrush", *words))
            if str(call) not in seen:
                seen.add(str(call))
                yield call


def without_pilot(named: str) -> list[str]:
    """The words that leave it out, where no rule to stop and no search reads it. named: a shipped study, or a file without either."""
    if named.endswith(".toml"):
        return ["-P", "repeats.pilot=false"]
    study = load_study(named, "xs")
    return [] if study.stop or study.search is not None else ["-P", "repeats.pilot=false"]


#: Study -> fewer of its points, where a page has all of them.
FEWER = {
    "pipeline-filesize": ("file_bytes=[20000, 100000]",),
    "pipeline-parallel": ("pipelines=[1, 2]",),
}


def put_in(words: Sequence[str], own: Mapping[str, str]) -> list[str]:
    """The words after `inrush`, with the reader's own in place of what stands for it. A study runs at scale xs, each point once, without a pilot where it can be.

    own: placeholder -> what is meant; of `/mnt/`, the folder that takes the place of the reader's disks.
    """
    found = [own.get(word, word).replace("/mnt/", own.get("/mnt/", "/mnt/")) for word in words[1:]]
    if found[0] == "run" and "--resume" not in found:
        if "--scale" in found:
            found[found.index("--scale") + 1] = "xs"
        else:
            found += ["--scale", "xs"]
        found = [word for word in found if not word.startswith("repeats.count=")]
        found = [w for w, after in zip(found, [*found[1:], ""], strict=True) if w != "-P" or "=" in after]
        found += ["-P", "repeats.count=1", *without_pilot(found[1])]
        found += [w for change in FEWER.get(found[1], ()) for w in ("-P", change) if change not in found]
    return found


def own_files(folder: Path) -> None:
    """The files that pages speak of, below the reader's folder."""
    rows = "id,at,value\n" + "".join(f"{n},2026-01-01 00:00:{n % 60:02d},{n / 7:.3f}\n" for n in range(300))
    (folder / "my.csv").write_text(rows)
    (folder / "more.csv").write_text(rows.replace("299,", "none,"))
    for name in ("data.csv", "new.csv"):
        (folder / name).write_text(rows)
    (folder / "data.csv.gz").write_bytes(gzip.compress(rows.encode()))
    (folder / "data").mkdir()
    (folder / "data" / "a.csv").write_text(rows)
    (folder / "chunks").mkdir()
    (folder / "chunks" / "a.tsv").write_text(rows.replace(",", "\t"))
    curve = "".join(f"{n},{1000 * n / (1 + 0.05 * (n - 1)):.1f}\n" for n in (1, 2, 3, 4, 6, 8, 12, 16))
    (folder / "curve.csv").write_text("writers,rows_per_s\n" + curve)
    rates = "".join(f"{100 * n},{0.001 / (1 - n / 11):.5f}\n" for n in range(1, 11))
    (folder / "rates.csv").write_text("rate_per_s,latency_s\n" + rates)
