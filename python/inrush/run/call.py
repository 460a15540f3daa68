"""What a command line decides about a study, in plain values: kept, so that a resume says it again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import Field, asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inrush.border.labels import STORAGE
from inrush.engines import ENGINES
from inrush.errors import UsageError
from inrush.targets.deployments import named_targets
from inrush.targets.storages import read_data

if TYPE_CHECKING:
    from inrush.plan.planned import StudyPlan
    from inrush.targets.deployments import NamedTargets


def option(flag: str, default: Any = None, *, may_change: bool = False) -> Any:
    """A field that an option of `inrush run` says. may_change: a resume may say another value."""
    made: Field[Any] = field(
        default_factory=lambda: default, metadata={"flag": flag, "may_change": may_change}
    )
    return made


@dataclass(frozen=True)
class StudyCall:
    """What decides a plan or the conditions of its runs; filed as `call` of study.json. Passwords are not part of it."""

    study: str
    scale: str | None = option("--scale")
    overrides: tuple[str, ...] = option("-P", ())
    targets: tuple[str, ...] = ()
    start: tuple[str, ...] = option("--start", ())
    seed: int | None = option("--seed")
    #: Engines are compared although their acknowledged rows survive different things.
    unequal_durability: bool = option("--unequal-durability", False)
    #: The client comes before all else on its machine.
    realtime: bool = option("--realtime", False)
    #: Study -> what it had found when this one was begun, for `best_of`.
    best: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    #: Folder for the data of engines with files of inrush's own; None: the usual one.
    data: str | None = option("--data", may_change=True)
    #: Storage -> its folder, in place of `data`.
    storages: Mapping[str, str] = option("--data", {})
    #: Folder for the input files that the study makes; None: they lie with the data.
    input: str | None = option("--input")
    #: What servers are held to: `slow.write_bytes_per_s=20M`.
    limits: tuple[str, ...] = option("--limit", ())
    #: Engine -> operation -> why its server, asked when the study began, cannot do it.
    lacks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: Where client processes live, and whether the way there may be without TLS; None: this machine.
    fleet: str | None = option("--fleet")
    fleet_insecure: bool = option("--fleet-insecure", False)

    def options(self) -> dict[str, tuple[str, Any, bool]]:
        """Field -> its option, the value that was said, and whether a resume may say another; without those not said."""
        each = ((f, getattr(self, f.name)) for f in fields(self) if f.metadata)
        return {
            f.name: (f.metadata["flag"], value, f.metadata["may_change"])
            for f, value in each
            if value is not None and value is not False and value not in ((), {})
        }

    def command(self) -> str:
        """The line that makes this study again, as a shell takes it."""
        said = (words_of(flag, value) for flag, value, _ in self.options().values())
        return shlex.join(
            ["inrush", "run", self.study, *self.targets, *(word for words in said for word in words)]
        )

    def storages_at(self, factors: Mapping[str, Any]) -> dict[str, str]:
        """Those of one point of the study."""
        return {name: folder for name, folder in self.storages.items() if name == factors.get(STORAGE)}

    def deploys(self, engine: str) -> dict[str, Any]:
        """Where and with which settings an engine stands by this call, empty where it has no place: loads of two that stand
        alike take as long."""
        try:
            named = named_targets([engine], self.targets, self.start)
        except UsageError:
            return {}
        if engine not in named.engines:
            return {}
        limits = [limit for limit in self.limits if limit.partition(".")[0] not in {*ENGINES} - {engine}]
        return {
            "url": named.urls.get(engine),
            "start": named.start.get(engine),
            "places": (self.data, self.storages, self.input, self.fleet),
            "limits": sorted(limits),
        }

    def document(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Prepared:
    """A study that is planned and not begun, and where it runs."""

    call: StudyCall
    plan: StudyPlan
    named_targets: NamedTargets

    def document(self) -> dict[str, Any]:
        """study.json as it begins."""
        return {**self.plan.document(), "call": self.call.document(), "command": self.call.command()}


def words_of(flag: str, value: Any) -> list[str]:
    """An option once for each of its values."""
    if value is True:
        return [flag]
    if isinstance(value, Mapping):
        return [word for name, one in value.items() for word in (flag, f"{name}={one}")]
    each = value if isinstance(value, tuple) else (value,)
    return [word for one in each for word in (flag, str(one))]


def said_of(data: Sequence[str] | None, input_folder: Path | None, **options: Any) -> StudyCall:
    """The call without its study and targets. options: fields as a command line has them, None where it says nothing.

    Folders are absolute: another command line, begun elsewhere, means the same ones.
    """
    place, storages = read_data(data or ())
    said: dict[str, Any] = {
        name: tuple(v) if isinstance(v, list) else v for name, v in options.items() if v is not None
    }
    return replace(
        StudyCall(""),
        data=None if place is None else str(place.absolute()),
        storages=storages,
        input=None if input_folder is None else str(input_folder.resolve()),
        **said,
    )
