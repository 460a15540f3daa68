"""From a measured curve to a value that was not measured: one rule chooses the law. Pure.

The rule, with every score of it on published curves in docs/findings/predictions.md:

1. A rate that grows follows the contention law (Amdahl): everything that is scaled shares something. Proportion is its
   limit, so it competes by itself, not as a law of its own.
2. Coherency (USL) is added only on evidence: the curve has already fallen from its peak by more than noise, or six or
   more points prefer it by two units of AICc. A third parameter that nothing asks for makes extrapolations wild.
3. A rate that falls throughout loses a fixed time to each unit of x: 1 / rate is a straight line.
4. A time that grows is a fixed cost and one for each unit; a time that falls with machines has Ernest's form.
5. A latency against an offered rate is that of a queue: 1 / latency is a straight line down to the rate that fills it.
   It is predicted up to 80 % of that rate; the highest rate within a latency is from there on a lower bound.
6. A law that misses the largest point by more than 15 %, or is asked for more than 32 times it, is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inrush.errors import UsageError
from inrush.model.fits import aicc, fit_sum, log_errors
from inrush.model.forecast import (
    LARGEST_RESIDUAL,
    UNCALIBRATED,
    UNSEEN_LIMIT,
    Forecast,
    Refused,
    refuse_far,
    refuse_misfit,
)
from inrush.model.intervals import LEVEL, Scored, Spread, Width, parameter_spread, spread, width
from inrush.model.scaling import Usl, fit_usl
from inrush.model.work import fit_ernest, fit_proportion
from inrush.text import number, percent

FloatArray = NDArray[np.float64]
Kind = Literal["rate", "time", "latency"]
Law = Callable[[FloatArray], FloatArray]

AICC_MARGIN = 2.0
#: Nearer to full than this no formula for latency holds.
MOST_BUSY = 0.8
#: The names that laws have as baselines.
BASELINES = {"contention": "amdahl", "coherency": "usl"}
#: A fall from the peak is one where it exceeds so many sd of a point.
FALL_SD = 3.0


@dataclass(frozen=True)
class Curve:
    """Figures at distinct x, ascending: geometric means over their runs."""

    x: FloatArray
    y: FloatArray
    runs: FloatArray
    #: Sum of squared log deviations of runs from their point, and its degrees of freedom.
    squares: float
    df: int

    def first(self, points: int) -> Curve:
        """The small end alone; what is known of noise stays."""
        return Curve(self.x[:points], self.y[:points], self.runs[:points], self.squares, self.df)


def curve(x: ArrayLike, y: ArrayLike) -> Curve:
    """x, y: shape (k,), one entry a run; equal x are repetitions. Raises UsageError for what no law has."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(x) != len(y):
        raise UsageError(f"{len(x)} values of x and {len(y)} of y; a curve has as many of each")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise UsageError("a curve holds numbers; remove the lines that have none")
    if (x < 0).any() or (y <= 0).any():
        bad = int(np.argmax((x < 0) | (y <= 0)))
        raise UsageError(
            f"{number(x[bad])}, {number(y[bad])}: loads are not negative and figures are positive; remove the line"
        )
    at, index = np.unique(x, return_inverse=True)
    if len(at) < 2:
        raise UsageError(f"{len(at)} distinct x; a curve needs two, and a bend needs three")
    logs = np.log(y)
    runs = np.bincount(index).astype(np.float64)
    means = np.bincount(index, logs) / runs
    squares = float(((logs - means[index]) ** 2).sum())
    return Curve(at, np.exp(means), runs, squares, len(x) - len(at))


@dataclass(frozen=True)
class Fitted:
    """A law with its parameters, fitted to a curve."""

    name: str
    law: Law
    parameters: dict[str, float]
    #: Fits the same law to other values at the same x.
    again: Callable[[FloatArray], Law] = field(repr=False)
    count: int = 2

    def errors(self, of: Curve) -> FloatArray:
        return log_errors(self.law(of.x), of.y)


