"""From a claim and the runs it was about to a verdict. Pure.

confirmed       the observed mean lies in the interval
rejected        it does not, nor does its own 95 % interval reach there
inconclusive    the mean lies outside, its interval reaches inside: repeat; or the claim is so wide that it says nothing,
                or, of a load, holds both what the largest measured load gave and proportion
invalid         the run has no valid figure, or was begun before the claim was frozen
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inrush.analysis.points import Analysis, Measured, is_number, point_key
from inrush.errors import UsageError
from inrush.model.pipeline import SERIAL
from inrush.model.score import score
from inrush.predict.growth import KNEE
from inrush.predict.pipelines import FULL_SHARE
from inrush.predict.training import busy_of, role_of, value_of
from inrush.stats import stats

#: A load is seen as unhindered from this share of proportion.
UNHINDERED_SHARE = 0.9
#: A curve is level where twice the load gives less than this power of two more.
LEVEL_POWER = 0.3
#: A claim from half to double its median or wider says nothing: little that a run can give would be outside.
WIDEST = 4.0


@dataclass(frozen=True)
class Observed:
    run_ids: tuple[str, ...]
    values: tuple[float, ...]
    interval: stats.Interval | None
    bottleneck: str | None
    invalid: tuple[str, ...]
    #: Load at which proportion would have reached the highest rate seen; None where the curve was not seen to level off.
    knee: float | None = None
    #: Of a claim about samples: whether every one of every run was stored before the next was due.
    kept_up: bool | None = None

    @property
    def mean(self) -> float:
        return float(np.exp(np.mean(np.log(self.values))))


def observed(analysis: Analysis, claim: Mapping[str, Any]) -> Observed:
    """The runs of the claim's point. Raises UsageError where the results do not have it."""
    refuse_other_conditions(analysis, claim)
    wanted = {**claim["group"], claim["along"]: claim["forecast"]["x"]}
    mine = [m for m in analysis.runs if m.run.block > 0 and agrees(m, wanted)]
    if not mine:
        detail = ", ".join(f"{k} {v}" for k, v in wanted.items())
        raise UsageError(
            f"{analysis.study.get('id', 'these results')}: no measured run of {detail}; run it, then prove again"
        )
    whole = [m for m in mine if m.counts]
    counted = [m for m in whole if 0 < seen_value(m, claim["figure"]) < float("inf")]
    begun = min(int(m.run.summary.get("begun_unix_ns") or 0) for m in mine)
    if begun <= claim["created_unix_ns"]:
        raise UsageError(
            f"{analysis.study.get('id', 'these results')}: the run was begun before {claim['id']} was frozen and proves nothing; "
            "make another run, then prove again"
        )
    values = tuple(seen_value(m, claim["figure"]) for m in counted)
    invalid = tuple(
        dict.fromkeys(f"{v.guard}: {v.sentence}" for m in mine for v in m.broken(claim["figure"]))
    )
    if lost := len(whole) - len(counted):
        # The mean of the others would be that of the good ones.
        why = "failed, is 0 or is missing"
        if claim["figure"].endswith(f".{KNEE}"):
            why = "is not seen, and neither is a rate that is level to the end,"
        invalid = (*invalid, f"{claim['figure']} {why} in {lost} of {len(whole)} runs")
    return Observed(
        tuple(m.run.run_id for m in counted),
        values,
        stats.log_t(values) if len(values) > 1 else None,
        seen_bottleneck(counted, claim) if counted else None,
        invalid if counted else (*invalid, "no run has a valid figure"),
        seen_knee(analysis, claim),
        seen_keeping_up(counted, claim),
    )


def seen_value(m: Measured, figure: str) -> float:
    """The figure; where a load should have begun to wait and its rate was level to the end, that it was no earlier than there."""
    step, _, name = figure.rpartition(".")
    return value_of(m, figure) or (m.figures.get(f"{step}.level_rows", 0.0) if name == KNEE else 0.0)


def refuse_other_conditions(analysis: Analysis, claim: Mapping[str, Any]) -> None:
    """Raises UsageError where the results were made by another study, or with settings that the training did not have."""
    detail = analysis.study.get("id", "these results")
    if analysis.study.get("study", claim["study"]) != claim["study"]:
        raise UsageError(f"{detail}: of study {analysis.study['study']}; the claim is about {claim['study']}")
    calls = [claim.get("call"), analysis.study.get("call")]
    if not all(isinstance(call, dict) for call in calls):
        return
    trained, made = (conditions(call, claim) for call in calls if isinstance(call, dict))
    if differing := sorted(trained ^ made):
        raise UsageError(
            f"{detail}: made under other conditions than the training of {claim['id']} ({'; '.join(differing)}); "
            "run the claim's own call, `inrush prove` without --with"
        )


def conditions(call: Mapping[str, Any], claim: Mapping[str, Any]) -> set[str]:
    """What was asked for beside the values that claim and group name: overrides, scale, settings of a started server."""
    engine = claim["group"].get("engine")
    free = {claim["along"], *claim["group"], "engines", "repeats"}
    found = {f"scale {call['scale']}"} if call.get("scale") else set[str]()
    found |= {"--realtime"} if call.get("realtime") else set()
    found |= {f"--fleet {call['fleet']}"} if call.get("fleet") else set()
    for override in call.get("overrides", ()):
        key = override.partition("=")[0].strip().removeprefix("factors.")
        if key not in free and key.split(".")[0] not in free:
            found.add(override)
    return found | {s for s in call.get("start", ()) if s.split(",")[0] == engine and "," in s}


