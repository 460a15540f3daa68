"""From what a command line says to a planned study: the words are kept, so that a resume says them again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inrush.engines import page_cache, server
from inrush.engines.instance import TRANSPORT, UNIX
from inrush.errors import Problem, UsageError
from inrush.extras import need
from inrush.results.store import Results, Store, StudyFolder
from inrush.run.call import StudyCall
from inrush.study.at_point import plain
from inrush.study.files import made_rows
from inrush.study.forms import FromFactor
from inrush.study.shards import WAYS
from inrush.study.step_kinds import Cold, LoadOverShards, Restart, Step
from inrush.targets import shards
from inrush.targets.configurations import configurations, start_problems
from inrush.targets.deployments import NamedTargets, known_engines, named_targets
from inrush.targets.limits import limit_problems, read_limits
from inrush.targets.needs import lacking, without
from inrush.targets.storages import over_storages, storage_problems

if TYPE_CHECKING:
    from inrush.plan.planned import StudyPlan
    from inrush.study.study import Study
    from inrush.targets.deployment import Deployment


@dataclass(frozen=True)
class Prepared:
    call: StudyCall
    plan: StudyPlan
    named_targets: NamedTargets

    def document(self) -> dict[str, Any]:
        """study.json as it begins."""
        return {**self.plan.document(), "call": self.call.document(), "command": self.call.command()}


def prepare(call: StudyCall, secret_targets: Sequence[str] | None = None) -> Prepared:
    """Reads the study and plans it; touches no engine.

    secret_targets: the targets with their passwords, in place of the call's.
    Raises UsageError with every problem of the files, and for engines without a place.
    """
    from inrush.plan.plan import plan_study
    from inrush.run.generators import check_generators
    from inrush.study.forms import Best

    study = read_study(call)
    found = named_targets(
        study.engines, call.targets if secret_targets is None else secret_targets, call.start
    )
    found = replace(found, storages={name: Path(folder) for name, folder in call.storages.items()})
    if set(found.engines) != set(study.engines):
        study = read_study(call, found.engines)
    limits, problems = read_limits(call.limits, study, found)
    found = replace(found, limits=limits)
    problems += storage_problems(study, found, call.data)
    problems += start_problems(study, found)
    found = replace(found, configurations=configurations(study, found))
    problems += limit_problems(found, Path(call.data) if call.data else Path.cwd())
    if problems:
        raise UsageError(problems)
    study = without(over_shards(study, found), call.lacks)
    best = {name: [Best(b["where"], b["value"]) for b in values] for name, values in call.best.items()}
    plan = plan_study(study, found.servers(), call.seed, best)
    check_generators(plan)
    if not plan.runs:
        reasons = "; ".join(dict.fromkeys(f"{m.point}: {m.reason}" for m in plan.unsupported))
        raise UsageError(f"{call.study}: nothing to run on {', '.join(found.engines)}: {reasons}")
    check_answer(plan)
    check_transports(plan, found)
    check_steps(plan, found)
    check_input(call, plan)
    return Prepared(call, plan, found)


def as_servers_can(prepared: Prepared, deployments: Iterable[Deployment]) -> Prepared:
    """The plan without the steps whose statements a server lacks; the same where it lacks none."""
    lacks = lacking(prepared.plan.study, deployments)
    if not lacks:
        return prepared
    again = prepare(replace(prepared.call, lacks=lacks))
    return replace(again, named_targets=prepared.named_targets)


def check_answer(plan: StudyPlan) -> None:
    """Raises UsageError where every point goes without the step that the answer is about: no run could measure it."""
    asked = plan.study.answer
    step = asked.of.partition(".")[0] if asked is not None else ""
    planned = {p.engine: plan.planned[p.id] for p in plan.points if p.id in plan.planned}
    every = [p.labels.get("steps_left_out", {}).get(step) for p in plan.planned.values()]
    if asked is None or not every or not all(every):
        return
    reasons = "; ".join(
        f"{engine}: step {step} is left out: {point.labels['steps_left_out'][step]}"
        for engine, point in planned.items()
    )
    remedy = f"no point can measure it ({reasons}); run it on an engine that has the step, or ask for another figure"
    raise UsageError([Problem(plan.study.file, "answer.of", asked.of, remedy)])


def check_transports(plan: StudyPlan, found: NamedTargets) -> None:
    """Raises UsageError where a run wants the socket of a server with a URL that says how it is reached."""
    by_socket = {
        str(run.plan["target"]["engine"])
        for run in plan.runs
        if run.plan["target"]["options"].get(TRANSPORT) == UNIX
    }
    if given := sorted(by_socket & found.urls.keys()):
        engine = given[0]
        raise UsageError(
            f"options.{engine}.{TRANSPORT}: {UNIX} is for servers that inrush starts (--start {engine}); name the socket of "
            "yours in its URL (docs/engines.md) and leave the option out"
        )


def check_steps(plan: StudyPlan, found: NamedTargets) -> None:
    """Raises UsageError with every step for which inrush would have to stop and start a server that is not its own, or
    lacks the right to drop the kernel's caches."""
    refused: dict[str, list[Step[FromFactor]]] = {}
    for step in plan.study.steps:
        for engine in plan.study.engines if isinstance(step, Cold | Restart) else ():
            if server(engine).embedded:
                continue
            if engine in found.urls:
                remedy = f"inrush did not start this server and will not stop it; use --start {engine}, or leave the step out"
            elif isinstance(step, Cold) and not page_cache.can_drop():
                remedy = f"the kernel keeps {engine}'s files in memory: {page_cache.DROP} can be written by root only"
            else:
                continue
            refused.setdefault(remedy, []).append(step)
    if refused:
        raise UsageError([steps_problem(plan.study, steps, remedy) for remedy, steps in refused.items()])