def forecast(
    of: Curve, to: float, kind: Kind = "rate", archive: Sequence[Scored] = (), level: float = LEVEL
) -> Forecast:
    """The figure at x = `to`, by the rule at the top of this file.

    kind: what y is: a rate, a time for work, or the latency at an offered rate. Raises Refused outside of the law's validity.
    """
    reach = to / float(of.x[-1])
    chosen, why = choose(of, kind)
    refuse_misfit(float(chosen.errors(of)[-1]), chosen.name)
    if to > MOST_BUSY * chosen.parameters.get("full_at", float("inf")):
        full = chosen.parameters["full_at"]
        raise Refused(f"{number(to)}/s: {known_up_to(full)}, and this is {percent(to / full)} of it")
    refuse_far(to, float(of.x[-1]))
    run, target = point_spread(of, chosen), np.array([to])
    median = float(chosen.law(target)[0])
    wide = width_at(of, to, chosen, run, archive, level)
    lo, hi = median * float(np.exp(-wide.half)), median * float(np.exp(wide.half))
    others = {f.name: float(f.law(target)[0]) for f in candidates(of, kind)}
    if not wide.calibrated:
        # Laws that explain what was measured as well as the chosen one may be right beyond it.
        equal = [others[f.name] for f in candidates(of, kind) if explains(of, f, run)]
        lo, hi = min([lo, *equal]), max([hi, *equal])
        why = (*why, UNCALIBRATED)
    saturation = peak(chosen)
    if kind == "rate" and saturation is None:
        why = (*why, f"saturation: {UNSEEN_LIMIT}")
    return Forecast(
        to, median, lo, hi, level, chosen.name, wide.calibrated, reach, chosen.parameters,
        {**{BASELINES[k]: v for k, v in others.items() if k in BASELINES}, "linear": linear(of, to, kind)}, saturation, why,
    )  # fmt: skip


def choose(of: Curve, kind: Kind) -> tuple[Fitted, tuple[str, ...]]:
    """The law for a curve, and why it is that one."""
    found = {f.name: f for f in candidates(of, kind)}
    if kind == "latency":
        grows = "queue: latency grows towards the rate that fills it"
        return found["queue"], (grows, *misfits(of, found["queue"]))
    if kind == "time":
        if "ernest" in found:
            return found["ernest"], ("ernest: it falls as machines are added",)
        return found["proportion"], ("proportion: a fixed part, and one for each unit",)
    if "interference" in found:
        return found["interference"], ("interference: the rate falls throughout",)
    plain = found["contention"]
    if "coherency" in found and (why := coherency_needed(of, plain, found["coherency"])):
        return found["coherency"], (why,)
    return plain, ("contention: no evidence of coherency in what was measured",)


def candidates(of: Curve, kind: Kind) -> list[Fitted]:
    """Laws of the curve's shape that it has points enough for."""
    if kind == "latency":
        return [fitted_queue(of)]
    if kind == "time":
        return [fitted_ernest(of)] if of.y[-1] < of.y[0] and of.x[0] > 0 else [fitted_proportion(of)]
    if of.y[-1] < of.y[0] and int(np.argmax(of.y)) == 0:
        return [fitted_interference(of)]
    if of.x[0] <= 0:
        raise Refused("x of 0 and a rate that grows: a load of nothing has no rate; remove the line")
    return [fitted_usl(of, False)] + ([fitted_usl(of, True)] if len(of.x) >= 3 else [])


def coherency_needed(of: Curve, plain: Fitted, full: Fitted) -> str | None:
    """Evidence for a third parameter, as a sentence; None without any."""
    run = spread(of.squares, of.df)
    top = int(np.argmax(of.y))
    fall = float(np.log(of.y[top] / of.y[-1]))
    if top < len(of.x) - 1 and fall > FALL_SD * run.sd * float(np.sqrt(1 / of.runs[top] + 1 / of.runs[-1])):
        return f"coherency: the rate has fallen by {percent(1 - np.exp(-fall))} since x = {number(of.x[top])}"
    scores = [aicc(float((f.errors(of) ** 2).sum()), len(of.x), f.count) for f in (plain, full)]
    if np.isfinite(scores[1]) and scores[0] - scores[1] > AICC_MARGIN:
        return f"coherency: AICc prefers it by {scores[0] - scores[1]:.1f}"
    return None


