"""`inrush predict`: what a load that was not tried will give. With `--claim` what results say is frozen with its hash."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inrush.commands.printing import opened_store, say, show, show_json
from inrush.errors import UsageError, in_one_line_each
from inrush.text import number, show_level, show_s

if TYPE_CHECKING:
    from inrush.results.predictions import Claim, Predictions
    from inrush.results.store import Store

#: An interval that is surer than this is as good as endless: the spread is known from a few runs.
MOST_LEVEL = 0.9999
KINDS = ("rate", "time", "latency")
#: Behind predictions that nothing was kept of.
FREEZES = "next: nothing is kept of this; --claim freezes it before its run, and"
NOT_KEPT = f"{FREEZES} `inrush prove` in place of `inrush predict` runs and scores it too"


@dataclass(frozen=True)
class PredictCall:
    """Which results are continued, where to, and how sure the interval is to be."""

    which: str | None
    to: Sequence[float]
    figure: str | None = None
    along: str | None = None
    where: Sequence[str] = ()
    level: float = 0.9
    #: Beyond the reach of a usual prediction.
    far: bool = False


def targets(to: Sequence[str], along: str | None) -> tuple[list[float], str | None]:
    """Loads of --to, and the factor to continue, which may stand before them: `rows=3_200_000`."""
    found = []
    for given in to:
        factor, named, n = given.rpartition("=")
        if named and along not in (None, factor):
            raise UsageError(
                f"--to {given}: continues {factor or 'no factor'}, and {along} was named before; name one factor"
            )
        along = factor if named else along
        try:
            found.append(float(n))
        except ValueError:
            raise UsageError(
                f"--to {given}: {n!r} is no number; write --to 16 or --to rows=3_200_000"
            ) from None
    return found, along


def predict(wanted: PredictCall, within_s: Sequence[float], as_json: bool, freeze: bool = False) -> None:
    """Continues a file of two columns, or each group of results. freeze: keeps a claim of every prediction from results."""
    refuse_level(wanted.level)
    what = wanted.which
    of_file = what is not None and Path(what).is_file()
    if freeze and (of_file or within_s):
        raise UsageError(
            "--claim: is about results, whose study a run can repeat; no run of inrush scores a file's curve. Remove it"
        )
    if within_s:
        if what is None or not of_file:
            raise UsageError("--within takes a file of two columns: offered rates and latencies in s")
        predict_within(Path(what), within_s, wanted.level, as_json)
        return
    if not wanted.to:
        raise UsageError("say where to predict: --to N")
    if wanted.far and of_file:
        raise UsageError("--far is of results, whose tables say what becomes of them as they grow; remove it")
    if what is not None and of_file:
        predict_curve(Path(what), wanted.to, wanted.figure, wanted.level, as_json)
    elif what is not None and Path(what).suffix in (".csv", ".tsv", ".txt"):
        raise UsageError(f"{what}: no such file")
    else:
        predict_results(wanted, as_json, freeze)


def refuse_level(level: float) -> None:
    if not 0.5 <= level <= MOST_LEVEL:
        raise UsageError(f"--level {number(level)}: write a share from 0.5 to {MOST_LEVEL:g}")


def predict_curve(path: Path, to: Sequence[float], of: str | None, level: float, as_json: bool) -> None:
    """Continues a curve of the user's own."""
    from inrush.model.curve import forecast
    from inrush.predict.curve_file import read_curve

    if of not in (None, *KINDS):
        raise UsageError(f"--of {of}: a curve is of one of {', '.join(KINDS)}")
    found = read_curve(path)
    kind = of or ("time" if found.is_time else "rate")
    forecasts = [forecast(found.curve, n, kind, level=level) for n in to]  # type: ignore[arg-type]
    points = [f.document() for f in forecasts]
    if as_json:
        show_json({**points[0], "of": kind, "points": points})
        return
    show(forecast_lines(points, found.x_name, found.y_name))


def predict_within(path: Path, limit_s: Sequence[float], level: float, as_json: bool) -> None:
    """The highest rate within limits of latency, of a file of rates and latencies in s."""
    from inrush.model.curve import forecast_within
    from inrush.predict.curve_file import read_curve

    found = read_curve(path)
    points = [forecast_within(found.curve, limit, level=level).document() for limit in limit_s]
    if as_json:
        show_json({**points[0], "of": "rate within a latency", "points": points})
        return
    show(forecast_lines(points, f"{found.y_name} at most", found.x_name))


