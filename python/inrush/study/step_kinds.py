"""Kinds of steps: what each needs, and which figures it has. `plan/steps.py` has the segments that each becomes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Generic

from inrush.metrics import (
    OF_ALTER,
    OF_ENDS_OF_A_STEP,
    OF_HOST,
    OF_LENGTH,
    OF_LOAD,
    OF_LOAD_SERVER,
    OF_PAGES,
    OF_ROLE,
    OF_SIZES,
    OF_WORK,
    names,
)
from inrush.study.forms import Ref
from inrush.study.inputs import StepFiles
from inrush.study.parts import Schedule
from inrush.study.pipeline import ROLE as PIPELINES
from inrush.study.pipeline import Pipeline, StepPipeline
from inrush.study.roles import Role

KIND: Final = "steps"
#: What every step is given.
COMMON = ("name", "do", "after", "limit_s", "only")
#: Of every step: its own length, what the client, a watched server and the machine computed in it, what was read and written.
OF_ALL = names(OF_LENGTH, OF_ENDS_OF_A_STEP) + tuple(f"host_{of}" for of in names(OF_HOST))
#: Of a step with sessions.
OF_SESSIONS = names(OF_ROLE, OF_WORK) + OF_ALL


@dataclass(frozen=True, kw_only=True)
class Step(Generic[Ref]):
    name: str
    #: Left out where this earlier step is.
    after: str | None = None
    #: None: `schedule.limit_s`.
    limit_s: float | None = None
    #: Factor -> its values at which the step is done; of a factor that is not named, all.
    only: Mapping[str, Sequence[object]] = field(default_factory=dict)
    #: Why the study does not do it at any point; empty: it does.
    without: str = ""

    do: ClassVar[str]
    #: Beside `COMMON`.
    keys: ClassVar[Sequence[str]] = ()
    required: ClassVar[Sequence[str]] = ()
    #: What may be asked of it by `answer`, `accept` and rules.
    figures: ClassVar[Sequence[str]] = OF_ALL

    @property
    def sessions(self) -> Mapping[str, Role[Ref]]:
        """Its roles by their names in the plan, which are those of its figures."""
        return {}

    @property
    def mistake(self) -> str:
        """What contradicts itself in it, whatever the study is; empty: nothing."""
        return ""


@dataclass(frozen=True, kw_only=True)
class RoleStep(Step[Ref]):
    """Sessions at work; their role has the step's name."""

    role: Role[Ref]

    @property
    def sessions(self) -> Mapping[str, Role[Ref]]:
        return {self.name: self.role}


@dataclass(frozen=True, kw_only=True)
class Load(RoleStep[Ref]):
    """Rows of one table, which nothing but loads writes."""

    #: They follow the rows of the loads of this table before it.
    adds: bool = False
    #: The dump whose files they are read from; None: they are made.
    source: str | None = None
    #: By client and load server of `inrush load`; None: by sessions of the run.
    pipeline: StepPipeline[Ref] | None = None
    #: The rows lie in files that are made before; None: they are made while they are sent.
    files: StepFiles[Ref] | None = None
    #: A run that is killed in it goes on behind what is stored.
    resumable: bool = False
    do = "load"
    keys: ClassVar[Sequence[str]] = (
        "operation", "table", "rows", "adds", "from", "files", "sessions", "depth", "batch_rows", "schedule", "pipeline", "resumable",
    )  # fmt: skip
    required = ("table",)
    figures = OF_SESSIONS + names(OF_LOAD_SERVER, OF_SIZES, OF_LOAD)


@dataclass(frozen=True, kw_only=True)
class Read(RoleStep[Ref]):
    """Calls of one operation or a mix of them, so many or for so long."""

    #: Where the role has no number of calls.
    seconds: float = 0.0
    #: The same calls before and behind, which enter no figure.
    warm_s: float = 0.0
    cool_s: float = 0.0
    do = "read"
    keys: ClassVar[Sequence[str]] = (
        "operation", "operations", "table", "sessions", "depth", "calls", "seconds", "warm_s", "cool_s", "keys", "keys_per_call",
        "schedule",
    )  # fmt: skip
    figures = OF_SESSIONS + names(OF_PAGES)

    @property
    def mistake(self) -> str:
        given = (self.role.calls is not None) + bool(self.seconds)
        return "" if given == 1 else "write calls = N or seconds = S: how much is read"


@dataclass(frozen=True, kw_only=True)
class KeyCalls(Read[Ref]):
    """Calls by key that add rows, change or delete them, perhaps with reads among them."""

    do = "call"
    figures = OF_SESSIONS + names(OF_SIZES)


@dataclass(frozen=True, kw_only=True)
class Extract(Read[Ref]):
    """Calls whose rows are looked at as they come, and not kept."""

    do = "extract"
    keys: ClassVar[Sequence[str]] = (
        "operation", "sessions", "calls", "seconds", "method", "fetch_rows", "schedule"
    )  # fmt: skip
    required = ("operation",)
    figures = OF_SESSIONS + names(OF_PAGES)


