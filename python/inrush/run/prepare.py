"""From what a command line says to a planned study: the words are kept, so that a resume says them again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inrush.errors import UsageError, refuse
from inrush.extras import need
from inrush.results.store import Results, Store, StudyFolder
from inrush.run.call import Prepared, StudyCall
from inrush.targets.configurations import configurations, over_shards
from inrush.targets.deployments import known_engines, named_targets
from inrush.targets.limits import read_limits
from inrush.targets.needs import lacking, without
from inrush.targets.storages import over_storages

if TYPE_CHECKING:
    from inrush.study.study import Study
    from inrush.targets.deployment import Deployment


def prepare(call: StudyCall, secret_targets: Sequence[str] | None = None) -> Prepared:
    """Reads the study and plans it; touches no engine.

    secret_targets: the targets with their passwords, in place of the call's.
    Raises UsageError with every problem of the files, and for engines without a place.
    """
    from inrush.plan.plan import plan_study
    from inrush.run.preflight import file_problems, point_problems
    from inrush.study.forms import Best

    study = read_study(call)
    found = named_targets(
        study.engines, call.targets if secret_targets is None else secret_targets, call.start
    )
    found = replace(found, storages={name: Path(folder) for name, folder in call.storages.items()})
    if set(found.engines) != set(study.engines):
        study = read_study(call, found.engines)
    limits, problems = read_limits(call.limits, study, found)
    found = replace(found, limits=limits, configurations=configurations(study, found))
    refuse([*problems, *file_problems(call, study, found)])
    study = without(over_shards(study, found), call.lacks)
    best = {name: [Best(b["where"], b["value"]) for b in values] for name, values in call.best.items()}
    plan = plan_study(study, found.servers(), best)
    refuse(point_problems(call, plan, found))
    return Prepared(call, plan, found)


def as_servers_can(prepared: Prepared, deployments: Iterable[Deployment]) -> Prepared:
    """The plan without the steps whose statements a server lacks; the same where it lacks none."""
    lacks = lacking(prepared.plan.study, deployments)
    if not lacks:
        return prepared
    again = prepare(replace(prepared.call, lacks=lacks))
    return replace(again, named_targets=prepared.named_targets)


def read_study(call: StudyCall, engines: Sequence[str] | None = None) -> Study:
    from inrush.study.reading import load_study
    from inrush.study.study import Known

    catalogue = generators()
    from inrush.run.generators import refused

    known = Known(engines=known_engines(), generators=catalogue, refused=refused)
    seed = () if call.seed is None else (f"repeats.seed={call.seed}",)
    study = load_study(call.study, call.scale, (*call.overrides, *seed), engines, known)
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