def forecast_lines(points: Sequence[dict[str, Any]], x_name: str, y_name: str) -> list[str]:
    """Forecasts as people read them: a line each, then why."""
    from inrush.stats.quantity import digits
    from inrush.text import columns

    rows = [
        [number(p["x"]), f"{'at least ' * p['is_lower_bound']}{digits(p['median'])}",
         f"[{digits(p['lo'])}, {'∞' if p['hi'] is None else digits(p['hi'])}]", p["model"],
         ", ".join(f"{k} {digits(v)}" for k, v in p["baselines"].items())]
        for p in points
    ]  # fmt: skip
    header = (x_name, y_name, f"{show_level(points[0]['level'])} interval", "model", "others would say")
    reasons = list(dict.fromkeys(why for p in points for why in p["why"]))
    return [*columns(rows, header, right=(0, 1)), *(f"  {why}" for why in reasons)]


def predict_results(wanted: PredictCall, as_json: bool, freeze: bool) -> None:
    """Shows a prediction for each group and target, or keeps it as a claim; what cannot be predicted is reported."""
    from inrush.results.predictions import Predictions

    store = opened_store()
    kept = Predictions(store)
    documents, refused = predictions(store, kept, wanted)
    if freeze:
        claims, unprovable = frozen(store, kept, documents)
        documents, refused = [c.doc for c in claims], [*refused, *unprovable]
    refuse_nothing(documents, refused)
    if as_json:
        name = "claims" if freeze else "predictions"
        show_json({**documents[0]["forecast"], name: documents, "refused": refused})
        return
    for document in documents:
        show(claim_lines(document))
    if not freeze:
        show(advice(store, documents))


def advice(store: Store, documents: Sequence[dict[str, Any]]) -> list[str]:
    """What can be done with predictions that nothing was kept of: no claim that `--claim` refuses, no proof that `prove` does."""
    refused = [(said_of(d["group"]), why) for d in documents if (why := unprovable(store, d))]
    if len(refused) == len(documents):
        return [f"nothing is kept of this: {why}" for why in dict.fromkeys(why for _, why in refused)]
    again = all(isinstance(d.get("call"), dict) for d in documents)
    next_line = NOT_KEPT if again else f"{FREEZES} `inrush prove CLAIM --with RESULTS` scores it"
    return [*(f"no claim: {group}: {why}" for group, why in refused), next_line]


def predictions(
    store: Store, kept: Predictions, wanted: PredictCall
) -> tuple[list[dict[str, Any]], list[str]]:
    """A document for each group and target, and why others have none; nothing is written."""
    from inrush.analysis.points import say as say_point
    from inrush.guards.analyse import analyse
    from inrush.model.forecast import MODEL_VERSION, Refused
    from inrush.predict.claims import archive_of, claim, far_off, forecast_of, halving_of, kept_up
    from inrush.predict.training import chosen, trainings
    from inrush.stats.measures import study_record

    analysis = analyse(study_record(store.find(wanted.which, kept.proofs())))
    archives = {of_rows: archive_of(kept.scores(MODEL_VERSION, of_rows)) for of_rows in (False, True)}
    documents, refused = [], []
    for training in chosen(trainings(analysis, wanted.along, wanted.figure), wanted.where):
        if training.left_out:
            say(
                f"{say_point(training.group)}: {training.left_out} of {training.left_out + len(training.runs)} runs have no valid "
                f"{training.figure} and are left out"
            )
        training = far_off(training) if wanted.far else training
        archive, sources = archives[training.growth is not None]
        for n in wanted.to:
            try:
                made = forecast_of(training, n, archive, wanted.level)
                schedule = kept_up(training, n, archive, wanted.level)
                halved = halving_of(training, n, archive, wanted.level)
                documents.append(claim(analysis, training, made, time.time_ns(), sources, schedule, halved))
            except Refused as e:
                refused.append(f"{say_point(training.group)}: {e}")
    return documents, refused