def point_spread(of: Curve, chosen: Fitted) -> Spread:
    """sd of one run: from repetitions, and from what the law leaves over where that is more."""
    left = max(0, len(of.x) - chosen.count)
    misfit = float((of.runs * chosen.errors(of) ** 2).sum()) if left else 0.0
    return spread(of.squares + misfit, of.df + left)


def width_at(
    of: Curve, to: float, chosen: Fitted, run: Spread, archive: Sequence[Scored], level: float
) -> Width:
    """Of a law's prediction. run: `point_spread`."""
    target, log_y = np.array([to]), np.log(chosen.law(of.x))
    again = parameter_spread(lambda y: chosen.again(y)(target), log_y, run.sd / np.sqrt(of.runs))
    return width(float(again[0]), run, float(np.median(of.runs)), archive, to / float(of.x[-1]), level)


def explains(of: Curve, f: Fitted, run: Spread) -> bool:
    """Whether a law misses no point by more than three sd."""
    return bool((np.abs(f.errors(of)) <= 3 * run.sd).all())


def linear(of: Curve, to: float, kind: Kind) -> float:
    """Proportion from the smallest load, or for times the largest one scaled: what one would say without a model."""
    if kind != "rate":
        return float(of.y[-1] * (to / of.x[-1] if of.y[-1] >= of.y[0] else of.x[-1] / to))
    first = 0 if of.x[0] > 0 else 1
    return float(of.y[first] * to / of.x[first])


def peak(chosen: Fitted) -> float | None:
    found = chosen.parameters.get("peak_n", chosen.parameters.get("full_at", float("inf")))
    return found if np.isfinite(found) else None


def fitted_usl(of: Curve, coherency: bool) -> Fitted:
    def again(y: FloatArray) -> Law:
        return fit_usl(of.x, y, coherency, of.runs).at

    law: Usl = fit_usl(of.x, of.y, coherency, of.runs)
    parameters = {"one_per_s": law.one_per_s, "alpha": law.alpha, "limit_per_s": law.limit_per_s}
    if coherency:
        parameters |= {"beta": law.beta, "peak_n": law.peak_n}
    return Fitted(
        "coherency" if coherency else "contention", law.at, parameters, again, 3 if coherency else 2
    )


def fitted_interference(of: Curve) -> Fitted:
    columns = np.stack([np.ones_like(of.x), of.x], axis=1)

    def again(y: FloatArray) -> Law:
        a, b = fit_sum(columns, 1 / y, of.runs)
        return lambda x: np.asarray(1 / (a + b * np.asarray(x, np.float64)))

    a, b = fit_sum(columns, 1 / of.y, of.runs)
    return Fitted("interference", again(of.y), {"alone_s": float(a), "each_s": float(b)}, again)


def fitted_proportion(of: Curve) -> Fitted:
    def again(y: FloatArray) -> Law:
        return fit_proportion(of.x, y, of.runs).at

    law = fit_proportion(of.x, of.y, of.runs)
    return Fitted("proportion", law.at, {"fixed_s": law.fixed_s, "per_unit_s": law.per_unit_s}, again)


def fitted_ernest(of: Curve) -> Fitted:
    def again(y: FloatArray) -> Law:
        return fit_ernest(of.x, y, weights=of.runs).at

    law = fit_ernest(of.x, of.y, weights=of.runs)
    return Fitted("ernest", law.at, dict(law.__dict__), again, 4)


def fitted_queue(of: Curve) -> Fitted:
    """latency = 1 / (a - b rate): an M/M/1 station; any quantile of it has the same form."""
    columns = np.stack([np.ones_like(of.x), -of.x], axis=1)

    def again(y: FloatArray) -> Law:
        a, b = fit_sum(columns, 1 / y, of.runs)
        return lambda x: np.asarray(1 / np.maximum(a - b * np.asarray(x, np.float64), 1e-300))

    a, b = fit_sum(columns, 1 / of.y, of.runs)
    full = float(a / b) if b > 0 else float("inf")
    return Fitted(
        "queue", again(of.y), {"idle_s": float(1 / a) if a > 0 else float("inf"), "full_at": full}, again
    )


