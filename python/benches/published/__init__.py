"""Figures that others published, as cases: fit the small end, claim the large end, and say how wrong that was.

Figures are facts; each file names its source. The rule that chooses between laws (`model.curve`, `model.capacity`) knows
nothing of these cases: it is applied to their small ends as to any curve.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from importlib import resources

import numpy as np

from benches.published.sizes import fit_size_cost
from benches.published.storage import fit_extraction
from inrush.model.curve import curve, forecast
from inrush.model.decomposition import Decomposed, Units, alike, decompose, units
from inrush.model.forecast import Forecast
from inrush.model.outgrown import Shape, joined, shape
from inrush.model.scaling import Usl
from inrush.model.score import Score, score

#: Curve -> loads that it is fitted to; all larger ones are claimed.
SMALL_ENDS: dict[str, tuple[str, tuple[float, ...]]] = {
    "mysql_cluster_data_nodes": ("MySQL Cluster, data nodes", (2, 4, 8)),
    "mysql_cluster_api_machines": ("MySQL Cluster, API machines", (1, 3, 15)),
    "spec_sdm91": ("SPEC SDM91, users", (1, 18, 36)),
    "mysql_cisco": ("MySQL on Cisco, threads", (1, 2, 3, 4, 5, 6, 7, 8)),
}
#: Claims shown of a long curve.
SHOWN: dict[str, tuple[float, ...]] = {"mysql_cisco": (12, 16, 24, 32)}


def table(name: str) -> list[dict[str, str]]:
    """A published table: rows of text by column."""
    text = resources.files(__package__).joinpath(f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


def source(name: str) -> str:
    """Where a table comes from, in a line."""
    text = resources.files(__package__).joinpath(f"{name}.csv").read_text(encoding="utf-8")
    return " ".join(line.removeprefix("#").strip() for line in text.splitlines() if line.startswith("#"))


@dataclass(frozen=True)
class CurveCase:
    """A claim about a published curve, and its score."""

    name: str
    small: tuple[float, ...]
    made: Forecast
    score: Score

    def error_of(self, baseline: str) -> float:
        """|observed - claimed| / observed of a simpler claim."""
        return abs(self.score.observed - self.made.baselines[baseline]) / self.score.observed


def curve_cases() -> list[CurveCase]:
    found = []
    for key, (name, small) in SMALL_ENDS.items():
        points = {float(r["load"]): float(r["rate"]) for r in table("curves") if r["curve"] == key}
        of = curve(list(small), [points[x] for x in small])
        for x in SHOWN.get(key, tuple(x for x in sorted(points) if x > max(small))):
            made = forecast(of, x)
            found.append(CurveCase(name, small, made, scored(made, points[x])))
    return found


def scored(made: Forecast, observed: float) -> Score:
    return score(observed, made.median, made.lo, made.hi, made.level, made.baselines)


#: Of an interval, and of the MB of its rate.
INTERVAL_S, MB = 1800.0, 1e6


@dataclass(frozen=True)
class Series:
    """A published load, taken apart as a user's is (`model.decomposition`, `model.outgrown`)."""

    storage: str
    of: Units
    found: Decomposed
    #: As if only the size of its files counted.
    by_size: Decomposed
    #: Largest error of files a second: of a constant, and of the cost by file size.
    constant_error: float
    size_error: float
    #: Fitted to the first third alone: median error of files a second in the rest, and of the constant of that third.
    ahead_error: float
    ahead_constant_error: float
    #: Of bytes a second, and of files a second.
    shape: Shape
    files_shape: Shape


def published_series() -> list[Series]:
    return [decomposed(storage, of) for storage, of in published_units().items()]


def published_units() -> dict[str, Units]:
    """Storage -> its intervals. The last one is cut short and left out; so is the first where the load began inside of it."""
    found = {}
    rows = table("intervals")
    for storage in dict.fromkeys(r["storage"] for r in rows):
        mine = [r for r in rows if r["storage"] == storage][:-1]
        files, rate = (np.array([float(r[k]) for r in mine]) for k in ("files", "input_mb_per_s"))
        if rate[0] < 0.75 * rate[1]:
            files, rate = files[1:], rate[1:]
        sizes = rate * INTERVAL_S * MB
        seconds = np.full(len(files), INTERVAL_S)
        found[storage] = units(seconds, sizes, np.cumsum(sizes) - sizes / 2, files=files)
    return found


def decomposed(storage: str, of: Units) -> Series:
    found = decompose(of, weighted=False)
    by_size = decompose(replace(of, before=np.zeros_like(of.before)), weighted=False)
    files, size = of.counts / of.seconds, of.file_bytes
    claimed = 1 / (by_size.cost.at(of, of.bytes) * size)
    third = len(files) // 3
    first = np.arange(len(files)) < third
    ahead = fit_size_cost(of.only(first)).files_per_s(size[third:])
    rate = of.bytes / of.seconds
    same = alike(of, found)
    return Series(
        storage, of, found, by_size,
        float(np.abs(files.mean() / files - 1).max()),
        float(np.abs(claimed / files - 1).max()),
        float(np.median(np.abs(ahead / files[third:] - 1))),
        float(np.median(np.abs(files[:third].mean() / files[third:] - 1))),
        joined(shape(of.before, rate, "bytes of input"), None if same is None else shape(of.before, same, "bytes of input")),
        shape(of.before, files, "bytes of input"),
    )  # fmt: skip