def frozen(
    store: Store, kept: Predictions, documents: Sequence[dict[str, Any]]
) -> tuple[list[Claim], list[str]]:
    """Keeps each prediction as a claim, but of loads that no run could be made of: those come back as reasons."""
    claims, refused = [], []
    for document in documents:
        if why := unprovable(store, document):
            refused.append(f"{said_of(document['group'])}: {why}")
        else:
            claims.append(kept.freeze(document))
    return claims, refused


def refuse_nothing(documents: Sequence[object], refused: Sequence[str]) -> None:
    """Says why groups have no prediction. Raises Refused where none has one."""
    from inrush.model.forecast import Refused

    if not documents:
        raise Refused("\n".join(refused))
    for refusal in refused:
        say(f"refused: {refusal}")


def unprovable(store: Store, claimed: Mapping[str, Any]) -> str:
    """Why the run that the claim is about has no plan, as `inrush prove` will make it; empty where it has one.

    Results that do not say how they were begun are proven by others (`--with`).
    """
    from inrush.commands.running import planned, usual_data
    from inrush.predict.proving import proving_call
    from inrush.run.preflight import rights_problems

    if not isinstance(claimed.get("call"), dict):
        return ""
    call = proving_call(claimed)
    try:
        made = planned(store, call)
    except UsageError as e:
        x = claimed["forecast"]["x"]
        return (
            f"{claimed['along']} {number(x)} cannot be run, so no run could score a claim about it: {e}; name another --to, or "
            f"predict from results with other sizes ({call.study} at another --scale)"
        )
    data = Path(call.data) if call.data else usual_data(store, made)
    if missing := in_one_line_each(rights_problems(made, data)):
        return (
            f"this machine does not permit the run that would score a claim about it: {'; '.join(map(str, missing))}; predict "
            "where it is permitted"
        )
    return ""


def predict_need(
    rows_per_s: float, p99_ms: float | None, days: float, which: Sequence[str], as_json: bool
) -> None:
    """What a required rate needs, engine by engine, from the named results or from all."""
    from inrush.guards.analyse import analyse
    from inrush.model.forecast import MODEL_VERSION
    from inrush.predict.claims import archive_of
    from inrush.predict.sizing import Need, sizings
    from inrush.predict.sizing_text import sizing_lines
    from inrush.predict.support import records_of
    from inrush.results.predictions import Predictions
    from inrush.results.store import Results
    from inrush.stats.measures import study_record

    if not all(0 < value < math.inf for value in (rows_per_s, days, 1.0 if p99_ms is None else p99_ms)):
        raise UsageError("rates, latencies and days are finite, and above 0")
    store = opened_store()
    done = [s for s in reversed(store.studies()) if s.doc.get("status") == "done"]
    results = [store.find(w) for w in which] if which else [Results(s.path) for s in done]
    kept = Predictions(store)
    archive, _ = archive_of(kept.scores(MODEL_VERSION))
    records = records_of([(c.doc, c.score) for c in kept.counted()], MODEL_VERSION)
    need = Need(rows_per_s, None if p99_ms is None else p99_ms / 1e3, days)
    found = sizings([analyse(study_record(r)) for r in results], need, archive, records)
    if as_json:
        show_json(
            {
                "rows_per_s": rows_per_s,
                "p99_ms": p99_ms,
                "days": days,
                "engines": [s.document() for s in found],
            }
        )
    else:
        show(sizing_lines(found, need))


def predict_for(
    needed: str, by: str, which: str | None, threads: str | None, level: float, as_json: bool
) -> None:
    """How many nodes and clients a rate needs: `reads.ops_per_s=200e6`, by `nodes,clients`."""
    from inrush.guards.analyse import analyse
    from inrush.predict.cluster import CLIENTS, NODES, fleet_lines, fleets
    from inrush.stats.measures import study_record

    refuse_level(level)
    figure, _, wanted = needed.rpartition("=")
    try:
        per_s = float(wanted)
    except ValueError:
        per_s = 0.0
    if not figure.endswith(".ops_per_s") or not 0 < per_s < float("inf"):
        raise UsageError(
            f"--for {needed}: write a rate of a role and how much of it, such as reads.ops_per_s=200e6"
        )
    if sorted(by.split(",")) != sorted((NODES, CLIENTS)):
        raise UsageError(f"--by {by}: a rate is asked for by nodes,clients")
    found = fleets(analyse(study_record(opened_store().find(which))), figure, per_s, threads, level)
    if as_json:
        show_json({"figure": figure, "per_s": per_s, "fleets": [f.document() for f in found]})
        return
    show(fleet_lines(found, figure))