def forecast_within(
    of: Curve, limit_s: float, archive: Sequence[Scored] = (), level: float = LEVEL
) -> Forecast:
    """The highest offered rate with a latency of at most a limit: by the law, and never against what was measured.

    of: latency in s against rates. The forecast's x is the limit; its reach that of the rate. Beyond 80 % of what fills the
    queue it is a lower bound: that rate, or a higher one that was measured within the limit. Raises Refused where even an
    idle call is slower, or the law does not hold.
    """
    if not (np.isfinite(limit_s) and limit_s > 0):
        raise Refused(f"--within {number(limit_s)}: write seconds, above 0 and not endless")
    chosen = fitted_queue(of)
    refuse_misfit(float(chosen.errors(of)[-1]), chosen.name)
    full, idle_s = chosen.parameters["full_at"], chosen.parameters["idle_s"]
    if not np.isfinite(full):
        raise Refused(
            "latency does not grow with these rates: no rate is known to be too much; measure at higher ones"
        )
    by_law = within(chosen.parameters, limit_s)
    # Figures are means of logs: one that equals the limit differs from it in the last digit.
    in_time = of.y <= limit_s * (1 + 1e-9)
    held, missed = float(of.x[in_time].max(initial=0.0)), float(of.x[~in_time].min(initial=np.inf))
    if by_law <= 0:
        measured = f", and yet {number(held)}/s was measured within it" if held else ""
        raise Refused(
            f"a call takes {idle_s:.4g} s when nothing waits: no rate keeps it below {limit_s:g} s{measured}"
        )
    low, high = sorted((held, missed))
    found, known = min(max(by_law, low), high), MOST_BUSY * full
    is_lower_bound = found > known * (1 + 1e-9)
    found = max(known, held) if is_lower_bound else found
    reach = found / float(of.x[-1])
    refuse_far(found, float(of.x[-1]))
    run = point_spread(of, chosen)

    def again(y: FloatArray) -> FloatArray:
        redone = fitted_queue(Curve(of.x, y, of.runs, of.squares, of.df)).parameters
        return np.array([MOST_BUSY * redone["full_at"] if is_lower_bound else within(redone, limit_s)])

    sd = float(parameter_spread(again, np.log(chosen.law(of.x)), run.sd / np.sqrt(of.runs))[0])
    wide = width(sd, Spread(0.0, run.df), 1, archive, reach, level)
    # A rate that was measured on one side of the limit is not outside of the interval on the other.
    lo = min(found * float(np.exp(-wide.half)), missed)
    hi = max(found * float(np.exp(wide.half)), held)
    if is_lower_bound:
        hi = float(of.x[~in_time & (of.x > held)].min(initial=np.inf))
    why = misfits(of, chosen)
    if is_lower_bound:
        shown = f"; {number(held)}/s was measured within the limit" if held > known else ""
        why = (f"at least: {known_up_to(full)}, {number(known, 4)}/s{shown}", *why)
    return Forecast(
        limit_s, found, lo, hi, level, chosen.name, wide.calibrated, reach, chosen.parameters, {}, full,
        why if wide.calibrated else (*why, UNCALIBRATED), is_lower_bound=is_lower_bound,
    )  # fmt: skip


def within(parameters: Mapping[str, float], limit_s: float) -> float:
    """rate = full (1 - idle / limit)"""
    return parameters["full_at"] * (1 - parameters["idle_s"] / limit_s)


def known_up_to(full: float) -> str:
    return f"latency is predicted up to {percent(MOST_BUSY)} of the rate that fills the queue ({number(full, 4)}/s)"


def misfits(of: Curve, law: Fitted) -> tuple[str, ...]:
    """Points that a law misses, though not the largest one: the figure of one close to them is more doubtful than others."""
    missed = np.exp(np.abs(law.errors(of))) - 1
    worst = int(np.argmax(missed))
    if missed[worst] <= LARGEST_RESIDUAL:
        return ()
    return (
        f"{law.name} misses what was measured at {number(of.x[worst])} by {percent(missed[worst])}: look for what changes there, or "
        "measure at the target",
    )
