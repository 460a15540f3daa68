"""Which engines a study runs on, and where: files for the embedded ones, the user's addresses, our own instances."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from inrush.border import address
from inrush.engines import ENGINES, engine_of_url, server
from inrush.engines.base.instance import Stop, Target
from inrush.engines.base.twin import Twin
from inrush.engines.servers import server_limits
from inrush.errors import Problem, UsageError, refuse
from inrush.plan.calibration import FLOOR
from inrush.targets import register, shards
from inrush.targets.deployment import Deployment, lifecycle_of, place_key
from inrush.targets.leftovers import end_leftovers
from inrush.targets.passwords import split_password
from inrush.targets.turns import Admit, Turns, folder_with


@dataclass(frozen=True)
class NamedTargets:
    """What the command line asks for, before anything is touched."""

    #: In the study's order.
    engines: tuple[str, ...]
    #: Engine -> address, passwords included.
    urls: Mapping[str, str] = field(default_factory=dict)
    #: Engines to start here -> their settings.
    start: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: Engines of the study that have no place, with what to say about it.
    left_out: Mapping[str, str] = field(default_factory=dict)
    #: Storage -> its folder; empty where an engine has one place.
    storages: Mapping[str, Path] = field(default_factory=dict)
    #: Storage or engine -> limit -> value, as settings of a server say it.
    limits: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: Engine to start -> what the study has its servers started with, a server each.
    configurations: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)

    def servers(self) -> dict[str, Twin]:
        return {engine: server(engine) for engine in self.engines}


def named_targets(
    study_engines: Sequence[str], targets: Sequence[str] = (), start: Sequence[str] = ()
) -> NamedTargets:
    """Engines and addresses of one call. Pure but for the import of the twins.

    The study runs on what is named: targets, each a URL or an embedded engine, and engines to start, each a word with its
    settings (`started_words`). Where nothing is named it runs on its embedded engines.
    Raises UsageError with everything that is wrong with these words.
    """
    begun = started_words(start)
    urls: dict[str, str] = {}
    named: list[str] = []
    problems: list[Problem] = []
    for target in targets:
        try:
            engine = engine_of_target(target, begun)
        except UsageError as refused:
            problems += refused.problems
            continue
        if engine in named:
            said = f"{address.shown(target)}: {engine} is named twice; a study compares engines, not addresses of one"
            problems.append(Problem.sentence(said))
            continue
        named.append(engine)
        if address.is_url(target):
            urls[engine] = target
    for engine in begun:
        if engine in urls:
            said = f"--start {engine}: a URL of {engine} is given too; choose one of them"
            problems.append(Problem.sentence(said))
        if server(engine).embedded:
            said = f"--start {engine}: it runs inside inrush and needs no start; name it as target instead"
            problems.append(Problem.sentence(said))
    refuse(problems)
    chosen = dict.fromkeys([*named, *begun]) or dict.fromkeys(e for e in study_engines if server(e).embedded)
    left_out = {} if named or begun else {e: needs_target(e) for e in study_engines if e not in chosen}
    if not chosen:
        raise UsageError("; ".join(left_out.values()))
    ordered = [e for e in study_engines if e in chosen] + [e for e in chosen if e not in study_engines]
    return NamedTargets(tuple(ordered), urls, begun, left_out)


def engine_of_target(target: str, begun: Collection[str]) -> str:
    """The engine of a URL, or one that is named. begun: engines to start. Raises UsageError."""
    if not address.is_url(target):
        if not server(target).embedded and target not in begun:
            raise UsageError(needs_target(target))
        return target
    engine = engine_of_url(target)
    if not server(engine).takes_url:
        raise UsageError(
            f"{address.shown(target)}: {engine} makes a file of its own, and takes none of yours; write {engine}, and --data DIR for its folder"
        )
    return engine


def needs_target(engine: str) -> str:
    return f"{engine}: it needs a server; give its URL ({server(engine).schemes[0]}://…) or --start {engine}"


@contextlib.contextmanager
def opened(
    found: NamedTargets,
    data: Path,
    note: Callable[[str], None],
    keep: Callable[[], bool] = lambda: True,
    admit: Admit = lambda one: contextlib.nullcontext(),
) -> Iterator[dict[str, Deployment]]:
    """Sites of all engines; what is started here is stopped at the end, however that comes.

    data: folder for the instances, where no storages are named. keep: asked at the end whether their data stays
    there; else it goes with them, unless a server does not end. admit: what is asked of a server that is started later,
    when a run of it comes.
    Raises TargetError when a server does not start; its folder stays, since its log is there.
    """
    with contextlib.ExitStack() as stack:
        deployments: dict[str, Deployment] = {}
        for storage, folder in (found.storages or {"": data}).items():
            for engine, twin in found.servers().items():
                key = place_key(engine, storage)
                if engine in found.start:
                    register.remember(folder)
                    end_leftovers(twin, folder)
                    settings = settings_on(found, engine, storage)
                    if configurations := found.configurations.get(engine):
                        turns = Turns(partial(started, note=note), stop, admit)
                        for asked in configurations:
                            place = folder_with(folder, engine, asked)
                            deployments[place_key(engine, storage, asked)] = turns.add(
                                twin, place, {**settings, **asked}
                            )
                            stack.callback(left, engine, place, keep, note)
                        stack.callback(turns.end)
                        continue
                    place = folder / engine
                    try:
                        deployments[key] = started(twin, place, settings, note)
                    except KeyboardInterrupt:
                        if not keep():
                            removed(place)
                        raise
                    stack.callback(ended, deployments[key], place, keep, note)
                    continue
                deployments[key], warning = deployment_at(engine, found.urls.get(engine, ""))
                if warning:
                    note(warning)
            # It prices the client's own work, also in studies that do not name it.
            deployments.setdefault(place_key(FLOOR, storage), Deployment(server(FLOOR), Target(FLOOR, "")))
            for deployment in deployments.values():
                if storage and not deployment.target.storage:
                    deployment.folder = folder
                    deployment.target = replace(deployment.target, storage=storage)
        yield deployments


def settings_on(found: NamedTargets, engine: str, storage: str) -> dict[str, str]:
    """Settings of an engine's server on a storage: its own, and the limits of both; those of the storage hold over the engine's."""
    limits = {**found.limits.get(engine, {}), **found.limits.get(storage, {})}
    return {**found.start[engine], **{server_limits.PREFIX + name: value for name, value in limits.items()}}


def each_settings_on(found: NamedTargets, engine: str, storage: str) -> list[dict[str, str]]:
    """The same of each of its servers there, with what the study has them started with."""
    own = settings_on(found, engine, storage)
    return [{**own, **asked} for asked in found.configurations.get(engine) or ({},)]


def named_deployments(found: NamedTargets) -> dict[str, Deployment]:
    """Engine -> the user's server or file, which is there before anything is started."""
    return {engine: deployment_at(engine, url)[0] for engine, url in found.urls.items()}


