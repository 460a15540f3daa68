"""Before a study runs: do rows survive the same on all its engines?

Each server is asked for its settings as the runs will ask it; what acknowledged rows survive must then be the same on
all, or the study asks for the comparison. Engines in one study stand in one table and on one chart, whatever its
answer holds against what: a reader compares them.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from inrush.analysis.comparability import durability_difference, first_unequal
from inrush.analysis.run_facts import is_instrument
from inrush.border.labels import start_of, storage_of
from inrush.border.pipeline import AnyPlan, shards_of
from inrush.engines import server
from inrush.engines.base.durability_level import Durability, Survives
from inrush.engines.base.instance import LOG, Instance, Release, Target
from inrush.errors import Problem, UsageError
from inrush.machine.host import existing
from inrush.plan.planned import PlannedRun, StudyPlan
from inrush.study.shipped import SHIPPED
from inrush.targets.ask import ask as ask_target
from inrush.targets.ask import connected
from inrush.targets.deployment import Deployment, key_of, lifecycle_of
from inrush.targets.deployments import NamedTargets, deployment_at, settings_on
from inrush.targets.passwords import environment

#: Limit of one statement, s.
ASK_S = 30.0

#: What rows of a run survive; None where it could not be asked.
Asked = Callable[[PlannedRun], Durability | None]


def refuse_unequal(
    plan: StudyPlan,
    deployments: Mapping[str, Deployment],
    data: Path,
    begun: bool,
    note: Callable[[str], None],
) -> None:
    """Raises UsageError when a study's engines let rows survive different things, unasked.

    data: folder for the files that embedded engines open to be asked. begun: runs of it were made before, perhaps by an
    inrush that did not ask: it goes on, since its answer and report say by each run's own settings what is not compared.
    """

    def asked(run: PlannedRun) -> Durability | None:
        deployment = deployments[key_of(run)]
        deployment.make_ready()
        return ask(run.plan, deployment, deployment.folder or data)

    if not (engines := unequal(plan, asked)):
        return
    if begun:
        note(
            f"acknowledged rows survive different things ({durability_difference([engines])}): the study goes on as it began, and each "
            "engine's figures stand alone; to have them compared all the same, begin it anew with --unequal-durability"
        )
    else:
        raise UsageError(refusal(plan, engines))


def durability_problems(plan: StudyPlan, found: NamedTargets, data: Path, scratch: Path) -> Iterator[Problem]:
    """The same before any server is started, where it is certain: servers to start are judged by the settings that they will
    be started with, all others are asked.

    data: folder for the files of servers that are started. scratch: for the files that embedded engines open to be asked.
    """
    if engines := unequal(plan, lambda run: ahead(run, found, data, scratch)):
        yield Problem.sentence(refusal(plan, engines))


def ahead(run: PlannedRun, found: NamedTargets, data: Path, scratch: Path) -> Durability | None:
    """What rows of a run will survive; None where only a server that is started can say it."""
    engine = str(run.plan["target"]["engine"])
    if engine not in found.start:
        deployment, _ = deployment_at(engine, found.urls.get(engine, ""))
        return ask(run.plan, deployment, existing(scratch))
    twin, storage = server(engine), storage_of(run.labels)
    if twin.as_shipped is None:
        return None
    asked = {**settings_on(found, engine, storage), **start_of(run.labels)}
    place = found.storages.get(storage, data)
    release = Release(engine, "", place)
    instance = Instance(engine, place, "", 0, 0, place / LOG, release, asked)
    of_sessions = {
        name.removeprefix(OF_SESSION): str(value)
        for name, value in run.plan["target"].get("options", {}).items()
        if name.startswith(OF_SESSION)
    }
    settings = {**lifecycle_of(twin).start_settings(instance), **of_sessions}
    said = {name: as_said(value, twin.as_shipped.get(name, "")) for name, value in settings.items()}
    of = Deployment(twin, Target(engine, "", instance=instance))
    return of.durability({**twin.as_shipped, **said}, place)


#: Before the names of settings of a session, in options of a target.
OF_SESSION = "set."
ON_OFF = {
    **dict.fromkeys(("on", "true", "yes", "1"), "on"),
    **dict.fromkeys(("off", "false", "no", "0"), "off"),
}


def as_said(value: str, shipped: str) -> str:
    """A switch as its server says it, however it is written; anything else as it is."""
    if shipped.lower() not in ("on", "off"):
        return value
    said = ON_OFF.get(value.lower(), value)
    return said.upper() if shipped.isupper() else said


def is_comparison(plan: StudyPlan) -> bool:
    """Whether engines stand side by side, and nobody has asked for it in spite of what their rows survive."""
    return not plan.study.unequal_durability and len(measured_engines(plan.runs)) > 1


def refusal(plan: StudyPlan, engines: Mapping[str, str]) -> str:
    """What differs, every way to make it equal, and which engine has none."""
    own = "" if Path(plan.study.file).is_relative_to(SHIPPED) else Path(plan.study.file).name
    ways = to_make_equal(engines, {e: server(e).survive_by for e in engines}, own)
    return (
        f"{plan.study.name} runs engines side by side whose acknowledged rows survive different things "
        f"({durability_difference([engines])}). Make them equal: {'; or '.join(ways)}. Or run them all the same with "
        "--unequal-durability, which the report then says"
    )


def measured_engines(runs: Sequence[PlannedRun]) -> set[str]:
    return {e for e in (str(run.plan["target"]["engine"]) for run in runs) if not is_instrument(e)}


def unequal(plan: StudyPlan, asked: Asked) -> Mapping[str, str] | None:
    """Engine -> what its rows survive, at the first point where engines differ that is equal otherwise; each server is asked
    once with the same settings. None of a study that compares none, or is to compare them in spite of it."""
    if not is_comparison(plan):
        return None
    known: dict[str, Durability | None] = {}
    at: dict[str, dict[str, str]] = {}
    for run in plan.runs:
        target = run.plan["target"]
        engine = str(target["engine"])
        if is_instrument(engine):
            continue
        key = json.dumps([key_of(run), target.get("options", {})], sort_keys=True)
        if key not in known:
            known[key] = asked(run)
        if (durability := known[key]) is not None:
            factors = {k: v for k, v in run.labels.get("factors", {}).items() if k != "engine"}
            of_point = at.setdefault(json.dumps(factors, sort_keys=True, default=str), {})
            of_point[engine] = durability.survives.name
    return first_unequal(at.values())


def to_make_equal(
    engines: Mapping[str, str], ways: Mapping[str, Mapping[Survives, str]], file: str = ""
) -> list[str]:
    """A sentence for each level that some of the engines have already: what brings the others there, the highest first.

    Where an engine has no setting for it, the sentence says so. file: of the study; empty: it is a shipped one.
    """
    sentences = []
    for level in sorted({Survives[name] for name in engines.values()}, key=lambda s: -s.value):
        others = sorted(e for e, name in engines.items() if name != level.name)
        each = [
            in_both(ways[e][level].format(engine=e), file)
            if level in ways[e]
            else f"{e} has no setting for it"
            for e in others
        ]
        sentences.append(f"for {WORDS[level]} on all, {', '.join(each)}")
    return sentences


#: `--start postgresql,fsync=off (a note)`; `[options.sqlite] synchronous = 'FULL'`.
START = re.compile(r"--start (?P<engine>\w+),(?P<settings>\S+)")
OPTION = re.compile(r"\[options\.(?P<engine>\w+)\] (?P<key>\S+) = '(?P<value>[^']*)'")


def in_both(way: str, file: str) -> str:
    """A setting as the command line takes it, and as the study's file does, if the user has one. A key with a dot in its name
    has a place in a file alone."""
    if start := START.match(way):
        settings = [setting.partition("=") for setting in start["settings"].split(",")]
        said = ", ".join(f"{quoted(name)} = '{value}'" for name, _, value in settings)
        return (
            f"{way} (or --start {start['engine']} and, in {file}, start.{start['engine']} = {{ {said} }})"
            if file
            else way
        )
    if option := OPTION.match(way):
        engine, key, value = option["engine"], option["key"], option["value"]
        line = f"options.{engine}.{key} = '{value}'"
        if key.startswith("'"):
            return f"{line} in {file or 'a copy of the study'}"
        return f"-P options.{engine}.{key}={value}" + (f" (or, in {file}, {line})" if file else "")
    return way


def quoted(name: str) -> str:
    return f"'{name}'" if "." in name else name


#: What rows survive, as words of a sentence.
WORDS = {
    Survives.POWER_LOSS: "rows that survive power loss",
    Survives.PROCESS_CRASH: "rows that survive a crash of the process",
    Survives.NOTHING: "rows that survive nothing",
}


def ask(plan: AnyPlan, deployment: Deployment, data: Path) -> Durability | None:
    """What rows survive by the settings of the run's server; None where it could not be asked: the run will say why."""
    from inrush import _core

    # Of a load over shards they stand with its shards, which are made alike.
    statements = [s for shard in shards_of(plan)[:1] for s in shard["settings"]] or [
        probe["statement"]
        for segment in plan["segments"]
        if segment["kind"] == "probe"
        for probe in segment["probes"]
        if probe["into"] == "settings"
    ]
    data.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=data) as scratch, environment(deployment.environment):
        target = deployment.server.run_target(deployment.target, Path(scratch))
        options = {**plan["target"].get("options", {}), **target.options}
        address = {"engine": target.engine, "url": target.url, "options": options}
        settings: dict[str, str] = {}
        try:
            # An embedded database is opened once for all of them: to open DuckDB takes longer than to ask it.
            with connected(address) if deployment.server.embedded else nullcontext() as connection:
                for statement in statements:
                    rows = ask_target(address, statement, ASK_S, connection)
                    settings |= {str(row[0]): str(row[1]) for row in rows}
        except _core.CoreFailure:
            return None
    return deployment.durability(settings, data)
