"""From trainings to claims that can be proven wrong: plain documents, frozen by `results.predictions`. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

from inrush.analysis.points import Analysis
from inrush.errors import UsageError
from inrush.model.capacity import forecast_load
from inrush.model.curve import curve, forecast
from inrush.model.forecast import FARTHEST_REACH, MODEL_VERSION, UNCALIBRATED, Forecast, Refused
from inrush.model.halving import Halving
from inrush.model.intervals import LEVEL, Scored
from inrush.model.scaling import fit_batch
from inrush.predict.cluster import forecast_of_cluster
from inrush.predict.growth import forecast_of_growth, halved_by
from inrush.predict.samples import KeepsUp, keeps_up
from inrush.predict.training import Training, as_measured
from inrush.results.predictions import PREDICTION_SCHEMA
from inrush.text import number


def forecast_of(
    training: Training, to: float, archive: Sequence[Scored] = (), level: float = LEVEL
) -> Forecast:
    """The model for what the factor scales. Raises Refused outside of its validity."""
    if training.waves is not None:
        raise Refused(
            f"throughput swings while it is measured ({training.waves}): a mean of waves says nothing of another load"
        )
    if training.cluster is not None:
        values = [(r.x, r.value) for r in training.runs]
        made = forecast_of_cluster(training.cluster, training.along, values, to, archive, level)
        if made is not None:
            return made
    if training.kind == "load" and training.curve_kind == "rate":
        return forecast_load(as_measured(training), training.parts, to, archive, level)
    if training.growth is not None:
        return forecast_of_growth(
            training.growth, [(r.x, r.value) for r in training.runs], to, archive, level
        )
    of = curve([r.x for r in training.runs], [r.value for r in training.runs])
    found = forecast(of, to, training.curve_kind, archive, level)
    if training.kind != "batch":
        return found
    if found.model != "contention":
        raise Refused(
            "the rate falls as batches grow, which a cost for each batch and one for each row does not do: what was "
            "measured is noise, or larger batches meet another limit. Repeat more often, or measure larger ones"
        )
    cost = fit_batch(of.x, of.y, of.runs)
    parameters = {
        **found.parameters,
        "per_batch_s": cost.per_batch_s,
        "per_row_s": cost.per_row_s,
        "best_rows": cost.best_rows,
    }
    reason = (
        f"95 % of the asymptote from {cost.best_rows:.0f} rows a batch"
        if cost.per_row_s > 0
        else "no asymptote in sight"
    )
    return Forecast(
        **{
            **found.__dict__,
            "model": "batch cost",
            "parameters": parameters,
            "why": (reason, *(w for w in found.why if w == UNCALIBRATED)),
        }
    )


def far_off(training: Training) -> Training:
    """The same, for targets that are farther than claims reach. Raises UsageError where no width of theirs is known."""
    if training.growth is None or training.growth.what not in ("load", "rate", "read"):
        raise UsageError(
            f"--far: {training.figure} is no time or rate of a load or a read of a table that grows, and others are claimed up to "
            f"{FARTHEST_REACH:g} times the largest point measured; remove --far"
        )
    return replace(training, growth=replace(training.growth, far=True))


def halving_of(
    training: Training, to: float, archive: Sequence[Scored] = (), level: float = LEVEL
) -> Halving | None:
    """What would have to be measured to halve the interval of a claim about a table that grows; None of others, and where
    nothing that was tried does."""
    if training.growth is None or training.growth.what == "knee":
        return None
    return halved_by(training.growth, [(r.x, r.value) for r in training.runs], to, archive, level)


def kept_up(
    training: Training, to: float, archive: Sequence[Scored] = (), level: float = LEVEL
) -> KeepsUp | None:
    """Whether each sample is stored before the next is due; None of roles that write no samples."""
    if training.every_s is None or not all(r.slowest_s > 0 for r in training.runs):
        return None
    x, slowest = [r.x for r in training.runs], [r.slowest_s for r in training.runs]
    return keeps_up(x, slowest, training.every_s, to, archive, level)


def claim(
    analysis: Analysis,
    training: Training,
    made: Forecast,
    created_unix_ns: int,
    calibrated_by: Sequence[str] = (),
    schedule: KeepsUp | None = None,
    halved: Halving | None = None,
) -> dict[str, Any]:
    """Everything that must not change once the run it is about has begun; times in ns since 1970.

    Raises UsageError for a target that has been measured: that is no prediction.
    """
    if made.x in {r.x for r in training.runs}:
        raise UsageError(
            f"{training.along} {number(made.x)} has been measured in these results; predict a value that has not"
        )
    study = analysis.study
    group = dict(training.group)
    env = analysis.runs[0].run.env
    document = {
        "schema": PREDICTION_SCHEMA,
        "created_unix_ns": created_unix_ns,
        "model_version": MODEL_VERSION,
        "study": str(study.get("study", "")),
        "scale": study.get("scale"),
        "results": str(study.get("id", "")),
        "call": study.get("call"),
        "group": group,
        "along": training.along,
        "figure": training.figure,
        "kind": training.kind,
        "forecast": made.document(),
        **({"keeps_up": schedule.document()} if schedule else {}),
        **({"halved_by": dict(halved.__dict__)} if halved else {}),
        "train_run_ids": [r.run_id for r in training.runs],
        "training": points(training),
        "parts": [
            {"name": p.name, "capacity": usable}
            for p in training.parts
            if isfinite(usable := p.usable(made.x))
        ],
        "calibrated_by": list(calibrated_by) if made.calibrated else [],
        "machine": {k: env[k] for k in ("cpu_model", "cpu_logical", "mem_total_bytes", "kernel") if k in env},
    }
    name = f"{document['study']}-{group.get('engine', 'any')}-{training.along}-{made.x:g}"
    mark = hashlib.sha256(
        repr((sorted(group.items(), key=str), training.figure, document)).encode()
    ).hexdigest()
    return {"id": f"{name}-{mark[:6]}".replace("/", "-").replace(" ", "_"), **document}


def points(training: Training) -> list[dict[str, float]]:
    """What was trained on, as a curve: x, geometric mean, runs."""
    of = curve([r.x for r in training.runs], [r.value for r in training.runs])
    return [
        {"x": float(x), "value": float(y), "runs": float(n)}
        for x, y, n in zip(of.x, of.y, of.runs, strict=True)
    ]


def archive_of(scores: Sequence[Mapping[str, Any]]) -> tuple[list[Scored], list[str]]:
    """What calibration may use: scores of claims frozen before now, and the ids they came from."""
    used = [s for s in scores if s.get("verdict") not in (None, "invalid")]
    return [Scored(float(s["reach"]), abs(float(s["log_error"]))) for s in used], [
        str(s["prediction"]) for s in used
    ]