def said_of(group: Mapping[str, Any]) -> str:
    return ", ".join(f"{v}" if k == "engine" else f"{k} {v}" for k, v in group.items())


def claim_lines(doc: dict[str, Any]) -> list[str]:
    """A prediction in a few lines; where it was frozen, with its hash and the command that proves it."""
    from inrush.stats.quantity import show as shown

    made, figure = doc["forecast"], doc["figure"]
    bounds = f"[{shown(made['lo'], figure)}, {shown(made['hi'], figure)}]"
    limit = {None: "", "load": "; no resource is full there"}.get(
        made["bottleneck"], f"; limited by {made['bottleneck']}"
    )
    sure = "calibrated" if made["calibrated"] else "uncalibrated"
    return [
        f"{said_of(doc['group'])}: {figure} at {doc['along']} {number(made['x'])} will be {shown(made['median'], figure)} {bounds} "
        f"({show_level(made['level'])}, {sure}, {made['model']}){limit}",
        *([f"  {schedule_line(doc)}"] if "keeps_up" in doc else []),
        *hours_lines(doc),
        *(f"  {why}" for why in made["why"]),
        *([f"  {halving_line(doc)}"] if "halved_by" in doc else []),
        *frozen_lines(doc),
    ]


def frozen_lines(doc: dict[str, Any]) -> list[str]:
    if "sha256" not in doc:
        return []
    return [f"  frozen: {doc['id']} sha256 {doc['sha256']}", f"  next: {proving(doc)}"]


def proving(doc: Mapping[str, Any]) -> str:
    """The command that proves a claim; results that do not say how they were begun cannot be run again."""
    return f"inrush prove {doc['id']}" + ("" if isinstance(doc.get("call"), dict) else " --with RESULTS")


#: From here on a time is shown in hours as well.
HOUR_S = 3600.0


def hours_lines(doc: dict[str, Any]) -> list[str]:
    """Of a claimed time of an hour or more: `that is 20 h 14 min [16 h 2 min, 25 h 40 min]`"""
    made = doc["forecast"]
    if not doc["figure"].endswith(("duration_s", "makespan_s")) or made["median"] < HOUR_S:
        return []
    return [f"  that is {show_s(made['median'])} [{show_s(made['lo'])}, {show_s(made['hi'])}]"]


def halving_line(doc: dict[str, Any]) -> str:
    """`to halve this interval (now a factor of 1.20): measure 2 runs of rows 6,400,000 (3 h 6 min of loading); a factor of 1.09 then`"""
    from inrush.stats.quantity import digits

    by = doc["halved_by"]
    wanted = []
    if by["x"] is not None:
        known = by["x"] in {p["x"] for p in doc["training"]}
        runs = f"{by['runs']} {'more ' if known else ''}run{'s' * (by['runs'] != 1)}"
        wanted.append(f"{runs} of {doc['along']} {number(by['x'])}")
    if by["times"] > 1:
        wanted.append(
            f"{by['times']} times the runs of every size, as the claim is about the mean of as many"
        )
    takes = f" ({show_s(by['takes'])} of loading)" if by["takes"] else ""
    return f"to halve this interval (now a factor of {digits(by['before'])}): measure {' and '.join(wanted)}{takes}; a factor of {digits(by['after'])} then"


def schedule_line(doc: dict[str, Any]) -> str:
    """Whether samples are stored in time at the load of the claim, and from which load they are not."""
    from inrush.predict.sizing_text import percent
    from inrush.stats.quantity import digits

    held = doc["keeps_up"]
    sure = held["sure"] if held["says"] else 1 - held["sure"]
    until = (
        "" if held["until"] is None else f"; it falls behind from {doc['along']} {digits(held['until'])} on"
    )
    return (
        f"{'keeps up' if held['says'] else 'falls behind'} ({percent(sure)} sure): the slowest samples take "
        f"{digits(held['slowest_s'])} s, the next is due after {digits(held['limit_s'])} s{until}"
    )
