"""What a required rate needs: batch, writers, cores and disk, from every study of an engine that was run. Pure.

batch       smallest with 95 % of what any batch reaches, and within the latency limit; from a study of batch_rows
writers     fewest whose predicted rate holds the required one at 80 % busy; from a study of sessions, else one
cores       CPU per row × rate
disk        stored bytes per row × rate, a day; written bytes per row × rate
how sure    probability that the predicted rate is above the required one, by its interval
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from inrush.analysis.points import Analysis, Measured, is_number
from inrush.errors import UsageError
from inrush.guards.notes import stored_bytes
from inrush.model.capacity import forecast_load, middle_of_load
from inrush.model.curve import MOST_BUSY, Curve, curve
from inrush.model.forecast import Forecast, Refused
from inrush.model.intervals import LEVEL, Scored, spread
from inrush.model.open_load import erlang_c
from inrush.model.scaling import fit_batch
from inrush.model.work import fit_proportion
from inrush.predict.claims import forecast_of
from inrush.predict.training import Training, as_measured, cores_busy, trainings, written_bytes_per_s
from inrush.stats import tails
from inrush.stats.measures import RunRecord, measured_windows, writing_roles

#: Writers are looked for up to this many times what was measured.
MOST_TIMES = 8
DAY_S = 86_400


@dataclass(frozen=True)
class Need:
    rows_per_s: float
    p99_s: float | None = None
    days: float = 1.0


@dataclass(frozen=True)
class Sizing:
    """The answer for one engine."""

    engine: str
    group: dict[str, Any]
    verdict: Literal["yes", "no"]
    batch_rows: float | None = None
    writers: int | None = None
    rows_per_s: float | None = None
    lo: float | None = None
    hi: float | None = None
    sure: float | None = None
    calibrated: bool = False
    p99_s: float | None = None
    cores: float | None = None
    disk_bytes: float | None = None
    write_bytes_per_s: float | None = None
    why: tuple[str, ...] = ()
    from_results: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        return asdict(self)


def sizings(analyses: Sequence[Analysis], need: Need, archive: Sequence[Scored] = ()) -> list[Sizing]:
    """An answer for each engine with a study of batches or writers, newest results first in `analyses`.

    Raises UsageError where no results can say anything.
    """
    batches, loads = of_kind(analyses, "batch_rows"), of_kind(analyses, None)
    engines = dict.fromkeys([*batches, *loads])
    if not engines:
        raise UsageError(
            "no results say how a rate grows; run `inrush run batch` and `inrush run writers` first"
        )
    return [sizing(engine, batches.get(engine), loads.get(engine), need, archive) for engine in engines]


Source = tuple[Analysis, Training]


def of_kind(analyses: Sequence[Analysis], along: str | None) -> dict[str, Source]:
    """Engine -> its most demanding group of the newest study along a factor (None: along sessions that write)."""
    found: dict[str, Source] = {}
    for analysis in analyses:
        try:
            groups = trainings(analysis, along)
        except UsageError:
            continue
        for engine in dict.fromkeys(dict(t.group)["engine"] for t in groups):
            mine = [
                t for t in groups if dict(t.group)["engine"] == engine and t.figure.endswith(".rows_per_s")
            ]
            wanted = [t for t in mine if t.kind == ("batch" if along else "load") and writes(analysis, t)]
            if wanted and engine not in found:
                found[engine] = (analysis, chosen_group(wanted))
    return found


def writes(analysis: Analysis, training: Training) -> bool:
    role = training.figure.rsplit(".", 1)[0]
    return any(role in writing_roles(m.run.plan) for m in analysis.runs)


def chosen_group(found: Sequence[Training]) -> Training:
    """Of methods the best, as one may choose it; of tables and readers the hardest, as one may not."""
    best: dict[tuple[Any, ...], Training] = {}
    for t in found:
        key = tuple((k, v) for k, v in t.group if k != "method")
        if key not in best or highest(t) > highest(best[key]):
            best[key] = t
    return min(best.values(), key=highest)


def highest(t: Training) -> float:
    """Best mean rate at any value of the factor."""
    of = curve([r.x for r in t.runs], [r.value for r in t.runs])
    return float(of.y.max())


def sizing(
    engine: str, batch: Source | None, load: Source | None, need: Need, archive: Sequence[Scored]
) -> Sizing:
    sources = [s for s in (batch, load) if s]
    group = {k: v for _, t in sources for k, v in t.group if k != "engine"}
    ids = tuple(dict.fromkeys(str(a.study.get("id", "")) for a, _ in sources))
    why: list[str] = []
    try:
        rows, one = batch_for(batch, need, archive, why)
        writers, made = writers_for(load, one, need, archive, why)
    except Refused as e:
        return Sizing(engine, group, "no", why=(*why, str(e)), from_results=ids)
    p99_s = p99_for(sources[0], rows, writers, need.rows_per_s / made.median, why)
    runs = [m for a, t in sources for m in runs_of(a, t)]
    sure = sureness(made, need.rows_per_s)
    fits = need.p99_s is None or (p99_s is not None and p99_s <= need.p99_s)
    if not fits:
        why.append(
            f"p99 of a call would be {p99_s * 1e3:.4g} ms"
            if p99_s is not None
            else "latency was not measured"
        )
    return Sizing(
        engine, group, "yes" if fits and made.median >= need.rows_per_s else "no", rows, writers, made.median, made.lo, made.hi,
        sure, made.calibrated, p99_s, cores_for(runs, need.rows_per_s), disk_for(runs, need),
        write_for(runs, need.rows_per_s), tuple(why), ids,
    )  # fmt: skip


def batch_for(
    source: Source | None, need: Need, archive: Sequence[Scored], why: list[str]
) -> tuple[float | None, Forecast | None]:
    """Rows of a batch and the rate of one writer with them; None where batches were not studied."""
    if source is None:
        why.append("batches were not studied here: the batch is that of the writers' study")
        return None, None
    analysis, training = source
    of = curve([r.x for r in training.runs], [r.value for r in training.runs])
    best = fit_batch(of.x, of.y, of.runs).best_rows
    rows = float(np.clip(best, of.x[0], of.x[-1]))
    if best > of.x[-1]:
        why.append(f"larger batches than {of.x[-1]:g} may be better still: none was tried")
    if need.p99_s is not None:
        allowed = rows_within(analysis, training, need.p99_s)
        if allowed < of.x[0]:
            raise Refused(
                f"a batch of {of.x[0]:g} rows, the smallest tried, already takes longer than {need.p99_s * 1e3:g} ms at p99"
            )
        if allowed < rows:
            why.append(
                f"batches of {rows:.0f} rows would be best; {allowed:.0f} keep one call below {need.p99_s * 1e3:g} ms"
            )
            rows = allowed
    rows = float(np.floor(rows))
    return rows, measured_at(of, rows) if rows in of.x else forecast_of(training, rows, archive)


def measured_at(of: Curve, x: float) -> Forecast:
    """What was measured needs no law: its mean, and the spread of its runs."""
    i = int(np.flatnonzero(of.x == x)[0])
    run = spread(of.squares, of.df)
    half = run.quantile(LEVEL) * run.sd / float(np.sqrt(of.runs[i]))
    value = float(of.y[i])
    return Forecast(
        x, value, value * float(np.exp(-half)), value * float(np.exp(half)), LEVEL, "measured", True, x / float(of.x[-1]), {}, {}, None
    )  # fmt: skip


def rows_within(analysis: Analysis, training: Training, p99_s: float) -> float:
    """Largest batch whose call is within a limit, when nothing waits: a fixed cost and one for each row."""
    law = latency_law(analysis, training)
    if law is None:
        return float("inf")
    fixed_s, per_row_s = law
    return (p99_s - fixed_s) / per_row_s if per_row_s > 0 else (float("inf") if fixed_s <= p99_s else 0.0)


def latency_law(analysis: Analysis, training: Training) -> tuple[float, float] | None:
    figure = f"{training.figure.rsplit('.', 1)[0]}.latency_p99_s"
    held = [
        (float(dict(m.point)[training.along]), m.figures[figure])
        for m in runs_of(analysis, training)
        if m.figures.get(figure)
    ]
    if len({x for x, _ in held}) < 2:
        return None
    law = fit_proportion([x for x, _ in held], [y for _, y in held])
    return law.fixed_s, law.per_unit_s


def writers_for(
    source: Source | None, one: Forecast | None, need: Need, archive: Sequence[Scored], why: list[str]
) -> tuple[int, Forecast]:
    """Fewest writers whose rate holds the need at 80 % busy. Raises Refused where no number does.

    How a rate grows with writers is taken from their study; its level from the batch's, where there is one.
    """
    if source is None:
        if one is None:
            raise Refused("neither batches nor writers were studied")
        why.append("more than one writer was not studied here")
        if one.median * MOST_BUSY < need.rows_per_s:
            raise Refused(
                f"one writer reaches {one.median:,.0f} rows/s at most, {MOST_BUSY:.0%} of that busy"
            )
        return 1, one
    _, training = source
    most = int(MOST_TIMES * max(r.x for r in training.runs))
    level = 1.0
    if one is not None:
        first = min(r.x for r in training.runs)
        measured = [r.value for r in training.runs if r.x == first]
        level = one.median / float(np.exp(np.mean(np.log(measured)))) if first == 1 else 1.0
    # With its interval only where it is asked for: that takes seconds, and there may be dozens of counts.
    middle, found = middle_of_load(as_measured(training), training.parts), dict[int, float]()
    for n in writer_counts(most):
        found[n] = middle(float(n)) * level
        if found[n] * MOST_BUSY >= need.rows_per_s:
            made = forecast_load(as_measured(training), training.parts, float(n), archive)
            return n, scaled(made, level)
    best = max(found, key=lambda n: found[n])
    raise Refused(
        f"no number of writers up to {most} reaches it: the most is {found[best]:,.0f} rows/s with {best}"
    )


def writer_counts(most: int) -> list[int]:
    """1 to 16, then in steps of a quarter: nobody needs 129 instead of 128."""
    found = list(range(1, min(16, most) + 1))
    while found[-1] < most:
        found.append(min(most, int(found[-1] * 1.25)))
    return found


def scaled(made: Forecast, level: float) -> Forecast:
    return Forecast(
        **{**made.__dict__, "median": made.median * level, "lo": made.lo * level, "hi": made.hi * level}
    )


def p99_for(source: Source, rows: float | None, writers: int, busy: float, why: list[str]) -> float | None:
    """p99 of a call: what it takes alone at this batch, and what it waits with `writers` that are `busy`."""
    analysis, training = source
    law = latency_law(analysis, training) if training.kind == "batch" and rows is not None else None
    if law is not None:
        alone_s = law[0] + law[1] * float(rows or 0)
    else:
        figure = f"{training.figure.rsplit('.', 1)[0]}.latency_p99_s"
        fewest = min(r.x for r in training.runs)
        held = [
            m.figures[figure]
            for m in runs_of(analysis, training)
            if figure in m.figures and dict(m.point)[training.along] == fewest
        ]
        if not held:
            return None
        alone_s = float(np.median(held))
    share = min(busy, MOST_BUSY)
    wait = erlang_c(writers, share * writers) / (writers * (1 - share))
    why.append(
        f"a call takes {alone_s * 1e3:.4g} ms at p99 alone, {1 + wait:.2f} times as long at {share:.0%} busy"
    )
    return alone_s * (1 + wait)


def sureness(made: Forecast, needed: float) -> float:
    """Probability that the rate is above what is needed, as if its log were normal in its interval."""
    half = float(np.log(made.hi / made.lo)) / 2
    sd = half / tails.normal_quantile(0.5 + made.level / 2)
    if sd <= 0:
        return 1.0 if made.median >= needed else 0.0
    return tails.normal_below(float(np.log(made.median / needed)) / sd)


def cores_for(runs: Sequence[Measured], rate: float) -> float | None:
    """Cores of client and engine together: the median over the points of the studies."""
    held = [cores_busy(m.figures) / written for m in runs for written in [written_rows_per_s(m)] if written]
    return float(np.median(held)) * rate if held else None


def written_rows_per_s(m: Measured) -> float:
    writers = writing_roles(m.run.plan)
    return sum(
        v
        for k, v in m.figures.items()
        for role, _, metric in [k.rpartition(".")]
        if metric == "rows_per_s" and role in writers and "/" not in role
    )


def disk_for(runs: Sequence[Measured], need: Need) -> float | None:
    """Bytes stored in `days` at the rate."""
    held = [(rows, stored_bytes(m.run)) for m in runs for rows in [rows_at_end(m.run)] if rows]
    if not held:
        return None
    rows, size = (np.array(v, np.float64) for v in zip(*held, strict=True))
    if len(np.unique(rows)) > 1:
        per_row = fit_proportion(rows, size).per_unit_s
    else:
        per_row = float(np.median(size / rows))
    return float(per_row * need.rows_per_s * DAY_S * need.days)


def rows_at_end(run: RunRecord) -> int:
    """Rows in the tables when sizes were probed: those of the last repetition."""
    windows, writers = measured_windows(run), writing_roles(run.plan)
    shots = [s for s in run.rows("shots") if s["segment"] in windows and s["role"] in writers]
    if not shots:
        return 0
    last = max((s["segment"], s["repetition"]) for s in shots)
    return int(sum(s["rows"] for s in shots if (s["segment"], s["repetition"]) == last))


def write_for(runs: Sequence[Measured], rate: float) -> float | None:
    held = [
        w / rows
        for m in runs
        for w, rows in [(written_bytes_per_s(m.run), written_rows_per_s(m))]
        if w and rows
    ]
    return float(np.median(held)) * rate if held else None


def runs_of(analysis: Analysis, training: Training) -> list[Measured]:
    used = {r.run_id for r in training.runs}
    return [m for m in analysis.runs if m.run.run_id in used and is_number(dict(m.point).get(training.along))]


def sizing_lines(found: Sequence[Sizing], need: Need) -> list[str]:
    """The answer as people read it."""
    from inrush.stats.quantity import show

    lines = []
    for s in found:
        asked = f"{need.rows_per_s:,.0f} rows/s" + (
            f" with p99 below {need.p99_s * 1e3:g} ms" if need.p99_s else ""
        )
        group = ", ".join(f"{k} {v}" for k, v in s.group.items())
        head = f"{s.engine}{f' ({group})' if group else ''}: {asked}:"
        if s.writers is None:
            lines.append(f"{head} no")
        else:
            told = [f"{s.writers} writer{'s' * (s.writers != 1)}"]
            told += [f"batches of {s.batch_rows:,.0f} rows"] if s.batch_rows else []
            told += [f"{s.cores:.2f} cores"] if s.cores is not None else []
            told += (
                [f"{show(s.disk_bytes, 'x.bytes')} of disk in {need.days:g} day{'s' * (need.days != 1)}"]
                if s.disk_bytes
                else []
            )
            told += [f"{show(s.write_bytes_per_s, 'x.bytes_per_s')} written"] if s.write_bytes_per_s else []
            told += [f"p99 {show(s.p99_s, 'x.p99_s')}"] if s.p99_s else []
            sure = f"{s.sure:.0%} sure that it reaches the rate ({'calibrated' if s.calibrated else 'uncalibrated'})"
            lines.append(f"{head} {s.verdict}: {', '.join(told)}; {sure}")
        lines += [f"  {why}" for why in s.why]
        lines.append(f"  from {', '.join(s.from_results)}")
    return lines
