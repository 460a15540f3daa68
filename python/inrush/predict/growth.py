"""Steps of a study as the model of growing tables takes them: which step, what is known of where rows go. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Literal

from inrush.analysis.points import Measured
from inrush.analysis.run_facts import beside_a_server, is_embedded
from inrush.border.pipeline import each_role
from inrush.engines import server
from inrush.errors import UsageError
from inrush.model.curve import Curve, curve, forecast
from inrush.model.forecast import Forecast
from inrush.model.growth import Store, forecast_growth
from inrush.model.halving import By, Halving, halving
from inrush.model.intervals import LEVEL, Scored
from inrush.model.knee import forecast_knee
from inrush.model.table_reads import forecast_read
from inrush.model.work import fit_proportion
from inrush.stats.record import RunRecord
from inrush.stats.row_order import in_runs, out_of_order, tails

SAME = 0.01
#: Of a load: where it began to wait for pages. Loads that train a claim did not, and say how many rows the cache holds.
KNEE = "knee_rows"
#: Ranges by rows have about as many, where times have jitter.
ALIKE = 0.05
#: Figures of a load that say how long it takes, and those that say it the other way round.
TIMES, RATES = ("duration_s", "makespan_s"), ("rows_per_s",)
#: Parts of the names of figures that are the time of one read, or of the first row of one.
READS = ("latency_", "service_", "first_row_")
#: Kinds of steps whose calls give answers.
READING = ("read", "extract")
#: Bytes of a page -> the key of its probe in the environment of a run.
SCANNED = "disk_direct_read_bytes_per_s"
PROBED = {16_384: "disk_read_16k_s", 8_192: "disk_read_8k_s"}


@dataclass(frozen=True)
class Growth:
    """What a figure of a step is, and what its runs recorded of the table that grows."""

    what: Literal["load", "rate", "read", "size", "work", "knee"]
    store: Store
    #: (value of the factor, seconds) of the same read in the step after a `cold`; empty without such a step.
    cold: tuple[tuple[float, float], ...] = ()
    #: Rows for each unit of the factor: laws are of rows.
    unit: float = 1.0
    #: Every call answers with so many rows, whatever the table has: ranges by `rows`.
    steady: bool = False
    #: (value of the factor, pages) that what the figure times takes with nothing in memory; empty where nothing counted
    #: them, and for a first row, which takes few of those of its answer.
    pages: tuple[tuple[float, float], ...] = ()
    #: They are pages that were asked for, in memory or not: no fewer than those that are read.
    pages_bound: bool = False
    #: No time or rate of a target is too far to be claimed; the interval widens with its reach.
    far: bool = False


def growth_of(runs: Sequence[Measured], along: str, figure: str) -> Growth | None:
    """None where the factor is not the rows of a load step, or the figure is none that a table's size decides."""
    step, _, name = figure.rpartition(".")
    found = load_step(runs, along)
    if found is None:
        return None
    load, unit = found
    kind = steps_of(runs[0]).get(step)
    if name == KNEE and step == load:
        plan, labels = runs[0].run.plan, runs[0].run.labels
        anywhere = out_of_order(plan, labels) and not in_runs(plan)
        return Growth("knee", store_of(runs, along, load, unit, anywhere), unit=unit)
    if name in ("after_bytes", "grown_bytes"):
        return Growth("size", Store())
    if kind == "load" and step == load and name in (*TIMES, *RATES):
        plan, labels = runs[0].run.plan, runs[0].run.labels
        store = store_of(runs, along, load, unit, out_of_order(plan, labels))
        store = replace(store, tails=tails(plan, labels))
        return Growth("rate" if name in RATES else "load", store, unit=unit)
    if kind in READING:
        refuse_added(runs[0], load, step)
    if kind in READING and (name.startswith(READS) or (kind == "extract" and name in TIMES)):
        # However its rows came: a read waits for every page that the cache does not hold.
        store = store_of(runs, along, load, unit, True)
        if begins_cold(runs[0], step) and all(calls_of(m, step) <= 1 for m in runs):
            # Every page of it comes from the device, however much memory there is. A second call finds pages of the first.
            store = Store(
                store.batch_rows, row_bytes=store.row_bytes, memory_bytes=store.memory_bytes, direct=True
            )
        return Growth(
            "read", store, cold_reads(runs, along, step, name), unit, steady_answers(runs, step),
            pages_read(runs, along, step, name), cold_step(runs, step) is None,
        )  # fmt: skip
    if kind == "statement" and name == "duration_s":
        scans = [v for m in runs for v in [scan_bytes_per_s(facts(m.run))] if v]
        # It reads all of a table, one part after the other: rows are sorted, or moved.
        store = replace(store_of(runs, along, load, unit, False), batch_rows=1.0)
        return Growth("work", replace(store, scan_bytes_per_s=min(scans, default=None)), unit=unit)
    return None