@dataclass(frozen=True, kw_only=True)
class Io(Read[Ref]):
    """Calls that read or write records of a file."""

    do = "io"
    keys: ClassVar[Sequence[str]] = ("operation", "sessions", "calls", "seconds", "io", "schedule")
    required = ("operation", "io")
    figures = OF_SESSIONS


@dataclass(frozen=True, kw_only=True)
class Dump(RoleStep[Ref]):
    """All rows of a table, written to files."""

    #: What rows follow one another by: `key` or `time`.
    by: str | Ref
    #: None: one for each partition of a table that the engine cuts by time, else one.
    files: int | Ref | None = None
    #: Empty: in the folder of the run, and gone with it.
    folder: str = ""
    do = "dump"
    keys = ("table", "by", "files", "folder", "sessions", "method", "fetch_rows")
    required = ("table", "by")
    figures = OF_SESSIONS + names(OF_SIZES)


@dataclass(frozen=True, kw_only=True)
class Roles(Step[Ref]):
    """Several roles at once, as a study without steps has them; each is named `step.role`."""

    roles: Mapping[str, Role[Ref]]
    #: Of readers that have neither calls nor a role to end with.
    seconds: float = 0.0
    do = "roles"
    keys: ClassVar[Sequence[str]] = ("roles", "seconds")
    required: ClassVar[Sequence[str]] = ("roles",)
    figures = OF_ALL + names(OF_SIZES)

    @property
    def sessions(self) -> Mapping[str, Role[Ref]]:
        return self.roles


@dataclass(frozen=True, kw_only=True)
class Alter(Roles[Ref]):
    """Roles at work while a statement runs beside them. It is the one call of a role with the step's name, whose user thinks
    before it."""

    operation: str
    #: The roles work by themselves for so long: what their rates are compared with.
    before_s: float
    do = "alter"
    keys = ("roles", "seconds", "operation", "before_s")
    required = ("roles", "operation", "before_s")
    figures = OF_SESSIONS + names(OF_ALTER, OF_SIZES)

    @property
    def sessions(self) -> Mapping[str, Role[Ref]]:
        later: Schedule[Ref] = Schedule(think_s=self.before_s)
        statement: Role[Ref] = Role(self.name, {self.operation: 1}, calls=1, schedule=later)
        return {**self.roles, self.name: statement}

    @property
    def mistake(self) -> str:
        if not 0 < self.seconds <= self.before_s:
            return ""
        return "its roles end before the statement begins; write seconds = S for all of the step, more than before_s"


@dataclass(frozen=True, kw_only=True)
class Statement(Step[Ref]):
    """What an engine does by itself, as statements of its dialect: an operation of kind `maintain`."""

    operation: str
    do = "statement"
    keys = ("operation",)
    required = ("operation",)
    figures = ("statements", *OF_ALL, *names(OF_SIZES))


@dataclass(frozen=True, kw_only=True)
class Sort(Step[Ref]):
    """The files of a later load, by the key of its table, into as many files."""

    do = "sort"


@dataclass(frozen=True, kw_only=True)
class Cold(Step[Ref]):
    """Neither the server nor the kernel has a page of the data in memory when it ends."""

    do = "cold"


@dataclass(frozen=True, kw_only=True)
class Restart(Step[Ref]):
    """A clean stop and a start of the server at the same data."""

    do = "restart"


@dataclass(frozen=True, kw_only=True)
class Settle(Step[Ref]):
    """Nothing, for so long: background work of the server goes on."""

    seconds: float
    do = "settle"
    keys = ("seconds",)
    required = ("seconds",)
    figures = OF_ALL + names(OF_SIZES)


@dataclass(frozen=True, kw_only=True)
class Measure(Step[Ref]):
    """All that a study without steps does: tables that no role writes are loaded, then the roles work at once.

    It has no name: figures have those of its roles alone.
    """

    name: str = ""
    roles: Mapping[str, Role[Ref]]
    #: Of readers that have neither calls nor a role to end with; the same calls before and behind, which enter no figure.
    seconds: float = 0.0
    warm_s: float = 0.0
    cool_s: float = 0.0
    #: What is written is written again, into fresh tables that are each proven, until it was measured for so long.
    at_least_s: float = 0.0
    max_repetitions: int = 1
    proof: str = "checksum"
    do = "measure"

    @property
    def sessions(self) -> Mapping[str, Role[Ref]]:
        return self.roles


@dataclass(frozen=True, kw_only=True)
class LoadOverShards(Step[Ref]):
    """All that a study of kind `pipeline` does: client and load server load one table, which lies on shards.

    It has no name: figures have that of its role.
    """

    name: str = ""
    pipeline: Pipeline[Ref]
    do = "load"

    @property
    def sessions(self) -> Mapping[str, Role[Ref]]:
        of = self.pipeline
        return {PIPELINES: Role(PIPELINES, {}, table=(of.table,), sessions=of.pipelines)}


#: Kinds that a study names.
STEPS: Mapping[str, type[Step[Any]]] = {
    kind.do: kind
    for kind in (
        Load,
        Read,
        KeyCalls,
        Extract,
        Io,
        Dump,
        Roles,
        Alter,
        Statement,
        Sort,
        Cold,
        Restart,
        Settle,
    )
}