def seen_knee(analysis: Analysis, claim: Mapping[str, Any]) -> float | None:
    """From these runs and the training, of one engine at one value of the other factors."""
    if claim["kind"] != "load":
        return None
    along, figure = claim["along"], claim["figure"]
    held: dict[float, list[float]] = {}
    for m in analysis.runs:
        x: Any = dict(m.point).get(along)
        if m.run.block > 0 and m.counts and is_number(x) and agrees(m, {**claim["group"], along: x}):
            held.setdefault(float(x), []).append(value_of(m, figure))
    rates = {float(p["x"]): float(p["value"]) for p in claim["training"]}
    rates |= {x: float(np.exp(np.mean(np.log(of)))) for x, of in held.items() if min(of) > 0}
    if len(rates) < 3:
        return None
    first, *_, before, last = sorted(rates)
    in_proportion = rates[first] * last / first
    steep = np.log(rates[last] / rates[before]) / np.log(last / before)
    if rates[last] >= UNHINDERED_SHARE * in_proportion or steep > LEVEL_POWER:
        return None
    return first * max(rates.values()) / rates[first]


def seen_keeping_up(runs: Sequence[Measured], claim: Mapping[str, Any]) -> bool | None:
    shares = [m.figures.get(f"{role_of(claim['figure'])}.in_time_share") for m in runs]
    if "keeps_up" not in claim or not shares or None in shares:
        return None
    return all(share == 1 for share in shares)


def agrees(m: Measured, wanted: Mapping[str, Any]) -> bool:
    held = {**dict(m.point), "engine": m.run.engine}
    return all(held.get(k) == v for k, v in dict(point_key(wanted)).items())


def seen_bottleneck(runs: Sequence[Measured], claim: Mapping[str, Any]) -> str | None:
    """The fullest watched resource, if full; else whether the load grew unhindered or something unwatched held it.

    None where no resource was watched.
    """
    capacity = {p["name"]: float(p["capacity"]) for p in claim["parts"]}
    busy: dict[str, list[float]] = {}
    for m in runs:
        for name, servers in busy_of(m).items():
            if name in capacity:
                busy.setdefault(name, []).append(servers / capacity[name])
    if not busy or claim["kind"] != "load":
        return None
    shares = {name: float(np.mean(of)) for name, of in busy.items()}
    fullest = max(shares, key=lambda name: shares[name])
    if shares[fullest] >= FULL_SHARE:
        return fullest
    first = min(claim["training"], key=lambda p: float(p["x"]))
    in_proportion = first["value"] * claim["forecast"]["x"] / first["x"]
    mean = float(np.mean([m.figures[claim["figure"]] for m in runs]))
    return "load" if mean >= UNHINDERED_SHARE * in_proportion else SERIAL


def score_document(
    claim: Mapping[str, Any], found: Observed, results: str, scored_unix_ns: int
) -> dict[str, Any]:
    """What is written beside the claim."""
    made = claim["forecast"]
    base: dict[str, Any] = {
        "schema": claim["schema"], "prediction": claim["id"], "sha256": claim["sha256"], "results": results,
        "scored_unix_ns": scored_unix_ns, "run_ids": list(found.run_ids), "reach": made["reach"],
    }  # fmt: skip
    if found.invalid:
        return {**base, "verdict": "invalid", "why": list(found.invalid)}
    scored = score(
        found.mean, made["median"], made["lo"], made["hi"], made["level"], made["baselines"], made["bottleneck"], found.bottleneck
    )  # fmt: skip
    interval = found.interval
    reaches = interval is not None and interval.low <= made["hi"] and interval.high >= made["lo"]
    empty = says_nothing(claim) if scored.inside else None
    held = scored.inside and empty is None
    verdict = "confirmed" if held else "inconclusive" if scored.inside or reaches else "rejected"
    skill = {k: v for k, v in scored.skill.items() if np.isfinite(v)}
    return {
        **base, "verdict": verdict, **({"why": [empty]} if empty else {}), **scored.document(), "skill": skill, "bottleneck_seen": found.bottleneck,
        **knee(made["saturation"], found.knee), **keeping_up(claim, found), "observed_low": interval.low if interval else None, "observed_high": interval.high if interval else None,
    }  # fmt: skip


def says_nothing(claim: Mapping[str, Any]) -> str | None:
    """Why an interval is too wide to be confirmed; None where it is not."""
    made = claim["forecast"]
    wide = made["hi"] / made["lo"]
    if wide >= WIDEST:
        return f"the claimed interval spans a factor of {wide:.3g} and says too little to be confirmed"
    return leaves_open(claim)


def leaves_open(claim: Mapping[str, Any]) -> str | None:
    """Of a load: an interval from what the largest measured load gave to proportion does not say whether more load gives more."""
    made, training = claim["forecast"], claim["training"]
    in_proportion = made["baselines"].get("linear")
    if claim["kind"] != "load" or in_proportion is None or not training:
        return None
    largest = max(float(p["x"]) for p in training)
    level = float(np.exp(np.mean([np.log(p["value"]) for p in training if float(p["x"]) == largest])))
    if not (made["lo"] <= level <= in_proportion <= made["hi"]):
        return None
    return (
        f"the claimed interval holds both what {claim['along']} {largest:g} gave and proportion: it does not say whether more "
        f"{claim['along']} give more"
    )


def keeping_up(claim: Mapping[str, Any], found: Observed) -> dict[str, bool]:
    if found.kept_up is None:
        return {}
    return {"kept_up": found.kept_up, "kept_up_hit": found.kept_up == claim["keeps_up"]["says"]}


def knee(claimed: float | None, seen: float | None) -> dict[str, float | None]:
    error = None if claimed is None or seen is None else float(np.log(seen / claimed))
    return {"knee_claimed": claimed, "knee_seen": seen, "knee_log_error": error}