def check_input(call: StudyCall, plan: StudyPlan) -> None:
    """Raises UsageError where a folder for input files is named and none is made."""
    if call.input and not any(made_rows(run.plan) for run in plan.runs):
        raise UsageError(
            f"--input {call.input}: {call.study} makes no input files (`files` or `pipeline` of a load step, kind = "
            '"pipeline"); leave it out'
        )


def steps_problem(study: Study, steps: Sequence[Step[FromFactor]], remedy: str) -> Problem:
    """One message for all steps that have this problem."""
    places = [f"steps[{study.steps.index(step)}].do" for step in steps]
    kinds = " or ".join(dict.fromkeys(step.do for step in steps))
    if len(steps) > 1:
        remedy = remedy.replace("leave the step out", "leave the steps out")
    return Problem(study.file, ", ".join(places), kinds, remedy)


def over_shards(study: Study, found: NamedTargets) -> Study:
    """The study over the shards that `--start ENGINE,shards=N` starts for it: all of them, or as many as it names.

    Raises UsageError where it has no use for them or wants more.
    """
    begun = {engine: shards.shard_count(server(engine), settings) for engine, settings in found.start.items()}
    begun = {engine: count for engine, count in begun.items() if count}
    of_sessions = study.shards if study.pipeline is None else None
    if not begun:
        if of_sessions is not None:
            engines = ", ".join(found.engines)
            raise UsageError(
                f"{study.name}: its sessions go over shards, which {engines} has not; use --start {found.engines[0]},{shards.SHARDS}=N"
            )
        return study
    detail = ", ".join(f"{engine},{shards.SHARDS}={count}" for engine, count in begun.items())
    if study.pipeline is None and of_sessions is None:
        raise UsageError(
            f"--start {detail}: sessions of this study run on one server; say how they reach shards, "
            f"-P shards.way={' or '.join(WAYS)}"
        )
    key = "shards.count" if study.pipeline is None else "pipeline.shards"
    wanted = of_sessions.count if of_sessions is not None else study.pipeline.shards if study.pipeline else 1
    if wanted is None or (wanted == 1 and study.pipeline is not None):
        if len(set(begun.values())) > 1:
            raise UsageError(f"--start {detail}: engines are compared over equally many shards")
        if of_sessions is not None:
            return replace(study, shards=replace(of_sessions, count=min(begun.values())))
        assert study.pipeline is not None, "sessions have returned"
        over = replace(study.pipeline, shards=min(begun.values()))
        return replace(study, steps=(LoadOverShards(pipeline=over),))
    points = (
        [{wanted.factor: v} for v in study.factors[wanted.factor]] if isinstance(wanted, FromFactor) else [{}]
    )
    most = max(int(plain(wanted, point)) for point in points)
    if most > min(begun.values()):
        raise UsageError(f"--start {detail}: the study has up to {most} shards ({key}); start so many")
    return study


