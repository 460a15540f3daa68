"""Steps of a study as the model of growing tables takes them: which step, what is known of where rows go. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from inrush.analysis.points import Measured
from inrush.engines import server
from inrush.guards.lateness import beside_a_server
from inrush.guards.verdicts import is_embedded
from inrush.model.curve import curve, forecast
from inrush.model.forecast import Forecast
from inrush.model.growth import Store, forecast_growth, forecast_read
from inrush.model.intervals import LEVEL, Scored
from inrush.model.work import fit_proportion
from inrush.stats.record import RunRecord

SAME = 0.01
#: Figures of a load that say how long it takes, and those that say it the other way round.
TIMES, RATES = ("duration_s", "makespan_s"), ("rows_per_s",)
#: Parts of the names of figures that are the time of one read.
READS = ("latency_", "service_")
#: Bytes of a page -> the key of its probe in the environment of a run.
PROBED = {16_384: "disk_read_16k_s", 8_192: "disk_read_8k_s"}


@dataclass(frozen=True)
class Growth:
    """What a figure of a step is, and what its runs recorded of the table that grows."""

    what: Literal["load", "rate", "read", "size"]
    store: Store
    #: (rows, seconds) of the same read in the step after a `cold`; empty without such a step.
    cold: tuple[tuple[float, float], ...] = ()


def growth_of(runs: Sequence[Measured], along: str, figure: str) -> Growth | None:
    """None where the factor is not the rows of a load step, or the figure is none that a table's size decides."""
    step, _, name = figure.rpartition(".")
    load = load_step(runs, along)
    if load is None:
        return None
    kind = steps_of(runs[0]).get(step)
    if name in ("after_bytes", "grown_bytes"):
        return Growth("size", Store())
    if kind == "load" and step == load and name in (*TIMES, *RATES):
        return Growth("rate" if name in RATES else "load", store_of(runs, along, load))
    if kind == "read" and name.startswith(READS):
        return Growth("read", store_of(runs, along, load), cold_reads(runs, along, step, name))
    return None


def steps_of(m: Measured) -> Mapping[str, str]:
    """Step -> what it does, in order; empty for a study without steps."""
    found: Mapping[str, str] = m.run.labels.get("steps") or {}
    return found


def load_step(runs: Sequence[Measured], along: str) -> str | None:
    """The step whose rows are the factor."""
    for step in (name for name, do in steps_of(runs[0]).items() if do == "load"):
        shares = [m.figures.get(f"{step}.rows", 0.0) / dict(m.point)[along] for m in runs]
        if min(shares) > 0 and max(shares) - min(shares) <= SAME * max(shares):
            return step
    return None


def store_of(runs: Sequence[Measured], along: str, load: str) -> Store:
    """From plans, settings, sizes and environments; of several runs the least memory and the slowest device.

    What the machine has counts for an engine that runs on it: of a server elsewhere it is not known.
    """
    first = runs[0].run
    batch = float((first.labels.get("batch_rows") or {}).get(load) or 1)
    free = min((v for m in runs for v in [free_memory(here(m.run))] if v), default=None)
    row, pages = row_bytes(runs, along, load), server(first.engine).pages
    if pages is None or not out_of_order(first.plan, first.labels):
        return Store(batch, row_bytes=row, memory_bytes=free)
    settings = {str(r["name"]): str(r["value"]) for r in first.rows("settings")}
    page, cache = float(pages.page_of(settings)), float(pages.cache_of(settings))
    memory = None if free is None else free + cache
    if pages.goes_round_kernel(settings):
        memory = cache
    times = [v for m in runs for v in [page_read_s(here(m.run), page)] if v]
    return Store(batch, page, cache, row, memory, max(times, default=None))


def here(run: RunRecord) -> Mapping[str, Any]:
    """The facts of the machine that the engine runs on; none where that is not the client's."""
    return run.env if is_embedded(run) or beside_a_server(run) else {}


def row_bytes(runs: Sequence[Measured], along: str, load: str) -> float | None:
    """On disk for each row, from the sizes before and after the loads; None where they show no slope."""
    held = [(dict(m.point)[along], m.figures.get(f"{load}.grown_bytes", 0.0)) for m in runs]
    grown = [(n, size) for n, size in held if size > 0]
    if len({n for n, _ in grown}) < 2:
        return None
    return fit_proportion(*zip(*grown, strict=True)).per_unit_s or None


def page_read_s(env: Mapping[str, Any], page: float) -> float | None:
    """Of the smallest probed page that is not smaller; None where the probe could not go past the kernel's cache."""
    if not env.get("disk_direct"):
        return None
    size = min((size for size in PROBED if size >= page), default=max(PROBED))
    return float(env[PROBED[size]]) if env.get(PROBED[size]) else None


def free_memory(env: Mapping[str, Any]) -> float | None:
    """Of the machine that the run was made on, or of its cgroup where that is less."""
    known = [float(env[k]) for k in ("mem_available_bytes", "cgroup_memory_bytes") if env.get(k)]
    return min(known, default=None)


def out_of_order(plan: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    """Whether rows meet their tree in another order than that of its key; a table without indexes has no tree."""
    if labels.get("layout") == "none":
        return False
    sources = [t.get("source") or {} for t in plan.get("tables", ())]
    orders = {((s.get("events") or {}).get("order") or {}).get("by", "time") for s in sources}
    return orders != {"key"}


def cold_reads(runs: Sequence[Measured], along: str, step: str, name: str) -> tuple[tuple[float, float], ...]:
    """Of the step that makes the same calls right after a `cold`, of runs where that one is valid."""
    steps = steps_of(runs[0])
    order = list(steps)
    calls = operations_of(runs[0].run.plan)
    after = [
        s
        for s, before in zip(order[1:], order, strict=False)
        if steps[before] == "cold" and calls.get(s) == calls.get(step)
    ]
    if not after or step in after:
        return ()
    figure = f"{after[0]}.{name}"
    return tuple(
        (float(dict(m.point)[along]), m.figures[figure])
        for m in runs
        if m.figures.get(figure, 0) > 0 and not m.broken(figure)
    )


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
    """points: (rows, figure), one entry a run. Raises Refused."""
    x, y = [n for n, _ in points], [v for _, v in points]
    if growth.what == "size":
        return forecast(curve(x, y), to, "time", archive, level)
    if growth.what == "read":
        cold = curve(*zip(*growth.cold, strict=True)) if len({n for n, _ in growth.cold}) > 1 else None
        return forecast_read(curve(x, y), cold, to, growth.store, archive, level)
    rate = growth.what == "rate"
    of = curve(x, [n / v for n, v in points] if rate else y)
    return forecast_growth(of, to, growth.store, rate, archive, level)
