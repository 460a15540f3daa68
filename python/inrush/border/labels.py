"""Labels of a run: what a plan carries for the report. The core keeps them and does not read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from inrush.border.operation import KeyLaw

if TYPE_CHECKING:
    from typing_extensions import NotRequired


#: The factor whose values are names of folders: where an engine keeps its data.
STORAGE = "storage"


#: Order of a study's blocks in which a load grows and falls in turn: a sweep up, and one down.
UP_AND_DOWN = "up_and_down"


def goes_up(block: int) -> bool:
    """The direction of a block of such a study. The pilot, 0, always ascends."""
    return block % 2 == 1 or block == 0


def storage_of(labels: Mapping[str, object]) -> str:
    """The storage that a run is on; empty where its study has one place for an engine."""
    factors = labels.get("factors")
    return str(factors.get(STORAGE, "")) if isinstance(factors, Mapping) else ""


def start_of(labels: Mapping[str, object]) -> dict[str, str]:
    """What the study has the run's server started with; empty where it leaves that to the command line."""
    said = labels.get("start")
    return {str(name): str(value) for name, value in said.items()} if isinstance(said, Mapping) else {}


class OracleTable(TypedDict):
    index: int
    name: str
    create: Sequence[str]
    first_row: int
    rows: int


class OracleOperation(TypedDict):
    text: str
    params: Sequence[str]


class OraclePlan(TypedDict):
    """The quiet queries in the dialect of another engine, and the tables that they are asked of."""

    engine: str
    tables: Sequence[OracleTable]
    operations: Mapping[str, OracleOperation]


class KeyCoverage(TypedDict):
    """What the keys of an operation cover."""

    table: str
    columns: Sequence[str]
    rows: int
    by: KeyLaw
    different_rows_per_million_draws: int
    names_a_row: bool


class OptionalLabels(TypedDict, total=False):
    """Of points and runs that have them."""

    #: Role -> keys of one call.
    keys_per_call: Mapping[str, int]
    #: Operation -> what its keys cover.
    keys: Mapping[str, KeyCoverage]
    #: Operation -> why the engine's mixes go without it.
    left_out: Mapping[str, str]
    #: Client processes, where there are several: `sessions` are those of each.
    clients: int
    #: Of steps: table -> columns of each index that the layout gives it.
    indexes: Mapping[str, Sequence[Sequence[str]]]
    #: Step -> its kind, in order; those that are left out are among them.
    steps: Mapping[str, str]
    #: Step -> why this engine's runs go without it.
    steps_left_out: Mapping[str, str]
    #: Name of figures -> the steps that they add up.
    totals: Mapping[str, Sequence[str]]
    #: Setting -> value that the study has its server started with.
    start: Mapping[str, str]
    #: A fresh repeat of a point that turned out best.
    confirms: bool


class PointLabels(OptionalLabels):
    kind: str
    method: str
    layout: str
    options: Mapping[str, str]
    #: Written in one repetition.
    rows: int
    #: By role.
    batch_rows: Mapping[str, int]
    sessions: Mapping[str, int]
    notes: Sequence[str]
    oracle: OraclePlan | None


class RunLabels(OptionalLabels):
    """Those of its point, which a calibration has none of, and which run it is."""

    study: str
    point: str
    engine: str
    factors: Mapping[str, object]
    block: int
    order: int
    scale: str
    kind: NotRequired[str]
    method: NotRequired[str]
    layout: NotRequired[str]
    options: NotRequired[Mapping[str, str]]
    rows: NotRequired[int]
    batch_rows: NotRequired[Mapping[str, int]]
    sessions: NotRequired[Mapping[str, int]]
    notes: NotRequired[Sequence[str]]
    oracle: NotRequired[OraclePlan | None]