def pipeline_limits() -> list[tuple[str, float, str]]:
    """Resource, the pipelines that fill it by one pipeline's figures, and what its author said; lowest first."""
    found = []
    for r in table("pipeline"):
        low, high = r["predicted_low"], r["predicted_high"]
        full_at = float(r["capacity"]) / float(r["used"])
        found.append((r["resource"], full_at, low if low == high else f"{low}–{high}"))
    return sorted(found, key=lambda limit: limit[1])


@dataclass(frozen=True)
class WriterCase:
    """Contention of a speed-up at 16 writers, and what it says of 32 and of any number. Nobody published those."""

    engine: str
    speed_up: float
    law: Usl


def contention_from_speed_up(speed_up: float, n: float) -> float:
    """Amdahl's alpha of one observed speed-up: (n / s - 1) / (n - 1)."""
    return (n / speed_up - 1) / (n - 1)


def writer_cases() -> list[WriterCase]:
    return [
        WriterCase(r["engine"], float(r["speed_up"]), Usl(1.0, contention_from_speed_up(float(r["speed_up"]), float(r["writers"])), 0.0))
        for r in table("writers")
    ]  # fmt: skip


@dataclass(frozen=True)
class Claimed:
    """A claim of a storage model without an interval, and what was observed."""

    what: str
    claimed: float
    observed: float

    @property
    def error(self) -> float:
        return abs(self.observed - self.claimed) / self.observed


#: Rows of the archive, of which the attribute that is read has this share; memory of its host.
ARCHIVE_ROWS, WANTED_SHARE, ARCHIVE_MEMORY_BYTES = 4_082_099_171, 0.012, 24e9
PAGES = {"mysql": 16_384.0}


def extraction_cases() -> list[Claimed]:
    """Ten million rows from one million: stored by key they lie together, by time a page holds one or two of them."""
    rows = table("extractions")
    seconds = {(r["system"], r["load_order"], int(r["rows"]), r["cache"]): float(r["seconds"]) for r in rows}
    found = []
    for system, order in dict.fromkeys((r["system"], r["load_order"]) for r in rows):
        (small, large) = sorted({n for s, o, n, _ in seconds if (s, o) == (system, order)})
        page = PAGES.get(system, 8_192.0)
        row = row_bytes(system)
        # InnoDB keeps rows in the order of the key however they were loaded; so does a table after CLUSTER.
        together = order == "key" or system == "mysql"
        wanted = page / row * (1.0 if together else WANTED_SHARE)
        model = fit_extraction(
            small, seconds[system, order, small, "cold"], seconds[system, order, small, "warm"], row, page, max(1.0, wanted),
            ARCHIVE_MEMORY_BYTES,
        )  # fmt: skip
        for cache in ("cold", "warm"):
            claimed = float(model.at(large, cold=cache == "cold"))
            found.append(
                Claimed(
                    f"{system}, loaded by {order}, {cache}", claimed, seconds[system, order, large, cache]
                )
            )
    return found


def row_bytes(system: str) -> float:
    """Bytes of a row without indexes, from the size of the archive."""
    for r in table("archives"):
        if r["system"].startswith(system.removesuffix("_clustered")):
            return float(r["data_gb"] or r["total_gb"]) * 1e9 / ARCHIVE_ROWS
    raise KeyError(system)


def load_cases() -> list[Claimed]:
    """Hours to load in the order of time from those in the order of the key: in proportion to the bytes on disk."""
    rows = {(r["system"], r["load_order"]): r for r in table("archives")}
    found = []
    for (system, order), r in rows.items():
        by_key = rows.get((system, "key"))
        if order == "time" and by_key and r["load_hours"] and by_key["load_hours"]:
            claimed = float(by_key["load_hours"]) * float(r["total_gb"]) / float(by_key["total_gb"])
            found.append(Claimed(f"{system}: by time, from by key", claimed, float(r["load_hours"])))
    pk, full = rows["timescaledb_pk_only", "time"], rows["timescaledb_2_indexes", "time"]
    claimed = float(pk["load_hours"]) * float(full["total_gb"]) / float(pk["total_gb"])
    return [
        *found,
        Claimed("timescaledb: with two indexes more, from the key alone", claimed, float(full["load_hours"])),
    ]


#: Share of a leaf that is full: after inserts in random order, and where the tree was filled in the order of its key.
RANDOM_FILL, ORDERED_FILL = float(np.log(2)), 0.9


def size_cases() -> list[Claimed]:
    """GB of trees loaded by time from those in the order of the key, by how full a leaf is said to be; and the other way."""
    rows = {(r["system"], r["load_order"]): r for r in table("archives")}
    looser = ORDERED_FILL / RANDOM_FILL
    cases = (
        ("mysql: by time, from by key", ("mysql", "key"), ("mysql", "time"), "total_gb", looser),
        ("postgresql, index: by time, from by key", ("postgresql", "key"), ("postgresql", "time"), "index_gb", looser),
        (
            "timescaledb, three indexes: after CLUSTER, from by time", ("timescaledb_2_indexes", "time"),
            ("timescaledb_2_indexes_clustered", "time"), "index_gb", 1 / looser,
        ),
        (
            "timescaledb, key alone: after CLUSTER, from by time", ("timescaledb_pk_only", "time"),
            ("timescaledb_pk_only_clustered", "time"), "index_gb", 1 / looser,
        ),
    )  # fmt: skip
    return [
        Claimed(name, float(rows[known][column]) * times, float(rows[asked][column]))
        for name, known, asked, column, times in cases
    ]
