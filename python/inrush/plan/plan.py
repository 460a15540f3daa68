"""From a study to its runs: every point, every repetition, every statement, before anything is touched. Pure.

`plan_study` crosses the factors with the engines, plans each point once (`plan_point`), and repeats the points in
blocks. Block 0 is the pilot; it ascends, fixes the stopped points and the cost estimate, and enters no figure. A study
that could learn nothing from it has none (`Study.has_pilot`).
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from inrush.border.labels import STORAGE, UP_AND_DOWN, RunLabels, goes_up
from inrush.border.pipeline import AnyPlan, LoadingPointPlan
from inrush.border.plan import PointPlan as SessionsPointPlan
from inrush.border.plan import ShardsPlan
from inrush.engines.base.plans import Unsupported
from inrush.engines.base.twin import Twin
from inrush.errors import Problem, UsageError, refuse
from inrush.plan.calibration import CLIENT_OVERHEAD, FLOOR, calibration_plan
from inrush.plan.loads import sessions_of
from inrush.plan.planned import Missing, PlannedRun, Point, StudyPlan
from inrush.plan.planned_point import PointPlan
from inrush.plan.point import plan_point
from inrush.plan.search import in_bisection_order, sweeps
from inrush.study.at_point import study_at
from inrush.study.forms import Best, FromFactor
from inrush.study.roles import label
from inrush.study.settings import start_factors
from inrush.study.study import Study


def plan_study(
    study: Study,
    servers: Mapping[str, Twin],
    best: Mapping[str, Sequence[Best]] | None = None,
) -> StudyPlan:
    """All runs of a study in their order.

    servers: the twin of every engine of the study. best: study -> what it found, for `best_of`.
    Raises UsageError for points that contradict themselves, e.g. a batch larger than its volume.
    """
    seed = study.repeats.seed
    points = points_of(study)
    planned: dict[str, PointPlan] = {}
    unsupported: list[Missing] = []
    problems: list[Problem] = []
    for point in points:
        if point.engine not in servers:
            problems.append(Problem(study.file, "engines", point.engine, "this build has no such engine"))
            continue
        try:
            found = planned_point(study, point, servers, seed, best or {})
        except UsageError as refused:
            problems += [
                replace(p, file=study.file if p.key else "", remedy=by_factor(study, p.remedy))
                for p in refused.problems
            ]
            continue
        if isinstance(found, PointPlan):
            planned[point.id] = found
        else:
            unsupported.append(Missing(point.id, point.engine, point.labels, found.reason))
    refuse(dict.fromkeys(problems))
    runs = tuple(
        planned_run(study, point, planned[point.id], block, order)
        for block in study.blocks
        for order, point in enumerate(p for p in block_order(study, points, block, seed) if p.id in planned)
    )
    calibrations, calibrated_by = planned_calibrations(study, points, planned, servers)
    confirmations = planned_confirmations(study, points, planned, servers, seed, best or {})
    return StudyPlan(
        study=study,
        seed=seed,
        points=tuple(points),
        runs=runs,
        unsupported=tuple(unsupported),
        hash=digest([run.hash for run in (*runs, *calibrations, *confirmations)]),
        planned=planned,
        calibrations=calibrations,
        calibrated_by=calibrated_by,
        confirmations=confirmations,
    )


def planned_point(
    study: Study,
    point: Point,
    servers: Mapping[str, Twin],
    seed: int,
    best: Mapping[str, Sequence[Best]],
) -> PointPlan | Unsupported:
    """The point with what its server is started with, where the study says it."""
    if other := not_of_engine(study, servers[point.engine], point):
        return Unsupported(other)
    at = study_at(study, point.engine, point.factors, best)
    found = plan_point(at, servers[point.engine], point.engine, point.id, seed)
    settings = at.start.get(point.engine, {})
    if not settings or not isinstance(found, PointPlan):
        return found
    said = ", ".join(f"{name}={value}" for name, value in settings.items())
    note = f"{point.engine}: a server is started with {said}, for its own points alone"
    return replace(found, labels={**found.labels, "start": settings}, notes=(*found.notes, note))


def not_of_engine(study: Study, server: Twin, point: Point) -> str:
    """Why a value of a factor is not of the point's engine; empty where all are."""
    if study.pipeline is None:
        for name, value in point.factors.items():
            engines = value.get("engines") if isinstance(value, Mapping) else None
            if engines and point.engine.partition(":")[0] not in engines:
                return f"{name} {label(value)} is of {', '.join(engines)}"
    if point.factors.get("layout", "none") != "none" and not server.indexes:
        return (
            f"{point.engine} has no indexes of a table's own: layout {point.factors['layout']} would be none"
        )
    return ""