def deployment_at(engine: str, url: str) -> tuple[Deployment, str | None]:
    """A target of the user's, and a warning where its URL shows a password."""
    shown, environment, warning = split_password(url)
    return Deployment(server(engine), Target(engine, shown), environment), warning


def started_words(words: Sequence[str], option: str = "--start ") -> dict[str, dict[str, str]]:
    """Engine -> settings, of words like `mysql,profile=default,innodb_flush_log_at_trx_commit=2`.

    A part without `=` goes on with the value before it. option: what stands before each word where it is typed. Raises
    UsageError.
    """
    settings_of: dict[str, dict[str, str]] = {}
    problems: list[Problem] = []
    for word in words:
        engine, *parts = word.split(",")
        if engine in settings_of:
            problems.append(Problem.sentence(f"{option}{word}: {engine} is named twice"))
            continue
        settings_of[engine] = {}
        try:
            settings_of[engine] = settings_of_word(word, engine, parts, option)
        except UsageError as refused:
            problems += refused.problems
    refuse(problems)
    return settings_of


def settings_of_word(word: str, engine: str, parts: Sequence[str], option: str) -> dict[str, str]:
    settings: dict[str, str] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if equals and name.strip():
            if name.strip() in settings:
                raise UsageError(f"{option}{word}: {name.strip()} is given twice")
            settings[name.strip()] = value.strip()
        elif settings and not equals:
            last = next(reversed(settings))
            settings[last] += f",{part}"
        else:
            if part.strip() in known_engines():
                raise UsageError(
                    f"{option}{word}: engines stand apart; write {option}{engine} {option}{part.strip()}"
                )
            raise UsageError(f"{option}{word}: {part!r} is no setting; write {engine},name=value")
    return settings


def started(twin: Twin, data: Path, settings: Mapping[str, str], note: Callable[[str], None]) -> Deployment:
    """One server, or a coordinator and its shards."""
    count, own = shards.split(twin, settings)
    lifecycle_of(twin).note = note
    if not count:
        note(f"starting {twin.name} in {data}")
        instance = lifecycle_of(twin).start(data, own)
        return Deployment(twin, Target(twin.name, instance.url, {}, instance))
    first, *rest = [Target(twin.name, i.url, {}, i) for i in shards.start(twin, data, own, count, note)]
    return Deployment(twin, first, shards=tuple(rest))


def stop(deployment: Deployment) -> None:
    """All of it: where one part does not end, the others still do."""
    with contextlib.ExitStack() as stack:
        for target in (*deployment.shards, deployment.target):
            if target.instance is not None:
                stack.callback(lifecycle_of(deployment.server).stop, target.instance, Stop.CLEAN)


def ended(deployment: Deployment, place: Path, keep: Callable[[], bool], note: Callable[[str], None]) -> None:
    """Stops a server, and removes what it stored where it is not to stay."""
    stop(deployment)
    left(deployment.server.name, place, keep, note)


def left(engine: str, place: Path, keep: Callable[[], bool], note: Callable[[str], None]) -> None:
    """What a server stored, after its end: it stays, or is removed."""
    if not keep() or not (place.is_dir() and any(place.iterdir())):
        removed(place)
    else:
        note(f"data of {engine} stays in {place}")


def removed(place: Path) -> None:
    """A server's folder, those of its shards, and the folder around them if that is empty then."""
    for folder in (place, *shards.folders(place)):
        shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        place.parent.rmdir()
        register.forget(place.parent)


def known_engines() -> dict[str, tuple[str, ...]]:
    """Engine -> its insert methods: what study files are checked against."""
    return {engine: server(engine).methods for engine in ENGINES}
