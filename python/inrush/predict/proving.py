"""The run that a claim is about: the call that made its training, at the load that was claimed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from inrush.analysis.points import is_number
from inrush.border.address import is_url
from inrush.engines import engine_of_url
from inrush.errors import UsageError
from inrush.predict.training import Training
from inrush.run.call import StudyCall
from inrush.run.prepare import call_from
from inrush.text import number


def proving_call(claim: Mapping[str, Any], targets: Sequence[str] = ()) -> StudyCall:
    """targets: in place of the claim's own, e.g. with a password. Raises UsageError where the claim does not say how."""
    kept = claim.get("call")
    if not isinstance(kept, dict):
        raise UsageError(
            f"{claim['id']}: its results do not say how they were begun; run the study at {claim['along']} "
            f"{number(claim['forecast']['x'])} and attach it: inrush prove {claim['id']} --with RESULTS"
        )
    call = call_from(kept)
    engine = str(claim["group"]["engine"])
    mine = tuple(t for t in (*targets, *call.targets) if engine_of_target(t) == engine)
    changed = {k: v for k, v in claim["group"].items() if k != "engine" and plain(k, v, call)}
    changed[claim["along"]] = claim["forecast"]["x"]
    return replace(
        call,
        targets=mine[:1] or (engine,),
        storages=call.storages_at(claim["group"]),
        start=tuple(s for s in call.start if s.split(",")[0] == engine and not any(map(is_url, mine[:1]))),
        overrides=last_of_each([*call.overrides, *(f"{k}=[{toml(v)}]" for k, v in changed.items())]),
    )


def showing_call(
    study: Mapping[str, Any],
    training: Training,
    x: float,
    batch_rows: float | None,
    rows: int,
    seconds: float,
) -> str | None:
    """The command of a run with so many rows at one value of a training's factor; None where its results do not say how.

    batch_rows: in place of the study's own. seconds: that the run will take at the rate that is asked about.
    """
    if not isinstance(study.get("call"), dict):
        return None
    about = {
        "id": study.get("id"), "call": study["call"], "group": dict(training.group), "along": training.along,
        "forecast": {"x": x},
    }  # fmt: skip
    call, role = proving_call(about), training.figure.rsplit(".", 1)[0].partition("/")[0]
    more = [f"roles.{role}.rows={{total={rows}}}", f"schedule.limit_s={max(60, round(2 * seconds))}"]
    more.append("repeats.count=1")
    more += [f"roles.{role}.batch_rows={batch_rows:.0f}"] if batch_rows else []
    return replace(call, overrides=last_of_each([*call.overrides, *more])).command()


def last_of_each(overrides: Sequence[str]) -> tuple[str, ...]:
    """Of settings `key=value`, those that hold: a later one of the same key takes the place of an earlier one."""
    return tuple({setting.partition("=")[0]: setting for setting in overrides}.values())


def writers_command(study: Mapping[str, Any], engine: str) -> str | None:
    """The command that studies more writers of an engine, where and at the scale that a study of it was run."""
    if not isinstance(study.get("call"), dict):
        return None
    call = call_from(study["call"])
    mine = tuple(t for t in call.targets if engine_of_target(t) == engine)
    start = tuple(s for s in call.start if s.split(",")[0] == engine)
    targets = mine[:1] or (() if start else (engine,))
    return replace(
        call, study="telemetry-writers", targets=targets, start=start, overrides=(), best={}
    ).command()


def engine_of_target(target: str) -> str:
    return engine_of_url(target) if is_url(target) else target


def plain(factor: str, value: Any, call: StudyCall) -> bool:
    """Whether the command line can say a factor's value: not a table that results know by its name alone."""
    if is_number(value) or isinstance(value, bool):
        return True
    from inrush.study.shipped import find_study
    from inrush.study.toml import read_toml

    return value in (read_toml(find_study(call.study).path).get("factors", {}).get(factor) or [])


def toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if is_number(value):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