def read_study(call: StudyCall, engines: Sequence[str] | None = None) -> Study:
    from inrush.study.study import Known, load_study

    catalogue = generators()
    from inrush.run.generators import refused

    known = Known(engines=known_engines(), generators=catalogue, refused=refused)
    study = load_study(call.study, call.scale, call.overrides, engines, known)
    study = over_storages(study, tuple(call.storages))
    return replace(study, unequal_durability=True) if call.unequal_durability else study


def generators() -> Any:
    """The core's catalogue of generators. Raises UsageError when the core is not built."""
    try:
        from inrush import _core
    except ImportError as e:
        raise UsageError(
            f"the core is not built ({e}); `make build` in the checkout, or `pip install .`"
        ) from e
    return json.loads(_core.generators())


def with_clients(call: StudyCall, clients: Callable[[], int]) -> StudyCall:
    """The call with so many client processes in each run, unless it or its study says how many: then nothing is asked."""
    said = any(override.partition("=")[0].strip() == "clients" for override in call.overrides)
    if call.fleet is None:
        return call
    study = read_study(call)
    if study.pipeline is not None:  # its own numbers say on how many hosts it is
        return call
    if said or study.clients != 1 or (count := clients()) == 1:
        return call
    return replace(call, overrides=(*call.overrides, f"clients={count}"))


def best_found(store: Store, names: Sequence[str], scale: str | None) -> dict[str, list[dict[str, Any]]]:
    """What the latest finished results of the named studies, of the same scale, answer as best."""
    best_values: dict[str, list[dict[str, Any]]] = {}
    for name in names:
        done = [s for s in store.studies() if s.name == name and s.doc.get("status") == "done"]
        same = [s for s in done if s.doc.get("scale") == scale]
        if same:
            best_values[name] = bests(Results(same[-1].path))
    return best_values


def bests(results: Results) -> list[dict[str, Any]]:
    need("the best of another study", "stats")
    from inrush.analysis.answer import answer
    from inrush.guards.analyse import analyse
    from inrush.stats.measures import study_record

    decided = answer(analyse(study_record(results)))
    if decided is None or decided.kind != "best":
        return []
    return [{"where": dict(part.group), "value": part.best[0]} for part in decided.parts if part.best]


def best_of_names(study: Study) -> list[str]:
    """Studies that a study asks for their best."""
    from inrush.study.forms import BestOf

    return sorted(
        {role.batch_rows.study for role in study.roles.values() if isinstance(role.batch_rows, BestOf)}
    )


def call_of(folder: StudyFolder) -> StudyCall:
    """The call that began a study. Raises UsageError when the folder does not say."""
    kept = folder.doc.get("call")
    if not isinstance(kept, dict):
        raise UsageError(f"{folder.path}: does not say how it was begun; run the study anew")
    return call_from(kept)


def call_from(document: Mapping[str, Any]) -> StudyCall:
    """A call as JSON keeps it."""
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in document.items()}
    return StudyCall(**values)


def unfinished(store: Store, named: str | None) -> StudyFolder:
    """The study to go on with: by id or name, or the latest that is not done."""
    if named is not None:
        path = store.find(named).path
        return StudyFolder(path)
    all_ = store.studies()
    open_ = [s for s in all_ if s.doc.get("status") != "done"]
    if open_:
        return open_[-1]
    if not all_:
        raise UsageError(f"{store.root}: nothing to resume, no study is there")
    # Killed behind its last run; `inrush runs` has the same words.
    left = [s.path.name for s in all_ if "verdict" not in s.doc]
    lacks = f"; no verdict is kept of {left[-1]}: `inrush report {left[-1]}` writes it" if left else ""
    raise UsageError(f"{store.root}: nothing to resume, all runs of every study there are made{lacks}")
