"""What a required rate needs: batch, writers, cores and disk, from every study of an engine that was run. Pure.

batch       smallest with 95 % of what any batch reaches, and within the latency limit; from a study of batch_rows
writers     fewest with a predicted rate that holds the required one at 80 % busy; from a study of sessions, else one
cores       CPU per row × rate
disk        stored bytes per row × rate, a day; written bytes per row × rate
shown       whether runs were large and long enough, and what run would be; no rate above one that was measured
how sure    probability that the predicted rate is above the required one, at most what such claims have scored
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from inrush.analysis.points import Analysis, Measured
from inrush.errors import UsageError
from inrush.model.capacity import forecast_load, middle_of_load
from inrush.model.curve import MOST_BUSY, Curve, curve
from inrush.model.forecast import Forecast, Refused
from inrush.model.intervals import LEVEL, Scored, reach_bin, spread
from inrush.model.queues import erlang_c
from inrush.model.scaling import fit_batch
from inrush.model.work import fit_proportion
from inrush.predict.claims import forecast_of
from inrush.predict.costs import cores_for, stored_for, write_for
from inrush.predict.proving import showing_call, writers_command
from inrush.predict.sources import Source, of_kind, runs_of
from inrush.predict.support import (
    SHOWN_TIMES,
    Record,
    Records,
    ceilings,
    evidence,
    exceeded,
    not_shown,
    shown_at,
)
from inrush.predict.training import Training, as_measured
from inrush.stats import tails
from inrush.text import number, percent

#: Writers are looked for up to this many times what was measured.
MOST_TIMES = 8
DAY_S = 86_400
#: Model of a rate that was measured.
MEASURED = "measured"
SizingVerdict = Literal["yes", "no", "not shown"]


@dataclass(frozen=True)
class Need:
    rows_per_s: float
    p99_s: float | None = None
    days: float = 1.0

    @property
    def seconds(self) -> float:
        return self.days * DAY_S


@dataclass(frozen=True)
class Sizing:
    """The answer for one engine."""

    engine: str
    group: dict[str, Any]
    verdict: SizingVerdict
    batch_rows: float | None = None
    writers: int | None = None
    rows_per_s: float | None = None
    lo: float | None = None
    hi: float | None = None
    #: None where the verdict is not yes, and where claims of this kind and reach have no score yet.
    sure: float | None = None
    #: Scores of claims of this kind and reach, and those with an interval that held; a measured rate is no claim.
    scored: int = 0
    scored_inside: int = 0
    measured: bool = False
    calibrated: bool = False
    p99_s: float | None = None
    cores: float | None = None
    disk_bytes: float | None = None
    write_bytes_per_s: float | None = None
    why: tuple[str, ...] = ()
    #: Command of the run that would show it.
    next: str | None = None
    from_results: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        return asdict(self)


def sizings(
    analyses: Sequence[Analysis], need: Need, archive: Sequence[Scored] = (), records: Records | None = None
) -> list[Sizing]:
    """An answer for each engine with a study of batches or writers, newest results first in `analyses`.

    records: how claims have scored, without which no answer has a percentage. Raises UsageError where no results can say
    anything.
    """
    batches, loads = of_kind(analyses, "batch_rows"), of_kind(analyses, None)
    engines = dict.fromkeys([*batches, *loads])
    if not engines:
        raise UsageError(
            "no results say how a rate grows; run `inrush run batch` and `inrush run writers` first"
        )
    found = []
    for engine in engines:
        sources = [s for s in (batches.get(engine), loads.get(engine)) if s]
        group = {k: v for _, t in sources for k, v in t.group if k != "engine"}
        runs = evidence(analyses, engine, group)
        found.append(
            sizing(engine, batches.get(engine), loads.get(engine), need, archive, records or {}, runs)
        )
    return found


def sizing(
    engine: str,
    batch: Source | None,
    load: Source | None,
    need: Need,
    archive: Sequence[Scored],
    records: Records,
    measured: Sequence[Measured],
) -> Sizing:
    """measured: every valid run of the engine that agrees with the group of the sources."""
    sources = [s for s in (batch, load) if s]
    group = {k: v for _, t in sources for k, v in t.group if k != "engine"}
    ids = tuple(dict.fromkeys(str(a.study.get("id", "")) for a, _ in sources))
    why: list[str] = []
    most = ceilings(measured)
    if not most.rows_per_s:
        no_rate = "no run with a valid rate agrees with what was studied"
        return Sizing(engine, group, "not shown", why=(no_rate,), from_results=ids)
    try:
        rows, one = batch_for(batch, need, archive, why)
        one = None if one is None else capped(one, most.rows_per_s)
        writers, made, claimed = writers_for(load, one, need, archive, why)
    except NotStudied as e:
        command = writers_command(sources[0][0].study, engine)
        return Sizing(engine, group, "not shown", why=(*why, str(e)), next=command, from_results=ids)
    except Refused as e:
        return Sizing(engine, group, "no", why=(*why, str(e)), from_results=ids)
    made = capped(made, most.rows_per_s)
    p99_s = p99_for(sources[0], rows, writers, need.rows_per_s / made.median, why)
    runs = [m for a, t in sources for m in runs_of(a, t)]
    cores, write = cores_for(runs, need.rows_per_s), write_for(runs, need.rows_per_s)
    disk = stored_for(runs, need.rows_per_s * need.seconds)
    unshown = not_shown(most, shown_at(measured, need.rows_per_s), need.rows_per_s, need.seconds)
    # What so many rows take on disk is known only as far as so many were stored.
    against = too_slow(p99_s, need) + exceeded(most, cores, write, None if unshown else disk)
    verdict: SizingVerdict = "no" if against else "not shown" if unshown else "yes"
    record = record_of(claimed, records)
    sure = sureness(made, need.rows_per_s, record) if verdict == "yes" else None
    command = showing_command(sources, rows, writers, need) if verdict == "not shown" else None
    if command and (full := exceeded(most, None, None, disk and disk / SHOWN_TIMES)):
        unshown.append(f"of that run, if each row takes as much as those measured, {full[0]}")
    return Sizing(
        engine, group, verdict, rows, writers, made.median, made.lo, made.hi, sure, scored=record.claims, scored_inside=record.inside,
        measured=not claimed, calibrated=made.calibrated, p99_s=finite(p99_s), cores=None if against else cores,
        disk_bytes=disk, write_bytes_per_s=write, why=(*why, *against, *unshown), next=command, from_results=ids,
    )  # fmt: skip


class NotStudied(Refused):
    """More writers may reach it: nothing was measured of them."""


def capped(made: Forecast, rows_per_s: float) -> Forecast:
    """Nothing above a rate that was measured; below it the forecast stays as wide as it was."""
    lower = scaled(made, min(1.0, rows_per_s / made.median))
    return replace(lower, hi=min(lower.hi, rows_per_s))


def too_slow(p99_s: float | None, need: Need) -> list[str]:
    if need.p99_s is None or (p99_s is not None and p99_s <= need.p99_s):
        return []
    if p99_s is None:
        return ["latency was not measured"]
    return [f"p99 of a call would be {p99_s * 1e3:.4g} ms" if finite(p99_s) else "p99 of a call has no end"]


def finite(seconds: float | None) -> float | None:
    return seconds if seconds is not None and math.isfinite(seconds) else None


def showing_command(sources: Sequence[Source], rows: float | None, writers: int, need: Need) -> str | None:
    """The run that would show what no run has: writers or batches of the answer, a quarter of its rows."""
    analysis, training = sources[-1]
    x = float(writers) if training.kind == "load" else float(rows or 0)
    seconds = need.seconds / SHOWN_TIMES
    batch = rows if training.kind == "load" else None
    return showing_call(analysis.study, training, x, batch, math.ceil(need.rows_per_s * seconds), seconds)


def record_of(claimed: Sequence[tuple[str, float]], records: Records) -> Record:
    """Of the claims (kind, reach) that an answer is made of, the record of the one that has scored worst."""
    found = [records.get((kind, reach_bin(reach)), Record(kind, 0, 0)) for kind, reach in claimed]
    return min(found, key=lambda r: r.share if r.claims else 0.0, default=Record("measured", 0, 0))


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
        why.append(f"larger batches than {number(of.x[-1])} may be better still: none was tried")
    if need.p99_s is not None:
        allowed = rows_within(analysis, training, need.p99_s)
        if allowed < of.x[0]:
            raise Refused(
                f"a batch of {number(of.x[0])} rows, the smallest tried, already takes longer than {need.p99_s * 1e3:g} ms at p99"
            )
        if allowed < rows:
            why.append(
                f"batches of {rows:,.0f} rows would be best; {allowed:,.0f} keep one call below {need.p99_s * 1e3:g} ms"
            )
            rows = allowed
    rows = float(np.floor(rows))
    return rows, measured_at(of, rows) if rows in of.x else forecast_of(training, rows, archive)


#: What an answer takes from the model: kinds of claims and their reaches.
Claimed = tuple[tuple[str, float], ...]


def claim_of(made: Forecast | None, kind: str) -> Claimed:
    """None for what was measured."""
    return () if made is None or made.model == MEASURED else ((kind, made.reach),)


def measured_at(of: Curve, x: float) -> Forecast:
    """What was measured needs no law: its mean, and the spread of its runs."""
    i = int(np.flatnonzero(of.x == x)[0])
    run = spread(of.squares, of.df)
    half = run.quantile(LEVEL) * run.sd / float(np.sqrt(of.runs[i]))
    value = float(of.y[i])
    return Forecast(
        x, value, value * float(np.exp(-half)), value * float(np.exp(half)), LEVEL, MEASURED, True, x / float(of.x[-1]), {}, {}, None
    )  # fmt: skip


def rows_within(analysis: Analysis, training: Training, p99_s: float) -> float:
    """Largest batch with a call within a limit, when nothing waits: a fixed cost and one for each row."""
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
        if 0 < m.figures.get(figure, 0.0) < float("inf")
    ]
    if len({x for x, _ in held}) < 2:
        return None
    law = fit_proportion([x for x, _ in held], [y for _, y in held])
    return law.fixed_s, law.per_unit_s


def writers_for(
    source: Source | None, one: Forecast | None, need: Need, archive: Sequence[Scored], why: list[str]
) -> tuple[int, Forecast, Claimed]:
    """Fewest writers with a rate that holds the need at 80 % busy, and the claims in it. Raises Refused where no number does.

    How a rate grows with writers is taken from their study; its level from the batch's, where there is one.
    """
    if source is None:
        if one is None:
            raise Refused("neither batches nor writers were studied")
        why.append("more than one writer was not studied here")
        if one.median * MOST_BUSY < need.rows_per_s:
            raise NotStudied(
                f"one writer reaches {one.median:,.0f} rows/s at most, {percent(MOST_BUSY)} of that busy"
            )
        return 1, one, claim_of(one, "batch")
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
            return n, scaled(made, level), claim_of(made, "load") + claim_of(one, "batch")
    raise Refused(
        f"no number of writers up to {most} reaches it, as their rate grows in the study of writers"
    )


def writer_counts(most: int) -> list[int]:
    """1 to 16, then in steps of a quarter: 129 instead of 128 would be of no use."""
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
    if busy >= 1:
        why.append(f"writers would be {percent(busy)} busy: calls wait for each other without end")
        return float("inf")
    wait = erlang_c(writers, busy * writers) / (writers * (1 - busy))
    why.append(
        f"a call takes {alone_s * 1e3:.4g} ms at p99 alone, {1 + wait:.2f} times as long at {percent(busy)} busy"
    )
    return alone_s * (1 + wait)


def sureness(made: Forecast, needed: float, record: Record) -> float | None:
    """Probability that the rate is above what is needed, and never more than such claims have scored; None without scores."""
    return min(probability(made, needed), record.share) if record.claims else None


def probability(made: Forecast, needed: float) -> float:
    """That the rate is above what is needed, as if its log were normal, as wide as its interval is below the median:
    the upper end may be cut at what was measured."""
    sd = float(np.log(made.median / made.lo)) / tails.normal_quantile(0.5 + made.level / 2)
    if sd <= 0:
        return 1.0 if made.median >= needed else 0.0
    return tails.normal_below(float(np.log(made.median / needed)) / sd)