def by_factor(study: Study, remedy: str) -> str:
    """With the factor that a role's depth follows in place of the role's own key."""
    for name, role in study.roles.items():
        if isinstance(role.depth, FromFactor):
            remedy = remedy.replace(f"-P roles.{name}.depth=", f"-P {role.depth.factor}=")
    return remedy


# --- points and their order ------------------------------------------------------------------------------


def points_of(study: Study) -> list[Point]:
    """Every combination, factors ascending where they are numbers, engines innermost."""
    names = list(study.factors)
    values = [ascending(study.factors[name]) for name in names]
    return [
        Point(
            point_id(engine, dict(zip(names, chosen, strict=True))),
            engine,
            dict(zip(names, chosen, strict=True)),
        )
        for chosen in itertools.product(*values)
        for engine in study.engines
    ]


def ascending(values: Sequence[object]) -> list[object]:
    numbers = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    return [*sorted(numbers)] if len(numbers) == len(values) else list(values)


def point_id(engine: str, factors: Mapping[str, object]) -> str:
    return " ".join([engine, *(f"{name}={label(value)}" for name, value in factors.items())])


def block_order(study: Study, points: Sequence[Point], block: int, seed: int) -> list[Point]:
    """The pilot ascends. Later blocks go up and down in turn, or are shuffled by combination: inside one the engines run
    next to each other, each on all of its storages, every other time in reverse (A B, B A, …), so that a drift of the
    machine falls on all of them alike. Points of one configuration of servers stay together in every block.

    The shuffle is a sort by a hash: the same on every machine, and a removed value moves no other.
    """
    restarts = start_factors(study.start)
    if block == 0 and study.search is not None:
        along = study.search.along
        bisected = [p for sweep in sweeps(points, along) for p in in_bisection_order(sweep)]
        # A search for a setting of the server starts it anew for each value that it tries.
        return bisected if along in restarts else server_by_server(bisected, restarts)
    points = server_by_server(points, restarts)
    if block == 0 or study.repeats.order == "as_written":
        return points
    if study.repeats.order == UP_AND_DOWN:
        return points if goes_up(block) else list(reversed(points))
    combinations: dict[str, list[Point]] = {}
    for point in points:
        combinations.setdefault(point_id("", without_storage(point.factors)), []).append(point)
    for beside in combinations.values():
        # An engine's storages next to each other; without them the engines are in this order already.
        beside.sort(key=lambda p: study.engines.index(p.engine))
    shuffled = sorted(combinations, key=lambda name: digest([seed, block, name]))
    firsts = server_by_server([combinations[name][0] for name in shuffled], restarts)
    return [
        point
        for place, first in enumerate(firsts)
        for point in combinations[point_id("", without_storage(first.factors))][
            :: -1 if (place + block) % 2 else 1
        ]
    ]


def server_by_server(points: Sequence[Point], restarts: Collection[str]) -> list[Point]:
    """The points in their order, but those of one server together, where the first of them stands: a block starts each
    server once. restarts: factors for which a server is started anew; without any the order stays."""
    of_server: dict[str, list[Point]] = {}
    for point in points:
        asked = {name: value for name, value in point.factors.items() if name in restarts}
        of_server.setdefault(point_id("", asked), []).append(point)
    return [point for together in of_server.values() for point in together]


def without_storage(factors: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in factors.items() if name != STORAGE}


def planned_run(
    study: Study, point: Point, planned: PointPlan, block: int, order: int, confirms: bool = False
) -> PlannedRun:
    labels: RunLabels = {
        "study": study.name,
        "point": point.id,
        "engine": point.engine,
        "factors": point.labels,
        "block": block,
        "order": order,
        "scale": study.scale or "",
        **planned.labels,
    }
    if confirms:
        labels["confirms"] = True
    found = plan_hash(of_run(planned.plan, "", labels))
    run_id = f"b{block:02d}-{order:03d}-{found[:8]}"
    plan = of_run(planned.plan, run_id, labels)
    return PlannedRun(run_id, point.id, plan, labels, block, order, found, planned.namespace)


