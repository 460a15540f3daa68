"""The archive on every server here, for docs/findings: `python -m benches.archive.campaign run`, then `tables RESULTS`.

`run` makes one piece after the other, each in minutes: loads and ranges from a server that has a quarter of its table in
memory at most, and the rate of events that one subscriber keeps up with, twice. `tables` prints what a board asks: what
can be inserted at most, what a year weighs, what a million rows of one attribute take to read.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benches.claims.page import markdown
from inrush.analysis.answer import answer
from inrush.analysis.points import Analysis, Point, PointSummary
from inrush.guards.analyse import analyse
from inrush.predict.growth import page_read_s
from inrush.results.store import Results
from inrush.stats.measures import study_record
from inrush.stats.quantity import show, show_known
from inrush.text import number

SERVERS = ("postgresql", "timescaledb", "mysql", "mariadb", "clickhouse")
ROW_STORES = ("postgresql", "timescaledb", "mysql", "mariadb")
#: The kernel ends a group that has more pages to write back than memory: they are written back early.
SMALL = "shared_buffers=64MB,maintenance_work_mem=32MB,max_wal_size=256MB,backend_flush_after=256kB,checkpoint_flush_after=256kB"
#: With so little of a server's own memory a small limit holds it and pages of its files.
SETTINGS = {
    "postgresql": SMALL,
    "timescaledb": SMALL,
    "mysql": "performance_schema=OFF,innodb_buffer_pool_size=64M",
    "mariadb": "innodb_buffer_pool_size=64M",
}
#: Memory of each server with the page cache of its files, and rows that make its table four times as large.
FENCES = {
    "postgresql": ("256M", 10_000_000),
    "timescaledb": ("300M", 12_000_000),
    "mysql": ("384M", 31_000_000),
    "mariadb": ("256M", 21_000_000),
}
#: Attributes of the shipped workload.
MANY = 4_000
#: Of rows by time each attribute has a page that rows go to: 16 MB of these, where a buffer pool has 64 MB.
FEW, SMALL_POOL = 1_000, ("mysql", "mariadb")
#: Rows of a year of the published table: 4,082,099,171 of two years.
ROWS_A_YEAR = 2_041_000_000
#: Of the attribute that has 1.2 % of them.
ROWS_A_MONTH = 4_082_099_171 * 0.012 / 24
ORDERS = ("key", "time")
#: Headings.
STORED = (
    "engine", "rows", "memory", "table", "stored by key", "stored by time", "a year by key, in proportion", "a year by time", "after clustering",
)  # fmt: skip
READ = (
    "engine", "order", "cold", "pages a row", "warm", "pages a row, warm", "clustered, cold", "pages a row, clustered",
    "clustered, warm", "clustering",
)  # fmt: skip
MONTH = (
    "engine", "order", "a month, cold, in proportion", "warm", "cold, clustered", "warm, clustered",
    "clustering a year, in proportion",
)  # fmt: skip
EXPLAINED = (
    "engine", "order", "pages", "time of a page", "cold, by its pages", "cold, measured", "penalty, by pages", "penalty, measured",
)  # fmt: skip


@dataclass(frozen=True)
class Piece:
    """One study on one engine; `turn` counts its repetitions."""

    study: str
    engine: str
    turn: int = 1

    @property
    def name(self) -> str:
        return f"{self.study} {self.engine} {self.turn}"

    def has(self, words: str) -> bool:
        return set(words.split()) <= {self.study, self.engine, str(self.turn)}

    def command(self, data: Path) -> list[str]:
        setting = SETTINGS.get(self.engine)
        started = f"{self.engine},{setting}" if setting else self.engine
        call = [sys.executable, "-m", "inrush.cli", "run", f"archive-{self.study}"]
        call += ["--scale", "s", "--start", started, "--data", str(data)]
        if self.study == "rate":
            return [*call, "--realtime"]
        # Each run is a load of a quarter of an hour: a pilot would be one more.
        changes = ["repeats.count=2", "repeats.pilot=false"]
        if fence := FENCES.get(self.engine):
            memory, rows = fence
            call += ["--limit", f"{self.engine}.memory={memory}"]
            # The same two years, whatever the rows and the attributes.
            attributes = FEW if self.engine in SMALL_POOL else MANY
            changes += [
                f"steps.load.rows.total={rows}",
                f"sizes.period_s={25_228 * 10_000_000 * attributes // (rows * MANY)}",
            ]
            if attributes != MANY:
                changes += [f"sizes.attributes={attributes}", f"sizes.pinned={attributes * 866 // 1_000}"]
        return [*call, *(part for change in changes for part in ("-P", change))]


PIECES = [
    *(Piece("extract", engine) for engine in SERVERS),
    *(Piece("rate", engine, turn) for engine in ROW_STORES for turn in (1, 2)),
]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("run", "tables"))
    parser.add_argument("results", type=Path, nargs="?", default=Path("results"))
    parser.add_argument("--only", action="append", default=[], help="words of pieces: 'mysql', 'rate mysql'")
    parser.add_argument("--data", type=Path, default=Path("/var/tmp/inrush-archive"))
    asked = parser.parse_args()
    if asked.what == "run":
        wanted = [p for p in PIECES if not asked.only or any(p.has(words) for words in asked.only)]
        return max([run(piece, asked.results, asked.data) for piece in wanted], default=2)
    print("\n".join(board(complete(asked.results))))
    return 0


def run(piece: Piece, results: Path, data: Path) -> int:
    print(f"== {piece.name}", flush=True)
    environment = {**os.environ, "INRUSH_RESULTS": str(results.absolute())}
    return subprocess.run(piece.command(data), env=environment, check=False).returncode


def complete(results: Path) -> dict[Piece, Analysis]:
    """Every complete study of the family on one server; those of a rate are counted as they were made."""
    pieces: dict[Piece, Analysis] = {}
    for study in ("extract", "rate"):
        for folder in sorted(results.glob(f"archive-{study}-2*")):
            analysis = analyse(study_record(Results(folder)))
            engines = [e for e in SERVERS if e in analysis.study["engines"]]
            if not analysis.runs or len(engines) != 1:
                continue
            # Of a study that was ended early, what has a run of each order counts.
            if analysis.study["status"] != "done" and not all(
                centre(analysis, "long_cold.rows", o) for o in ORDERS
            ):
                continue
            before = sum(p.study == study and p.engine == engines[0] for p in pieces)
            # Of ranges the last one counts; of rates each one.
            pieces[Piece(study, engines[0], before + 1 if study == "rate" else 1)] = analysis
    return pieces


def board(pieces: Mapping[Piece, Analysis]) -> Iterator[str]:
    extracts = {p.engine: a for p, a in pieces.items() if p.study == "extract"}
    yield markdown(STORED, [stored(engine, analysis) for engine, analysis in extracts.items()])
    yield ""
    yield markdown(
        READ, [read(engine, order, analysis) for engine, analysis in extracts.items() for order in ORDERS]
    )
    yield ""
    yield markdown(
        MONTH, [month(engine, order, analysis) for engine, analysis in extracts.items() for order in ORDERS]
    )
    yield ""
    yield markdown(
        EXPLAINED, [line for engine, analysis in extracts.items() for line in explained(engine, analysis)]
    )
    yield ""
    rates = [(p, a) for p, a in pieces.items() if p.study == "rate"]
    yield markdown(("engine", "turn", "answer"), [knees(piece, analysis) for piece, analysis in rates])


def stored(engine: str, analysis: Analysis) -> list[str]:
    rows = centre(analysis, "load.rows", "key")
    limits = next(iter(analysis.runs)).run.summary.get("limits") or {}
    memory = show(limits["memory"]["held"], "x_bytes") if "memory" in limits else "all"
    sizes = (("load.after_bytes", "key"), ("load.after_bytes", "time"), ("cluster.after_bytes", "time"))
    return [
        engine,
        number(rows) if rows else "–",
        memory,
        cell(analysis, "load.after_bytes", "key"),
        *(cell(analysis, "load.rows_per_s", order) for order in ORDERS),
        *(
            of_one(analysis, size, order, lambda size: show(a_year(size, rows), "x_bytes"))
            for size, order in sizes
        ),
    ]


def a_year(of: float, rows: float | None) -> float:
    """In proportion to its rows: indexes and pages of one size a row. NaN without rows."""
    return of / rows * ROWS_A_YEAR if rows else float("nan")


def read(engine: str, order: str, analysis: Analysis) -> list[str]:
    cells = [engine, order]
    for step in ("long_cold", "long_warm", "clustered_cold"):
        cells += [cell(analysis, f"{step}.rows_per_s", order), cell(analysis, f"{step}.pages_per_row", order)]
    return [
        *cells,
        cell(analysis, "clustered_warm.rows_per_s", order),
        cell(analysis, "cluster.duration_s", order),
    ]


def month(engine: str, order: str, analysis: Analysis) -> list[str]:
    """What a month of one attribute takes to read, in proportion to its rows, and what clustering a year of all takes."""
    steps = ("long_cold", "long_warm", "clustered_cold", "clustered_warm")
    rows = centre(analysis, "load.rows", order)
    return [
        engine,
        order,
        *(
            of_one(analysis, f"{s}.rows_per_s", order, lambda rate: show(ROWS_A_MONTH / rate, "x_s"))
            for s in steps
        ),
        of_one(analysis, "cluster.duration_s", order, lambda took_s: f"{a_year(took_s, rows) / 3600:.1f} h"),
    ]


@dataclass(frozen=True)
class Cold:
    """The long range, cold: centres of the runs."""

    latency_s: float
    pages: float
    #: Of one random page, by the probe of the data's folder and the limits of the server.
    page_s: float
    #: Of the same rows once they lie together and are in memory.
    warm_s: float

    @property
    def by_pages_s(self) -> float:
        return self.warm_s + self.pages * self.page_s


#: Of a cold read that its pages explain.
OF_COLD = (
    "long_cold.latency_p50_s",
    "long_cold.pages_read",
    "clustered_warm.latency_p50_s",
    "long_cold.page_bytes",
)


def explained(engine: str, analysis: Analysis) -> Iterator[list[str]]:
    """What the pages that were read explain of a cold read; the penalty is that of rows by time over rows by key."""
    reads = {order: cold(analysis, order) for order in ORDERS}
    by_key = reads["key"]
    for order, of in reads.items():
        if of is None:
            yield [engine, order, *["–"] * (len(EXPLAINED) - 2)]
            continue
        penalty = ("–", "–")
        if order == "time" and by_key is not None:
            penalty = (f"{of.by_pages_s / by_key.by_pages_s:.1f}", f"{of.latency_s / by_key.latency_s:.1f}")
        invalid = any(is_broken(analysis, figure, order) for figure in OF_COLD)
        measured = show(of.latency_s, "x_s")
        yield [
            engine, order, number(round(of.pages)), show(of.page_s, "x_s"), show(of.by_pages_s, "x_s"),
            f"INVALID {measured}" if invalid else measured, *penalty,
        ]  # fmt: skip


def cold(analysis: Analysis, order: str) -> Cold | None:
    """None where the server counts no pages, the range was not clustered, or no page was probed."""
    latency_s, pages, warm_s, page_bytes = (centre(analysis, figure, order) for figure in OF_COLD)
    if latency_s is None or pages is None or warm_s is None or page_bytes is None:
        return None
    probed = (page_read_s(m.run.env, page_bytes) for m in analysis.runs)
    page_s = next((s for s in probed if s is not None), None)
    return None if page_s is None else Cold(latency_s, pages, page_s, warm_s)


def knees(piece: Piece, analysis: Analysis) -> list[str]:
    decided = answer(analysis)
    sentences = [p.sentence for p in decided.parts] if decided else ["no answer"]
    return [piece.engine, number(piece.turn), "<br>".join(sentences)]


def at(order: str) -> Mapping[str, str]:
    return {"row_order": order}


def cell(analysis: Analysis, figure: str, order: str) -> str:
    """With its interval; INVALID where a guard says so; a dash where no run has it."""
    for summary in of_order(analysis, figure, order):
        return marked(show_known(summary.centre, summary.interval, figure), analysis, figure, order)
    return "–"


def of_one(analysis: Analysis, figure: str, order: str, shown: Callable[[float], str]) -> str:
    """What is made of one figure: INVALID where the figure is."""
    value = centre(analysis, figure, order)
    return "–" if value is None else marked(shown(value), analysis, figure, order)


def centre(analysis: Analysis, figure: str, order: str) -> float | None:
    """Of the runs: their geometric mean, or the one value."""
    return next((s.centre for s in of_order(analysis, figure, order)), None)


def marked(text: str, analysis: Analysis, figure: str, order: str) -> str:
    return f"INVALID {text}" if is_broken(analysis, figure, order) else text


def is_broken(analysis: Analysis, figure: str, order: str) -> bool:
    points = [s.point for s in of_order(analysis, figure, order)]
    return bool(analysis.broken_points(figure, points))


def of_order(analysis: Analysis, figure: str, order: str) -> list[PointSummary]:
    return [s for s in analysis.summaries(figure) if holds(s.point, at(order))]


def holds(point: Point, values: Mapping[str, str]) -> bool:
    return all(dict(point).get(name) == value for name, value in values.items())


if __name__ == "__main__":
    sys.exit(main())