def rows_held(m: Measured, figure: str, store: Store) -> float:
    """Rows of the table that the engine's cache holds, by the bytes of a row of this run; 0: not known."""
    load = figure.removesuffix(f".{KNEE}")
    rows, size = m.figures.get(f"{load}.rows", 0.0), m.figures.get(f"{load}.grown_bytes", 0.0)
    return (store.cache_bytes or 0.0) * rows / size if size > 0 else 0.0


def refuse_added(m: Measured, load: str, step: str) -> None:
    """Raises UsageError for a read behind a load that adds rows: the table has more than the factor says."""
    steps = list(steps_of(m))
    works = [(str(r["name"]), r["work"]) for _, r in each_role(m.run.plan) if "work" in r]
    first_rows = {name: work["first_row"] for name, work in works if work["kind"] == "rows"}
    added = [s for s in steps[: steps.index(step)] if s != load and first_rows.get(s)]
    if added:
        raise UsageError(
            f"{step}: step {added[0]} has added rows before it, which the factor does not count; predict a figure of a step that "
            f"stands between {load} and {added[0]}"
        )


def steady_answers(runs: Sequence[Measured], step: str) -> bool:
    """Whether each call of an extract has about as many rows at every value of the factor; the time of other reads may
    depend on rows that they do not return."""
    if steps_of(runs[0]).get(step) != "extract":
        return False
    rows = [
        m.figures[f"{step}.rows"] / m.figures[f"{step}.ok"]
        for m in runs
        if m.figures.get(f"{step}.ok") and f"{step}.rows" in m.figures
    ]
    return bool(rows) and max(rows) - min(rows) <= ALIKE * max(rows)


def pages_read(runs: Sequence[Measured], along: str, step: str, name: str) -> tuple[tuple[float, float], ...]:
    """Pages of an extract by the counters of the engine: those that the same calls read right after a `cold`, else those
    that it looked at itself, which are no less. Of one call, or of all where the figure times all."""
    if steps_of(runs[0]).get(step) != "extract" or name.startswith("first_row_"):
        return ()
    colder = cold_step(runs, step)
    counted = f"{colder}.pages_read" if colder else f"{step}.pages_asked"
    found = []
    for m in runs:
        rows = m.figures.get(f"{colder or step}.rows", 0.0)
        # None at all: they were in memory, and say nothing of what a larger table takes.
        if m.figures.get(counted) and rows and m.figures.get(f"{step}.ok"):
            # Sessions wait for the device side by side.
            calls = m.figures.get(f"{step}.sessions", 1.0) if name in TIMES else m.figures[f"{step}.ok"]
            # Pages follow rows: the colder step may have made fewer calls.
            taken = m.figures[counted] / rows * m.figures.get(f"{step}.rows", 0.0) / calls
            found.append((float(dict(m.point)[along]), taken))
    return tuple(found)


def steps_of(m: Measured) -> Mapping[str, str]:
    """Step -> what it does, in order; empty for a study without steps."""
    kinds: Mapping[str, str] = m.run.labels.get("steps") or {}
    return kinds


def load_step(runs: Sequence[Measured], along: str) -> tuple[str, float] | None:
    """The step whose rows the factor scales, and rows for each unit of it. A factor of 0 has loaded none."""
    for step in (name for name, do in steps_of(runs[0]).items() if do == "load"):
        held = [(float(dict(m.point)[along]), m.figures.get(f"{step}.rows", 0.0)) for m in runs]
        shares = [rows / x for x, rows in held if x > 0]
        empty = all(rows == 0 for x, rows in held if x <= 0)
        if empty and shares and min(shares) > 0 and max(shares) - min(shares) <= SAME * max(shares):
            return step, fmean(shares)
    return None


