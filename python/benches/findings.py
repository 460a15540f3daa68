"""The telemetry family on every engine here, for docs/findings/telemetry.md: `python -m benches.findings run`, then `tables`.

`run` makes one study after the other on one engine after the other, each in a few minutes: the published values and
some around them, at the scale of a small machine. `tables RESULTS` prints two tables in Markdown: the verdict on each
published claim (*Claims* of the page), and the answer of each study (*Answers*). `benches.pictures` draws the studies.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from inrush.analysis.answer import answer
from inrush.analysis.claims import Judged, judged_claims
from inrush.analysis.points import Analysis
from inrush.analysis.stored import header, stored_points, stored_rows
from inrush.guards.analyse import analyse
from inrush.results.store import Results
from inrush.stats.measures import study_record

#: The engines of the published comparison, and those beside it.
PUBLISHED = ("clickhouse", "mysql", "influxdb")
BESIDE = ("postgresql", "mariadb", "timescaledb", "duckdb", "sqlite")
EMBEDDED = ("duckdb", "sqlite")
#: Four servers with logs of 4 GB each are too much for a small disk. No study here writes as much as one log holds.
SETTINGS = {"mysql": "innodb_redo_log_capacity=1073741824", "mariadb": "innodb_log_file_size=1073741824"}
TABLES = ("port_data_counters", "port_errors", "mpi_process_info")
SAME = ("repeats.count=3",)
#: The alert over twelve counters of every port takes InfluxQL 1.6 two minutes with 2,000 ports, and more beside writers.
FEWER_PORTS = ("ports=200", "processes=448")
#: The published comparison's largest point, at its size: 32 writers and 32 users on each of three tables.
LARGEST = "largest"
#: Studies with a rate: the client must be on time although the server keeps both cores busy.
PACED = ("keepup", "sustained", "mixed", LARGEST)
#: MariaDB's 16 connections that wait for one another keep both cores busy: for seconds no other process ran.
STARVED = (("writers", "mariadb"),)
#: Studies with tables large enough for bytes a row to mean something.
STORED = ("keepup", "indexes", "volume")
#: Engines whose tables have one order.
WITHOUT_INDEXES = ("influxdb",)


EVERY_TABLE = ", ".join(f'"{name}"' for name in TABLES)
ALL = f'combination=[{{ name = "all", write = [{EVERY_TABLE}], read = [{EVERY_TABLE}], fresh = 1 }}]'

#: Study -> what is changed of its scale `s`.
STUDIES: Mapping[str, tuple[str, ...]] = {
    "batch": ("batch_rows=[1000,5000,25000,30000]", "repeats.confirm=0"),
    "writers": ("writers=[1,2,4,16]",),
    "keepup": ("ports=50000", "readers=[0,4]", "roles.writers.batch_rows=12500"),
    # Each a third more than the last; those beyond what two cores store would only take minutes to fail.
    "sustained": (
        "rows_per_s=[21000,28000,38000,50000,67000,90000,120000,160000,213000,284000,380000,506000]",
        "readers=[0,4]",
    ),
    "mixed": ("n=[1,8]",),
    "volume": (),
    "indexes": ("repeats.confirm=0",),
    LARGEST: (ALL, "n=[1,32]", "roles.writers.rows.per_session=50000"),
}
#: Where the usual size takes minutes a run: InfluxDB's pages and its rows of MPI processes.
OWN = {
    ("mixed", "influxdb"): ("n=[1,2]",),
    ("batch", "influxdb"): (f'table=["{TABLES[0]}", "{TABLES[1]}"]',),
    ("volume", "influxdb"): (f'table=["{TABLES[0]}", "{TABLES[1]}"]',),
    ("sustained", "influxdb"): ("rows_per_s=[2000,4000,8000,12000,16000,21000,28000,38000]", "readers=[0]"),
}


@dataclass(frozen=True)
class Piece:
    """One study on one engine."""

    study: str
    engine: str

    @property
    def name(self) -> str:
        return f"{self.study} {self.engine}"

    def has(self, words: str) -> bool:
        return set(words.split()) <= {self.study, self.engine}

    def command(self, data: Path) -> list[str]:
        changed = (*STUDIES[self.study], *OWN.get((self.study, self.engine), ()), *SAME)
        if self.engine == "influxdb" and self.study not in ("keepup", "sustained"):
            changed = (*changed, *FEWER_PORTS)
        setting = SETTINGS.get(self.engine)
        started = f"{self.engine},{setting}" if setting else self.engine
        own = [] if self.engine in EMBEDDED else ["--start", started, "--data", str(data)]
        own += ["--realtime"] if own and (self.study in PACED or (self.study, self.engine) in STARVED) else []
        parts = [part for change in changed for part in ("-P", change)]
        study = f"telemetry-{'mixed' if self.study == LARGEST else self.study}"
        return [sys.executable, "-m", "inrush.cli", "run", study, self.engine, *own, "--scale", "s", *parts]


def made(study: str, engine: str) -> bool:
    if study == LARGEST:
        return engine == "clickhouse"
    return not (study == "indexes" and engine in WITHOUT_INDEXES)


#: Published engines first: where time runs out, the others are missing.
PIECES = [
    Piece(study, engine)
    for group in (PUBLISHED, BESIDE)
    for engine in group
    for study in STUDIES
    if made(study, engine)
]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("run", "tables"))
    parser.add_argument("results", type=Path, nargs="?", default=Path("results"))
    parser.add_argument(
        "--only", action="append", default=[], help="words of pieces: 'mysql', 'batch mysql'; all"
    )
    parser.add_argument("--data", type=Path, default=Path("/var/tmp/inrush-findings"))
    asked = parser.parse_args()
    if asked.what == "run":
        wanted = [p for p in PIECES if not asked.only or any(p.has(words) for words in asked.only)]
        return max([run(piece, asked.results, asked.data) for piece in wanted], default=2)
    print("\n".join(written(latest(asked.results))))
    return 0


def run(piece: Piece, results: Path, data: Path) -> int:
    print(f"== {piece.name}", flush=True)
    environment = {**os.environ, "INRUSH_RESULTS": str(results.absolute())}
    return subprocess.run(piece.command(data), env=environment, check=False).returncode


def latest(results: Path) -> dict[Piece, Analysis]:
    """The last complete run of each piece."""
    found = dict(complete(results))
    return {piece: found[piece] for piece in PIECES if piece in found}


def complete(results: Path) -> Iterator[tuple[Piece, Analysis]]:
    """Every complete study of the family on one engine, oldest first; those that are no piece too."""
    for folder in sorted(results.glob("telemetry-*")):
        analysis = analyse(study_record(Results(folder)))
        engines = [e for e in (*PUBLISHED, *BESIDE) if e in analysis.study["engines"]]
        study = str(analysis.study["name"]).removeprefix("telemetry-")
        study = LARGEST if study == "mixed" and 32 in analysis.factors.get("n", ()) else study
        if analysis.runs and len(engines) == 1 and analysis.study["status"] == "done":
            yield Piece(study, engines[0]), analysis


def written(found: Mapping[Piece, Analysis]) -> Iterator[str]:
    """Markdown: the tables Claims and Answers, study by study, then the bytes stored by each piece."""
    found = dict(sorted(found.items(), key=lambda item: list(STUDIES).index(item[0].study)))
    yield "| claim | engine | published | here | measured |"
    yield "|---|---|---|---|---|"
    for piece, analysis in found.items():
        # A study file has claims about engines that this piece did not run: they are judged with their own piece.
        for claim in judged_claims(analysis):
            if claim.engine in (piece.engine, "all"):
                yield row(piece, claim)
    yield ""
    yield "| study | engine | answer | runs |"
    yield "|---|---|---|---|"
    for piece, analysis in found.items():
        found_here = answer(analysis)
        texts: Sequence[str] = [p.sentence for p in found_here.parts] if found_here else ["no answer"]
        counted = sum(m.counts for m in analysis.runs)
        yield f"| {piece.study} | {piece.engine} | {'<br>'.join(texts)} | {counted} of {len(analysis.runs)} |"
    for piece, analysis in found.items():
        if points := stored_points(analysis) if piece.study in STORED else []:
            names = [name.removeprefix("#") for name in header(points)]
            yield from (
                "",
                f"Bytes stored, {piece.name}:",
                "",
                f"| {' | '.join(names)} |",
                "|---" * len(names) + "|",
            )
            yield from (f"| {' | '.join(cells)} |" for cells in stored_rows(points))


def row(piece: Piece, claim: Judged) -> str:
    value = f"{claim.value:,g} {claim.unit}"
    return f"| {claim.claim} | {piece.engine} | {value} | {claim.status.value} | {claim.because} |"


if __name__ == "__main__":
    sys.exit(main())