def of_run(plan: SessionsPointPlan | LoadingPointPlan, run_id: str, labels: RunLabels) -> AnyPlan:
    """The plan of a point as that of one of its runs."""
    if "loads" in plan:
        return {**plan, "run_id": run_id, "labels": labels}
    return {**plan, "run_id": run_id, "labels": labels}


def planned_calibrations(
    study: Study,
    points: Sequence[Point],
    planned: Mapping[str, PointPlan],
    servers: Mapping[str, Twin],
) -> tuple[tuple[PlannedRun, ...], dict[str, str]]:
    """One run for all points of embedded engines that do the same work, and which point has which."""
    runs: dict[str, PlannedRun] = {}
    by: dict[str, str] = {}
    if study.pipeline is not None:  # its client is measured for itself, and no engine lives in it
        return (), {}
    first = sum(p.id in planned for p in points)
    for point in points:
        floor = point.engine.partition(":")[0] == FLOOR
        if point.id not in planned or floor or not servers[point.engine].embedded:
            continue
        measured = planned[point.id].plan
        made = calibration_plan(sessions_of(measured) if "loads" in measured else measured)
        if not made["segments"]:  # client and load server alone do what is timed
            continue
        key = digest(made)
        if key not in runs:
            name = f"{CLIENT_OVERHEAD}{point_id(FLOOR, point.factors)}"
            labels: RunLabels = {"study": study.name, "point": name, "engine": FLOOR, "factors": point.labels,
                      "block": 0, "order": first + len(runs), "scale": study.scale or ""}  # fmt: skip
            run_id = f"b00-{first + len(runs):03d}-{key[:8]}"
            plan = of_run(made, run_id, labels)
            runs[key] = PlannedRun(run_id, name, plan, labels, 0, first + len(runs), plan_hash(plan))
        by[point.id] = runs[key].run_id
    return tuple(runs.values()), by


def planned_confirmations(
    study: Study,
    points: Sequence[Point],
    planned: Mapping[str, PointPlan],
    servers: Mapping[str, Twin],
    seed: int,
    best: Mapping[str, Sequence[Best]],
) -> tuple[PlannedRun, ...]:
    """Blocks after the last, of which only the best points and their contenders are made: the best of many was
    chosen for its luck too, so what it is said to be comes from runs that did not choose it."""
    if study.answer is None or study.answer.kind != "best":
        return ()
    fresh_seed = int(digest([seed, "confirm"])[:12], 16)
    fresh: dict[str, PointPlan] = {}
    runs: list[PlannedRun] = []
    for block in range(study.repeats.count + 1, study.repeats.count + 1 + study.repeats.confirmations):
        in_order = (p for p in block_order(study, points, block, seed) if p.id in planned)
        for order, point in enumerate(in_order):
            if point.id not in fresh:
                again = planned_point(study, point, servers, fresh_seed, best)
                assert isinstance(again, PointPlan), "another seed changes rows, not what an engine can do"
                fresh[point.id] = again
            runs.append(planned_run(study, point, fresh[point.id], block, order, confirms=True))
    return tuple(runs)


# --- hashes ----------------------------------------------------------------------------------------------


def plan_hash(plan: AnyPlan) -> str:
    """Hash of what a run does: not of its own name, where its target is or which processes are watched."""
    kept: dict[str, object] = {key: value for key, value in plan.items() if key != "run_id"}
    target = plan["target"]
    kept["target"] = (
        target["engine"] if "shards" not in target else [target["engine"], without_urls(target["shards"])]
    )
    kept["watch"] = plan["watch"]["every_ns"]
    kept["tables"] = [
        {**table, "source": {k: v for k, v in table["source"].items() if k != "reject_path"}}
        for table in plan["tables"]
    ]
    return digest(kept)


def without_urls(shards: ShardsPlan) -> list[object]:
    return [len(shards["urls"]), shards.get("keys")]


def digest(value: object) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def canonical(value: object) -> str:
    """JSON with sorted keys and without blanks: equal plans have equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