def store_of(runs: Sequence[Measured], along: str, load: str, unit: float, tree: bool) -> Store:
    """From plans, settings, sizes and environments; of several runs the least memory and the slowest device.

    tree: pages of the engine are met in no order. What the machine has counts for an engine that runs on it: of a server
    elsewhere it is not known.
    """
    first = runs[0].run
    batch = float((first.labels.get("batch_rows") or {}).get(load) or 1)
    free = min((v for m in runs for v in [free_memory(facts(m.run))] if v), default=None)
    row, pages = row_bytes(runs, along, load, unit), server(first.engine).pages
    if pages is None or not tree:
        return Store(batch, row_bytes=row, memory_bytes=free)
    settings = {str(r["name"]): str(r["value"]) for r in first.rows("settings")}
    page, cache = float(pages.page_of(settings)), float(pages.cache_of(settings))
    times = [v for m in runs for v in [page_read_s(facts(m.run), page)] if v]
    read_s = max(times, default=None)
    if pages.goes_round_kernel(settings):
        return Store(batch, page, cache, row, cache, read_s=read_s, direct=True)
    return Store(batch, page, cache, row, free, spare_memory(runs, free, cache), read_s=read_s)


def spare_memory(runs: Sequence[Measured], free: float | None, cache: float) -> float:
    """Of a server's cache, what may not be in the memory that was free: it may have been filled before, and not been freed.

    An engine in the client's process takes its cache from what was free. A limit of the cgroup holds the cache.
    """
    if free is None or is_embedded(runs[0].run):
        return 0.0
    known = [facts(m.run) for m in runs]
    limits = [float(of[k]) for of in known for k in ("cgroup_memory_bytes", "limit_memory") if of.get(k)]
    return min([cache, *(max(0.0, limit - free) for limit in limits)])


def facts(run: RunRecord) -> Mapping[str, Any]:
    """Those of the machine, and `limit_memory`, `limit_read_bytes_per_s`, …: what a server is held to on purpose.

    A probe in the limits may have come to less than was asked for, or by chance to more: the least of both counts. Of
    memory the kernel gives what was asked for.
    """
    limits: Mapping[str, Mapping[str, float | None]] = run.summary.get("limits") or {}
    held = {
        name: float(of["asked"] or 0) if name == "memory" else min(float(v) for v in of.values() if v)
        for name, of in limits.items()
        if of.get("asked")
    }
    return {**here(run), **{f"limit_{name}": value for name, value in held.items()}}


def here(run: RunRecord) -> Mapping[str, Any]:
    """The facts of the machine that the engine runs on; none where that is not the client's."""
    return run.env if is_embedded(run) or beside_a_server(run) else {}


def row_bytes(runs: Sequence[Measured], along: str, load: str, unit: float) -> float | None:
    """On disk for each row, from the sizes before and after the loads; None where they show no slope."""
    held = [(unit * dict(m.point)[along], m.figures.get(f"{load}.grown_bytes", 0.0)) for m in runs]
    grown = [(n, size) for n, size in held if size > 0]
    if len({n for n, _ in grown}) < 2:
        return None
    return fit_proportion(*zip(*grown, strict=True)).per_unit_s or None


def page_read_s(env: Mapping[str, Any], page: float) -> float | None:
    """Of the smallest probed page that is not smaller, and no less than the limits of the server allow; None where the
    probe could not go past the kernel's cache."""
    if not env.get("disk_direct"):
        return None
    size = min((size for size in PROBED if size >= page), default=max(PROBED))
    if not env.get(PROBED[size]):
        return None
    reads, read_bytes = (env.get(f"limit_{name}") for name in ("reads_per_s", "read_bytes_per_s"))
    return max(
        float(env[PROBED[size]]), 1 / reads if reads else 0.0, page / read_bytes if read_bytes else 0.0
    )


def scan_bytes_per_s(env: Mapping[str, Any]) -> float | None:
    """One byte after the other from the device; None where the probe could not go past the kernel's cache."""
    known = [float(env[k]) for k in (SCANNED, "limit_read_bytes_per_s") if env.get(k)]
    return min(known) if env.get("disk_direct") and env.get(SCANNED) else None


def free_memory(env: Mapping[str, Any]) -> float | None:
    """Of the machine that the run was made on, or of its cgroup or the limit of its server where that is less.

    The limit holds the server, its cache and the pages of its files in the kernel's.
    """
    known = [
        float(env[k]) for k in ("mem_available_bytes", "cgroup_memory_bytes", "limit_memory") if env.get(k)
    ]
    return min(known, default=None)


def cold_reads(runs: Sequence[Measured], along: str, step: str, name: str) -> tuple[tuple[float, float], ...]:
    """Of the step that makes the same calls right after a `cold`, of runs where that one is valid."""
    colder = cold_step(runs, step)
    # The time of a step is that of all its calls, and of the client between them.
    if colder is None or (name in TIMES and calls_of(runs[0], colder) != calls_of(runs[0], step)):
        return ()
    figure = f"{colder}.{name}"
    return tuple(
        (float(dict(m.point)[along]), m.figures[figure])
        for m in runs
        if m.figures.get(figure, 0) > 0 and not m.broken(figure)
    )


