"""The plan of a pipeline run: a document of its own kind, which `inrush.pipeline` executes with parts that the core reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict, cast, final

from inrush.border.load import ClientPlan, LedgerPlan, ServerPlan
from inrush.border.plan import (
    ControlSegment,
    OpPlan,
    Phase,
    ProbeSegment,
    ProofPlan,
    RepeatPlan,
    RolePlan,
    RunPlan,
    Segment,
    Statement,
    StoredTable,
    TablePlan,
    Target,
    WatchPlan,
)

if TYPE_CHECKING:
    from typing_extensions import NotRequired

    from inrush.border.labels import RunLabels


class PipelineShard(TypedDict):
    """What is made, proven and dropped on one shard; its address is filled in where it runs."""

    namespace: str
    create: Sequence[Statement]
    drop: Sequence[Statement]
    table: StoredTable
    ledger: LedgerPlan
    #: A query for one number.
    rows_in_ledger: str
    proof: ProofPlan
    settings: Sequence[Statement]
    sizes: Sequence[Statement]
    target: NotRequired[Target]


class LoadSegment(TypedDict):
    kind: Literal["load"]
    label: str
    phase: Literal["measure"]
    roles: Sequence[RolePlan]
    limit_ns: int


class ShardProofSegment(TypedDict):
    """Proofs stand with the shards."""

    kind: Literal["proof"]
    label: str


PipelineSegment: TypeAlias = ControlSegment | ProbeSegment | LoadSegment | ShardProofSegment


class Interval(TypedDict):
    interval_ns: int


class InputFiles(TypedDict):
    files: int
    rows_per_file: int
    table: TablePlan
    #: The kernel forgets them before the clock.
    cold: bool
    folder: str


class Pipelines(TypedDict):
    """How many, and what limits the load on purpose."""

    count: int
    client: str
    process_per_file: bool
    load_server_cores: float
    device_bytes_per_s: int
    pipeline_bytes_per_s: int
    shard_rows_per_s: int


class PipelineOfPoint(TypedDict):
    """What is the same in every run of a point."""

    version: int
    kind: Literal["pipeline"]
    study: str
    seed: int
    epoch_ns: int
    target: Target
    tables: Sequence[TablePlan]
    operations: Sequence[OpPlan]
    segments: Sequence[PipelineSegment]
    record: Interval
    watch: WatchPlan
    inputs: InputFiles
    pipelines: Pipelines
    client: ClientPlan
    load_server: ServerPlan
    shards: Sequence[PipelineShard]


@final
class PipelinePointPlan(PipelineOfPoint):
    """A `PipelinePlan` before it is known which run it is of."""


@final
class PipelinePlan(PipelineOfPoint):
    run_id: str
    labels: NotRequired[RunLabels]


#: Of a run, whatever its kind.
AnyPlan: TypeAlias = RunPlan | PipelinePlan


#: Of a plan, whatever its kind.
AnySegment: TypeAlias = Segment | PipelineSegment


def roles_of(segment: AnySegment) -> Sequence[RolePlan]:
    """Empty where none works."""
    return cast("Sequence[RolePlan]", segment.get("roles", ()))


def phase_of(segment: AnySegment) -> Phase | None:
    return cast("Phase | None", segment.get("phase"))


def step_of(segment: AnySegment) -> str:
    """Empty where it belongs to no step."""
    return cast("str", segment.get("step", ""))


def repeat_of(segment: AnySegment) -> RepeatPlan | None:
    return cast("RepeatPlan | None", segment.get("repeat"))


def shards_of(plan: AnyPlan) -> Sequence[PipelineShard]:
    """Empty of a plan of sessions."""
    return plan["shards"] if "kind" in plan else ()