def calls_of(m: Measured, step: str) -> float:
    return m.figures.get(f"{step}.ok", 0.0)


def begins_cold(m: Measured, step: str) -> bool:
    order = list(steps_of(m))
    at = order.index(step)
    return at > 0 and steps_of(m)[order[at - 1]] == "cold"


def cold_step(runs: Sequence[Measured], step: str) -> str | None:
    """The nearest that makes the same calls right after a `cold`, in a table that no step changes between the two; None
    where that is the step itself, or there is none."""
    steps, calls = steps_of(runs[0]), operations_of(runs[0].run.plan)
    order = list(steps)
    at = order.index(step)

    def same_table(other: int) -> bool:
        between = order[min(at, other) : max(at, other)]
        return not any(steps[s] in ("load", "statement") for s in between)

    found = [
        i
        for i, s in enumerate(order)
        if begins_cold(runs[0], s) and calls.get(s) == calls.get(step) and same_table(i)
    ]
    return None if not found or at in found else order[min(found, key=lambda i: abs(i - at))]


def operations_of(plan: Mapping[str, Any]) -> dict[str, list[str]]:
    """Step -> the operations that it calls."""
    return {
        str(r["name"]): sorted(str(o["operation"]) for o in r.get("operations", ()))
        for segment in plan.get("segments", ())
        for r in segment.get("roles", ())
    }


def forecast_of_growth(
    growth: Growth, points: Sequence[tuple[float, float]], to: float, archive: Sequence[Scored] = (), level: float = LEVEL
) -> Forecast:  # fmt: skip
    """points: (value of the factor, figure), one entry a run. Raises Refused."""
    of, by = law_of(growth, points, archive, level)
    made = by(of, to * growth.unit)
    full = None if made.saturation is None else made.saturation / growth.unit
    return replace(made, x=to, saturation=full)


def halved_by(
    growth: Growth, points: Sequence[tuple[float, float]], to: float, archive: Sequence[Scored] = (), level: float = LEVEL
) -> Halving | None:  # fmt: skip
    """What would have to be measured to halve the interval of this forecast, in units of the factor. Raises Refused."""
    unit = growth.unit
    if growth.what == "rate":
        # A law is of seconds; the interval is as wide.
        growth, points = replace(growth, what="load"), [(n, n * unit / v) for n, v in points if n > 0]
    of, by = law_of(growth, points, archive, level)
    found = halving(of, to * unit, by)
    if found is None:
        return None
    # Rows are loaded for each; how long that takes, only the figure of a load says.
    takes = found.takes if growth.what == "load" else 0.0
    x = None if found.x is None else found.x / unit
    return replace(found, x=x, work=found.work / unit, takes=takes)


def law_of(
    growth: Growth, points: Sequence[tuple[float, float]], archive: Sequence[Scored], level: float
) -> tuple[Curve, By]:
    """The curve that is continued, in rows, and how."""
    if growth.what == "size":
        sizes = [(n * growth.unit, v) for n, v in points]
        return curve(*zip(*sizes, strict=True)), lambda of, to: forecast(of, to, "time", archive, level)
    unit, rate = growth.unit, growth.what == "rate"
    if growth.what == "knee":
        cache = growth.store.cache_bytes or 0.0
        sizes = [(n * unit, cache * n * unit / held) for n, held in points if n > 0]
        return curve(*zip(*sizes, strict=True)), lambda of, to: forecast_knee(
            of, to, growth.store, archive, level
        )
    # Of no rows there is no time of a row.
    held = [(n * unit, v) for n, v in points if n > 0]
    x, y = [n for n, _ in held], [v for _, v in held]
    if growth.what == "read":
        cold = [(n * unit, v) for n, v in growth.cold if n > 0]
        dear = curve(*zip(*cold, strict=True)) if len({n for n, _ in cold}) > 1 else None
        pages = [(n * unit, v) for n, v in growth.pages if n > 0]
        many = curve(*zip(*pages, strict=True)) if len({n for n, _ in pages}) > 1 else None
        return curve(x, y), lambda of, to: forecast_read(
            of, dear, to, growth.store, archive, level, growth.steady, many, growth.pages_bound, growth.far
        )
    if not rate:
        return curve(x, y), lambda of, to: forecast_growth(
            of, to, growth.store, False, archive, level, growth.far
        )
    seconds = [n / v for n, v in held]
    return curve(x, seconds), lambda of, to: forecast_growth(
        of, to, growth.store, True, archive, level, growth.far
    )
