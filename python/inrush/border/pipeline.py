"""The plan of a run with loads by client and load server, which `inrush.load.pipeline` executes with parts that the core reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict, cast, final

from inrush.border import address
from inrush.border.load import ClientPlan, LedgerPlan, ServerPlan
from inrush.border.plan import (
    OpPlan,
    Phase,
    ProofPlan,
    RecordPlan,
    RepeatPlan,
    RolePlan,
    RunPlan,
    SamplePlan,
    Segment,
    SharePlan,
    Statement,
    StoredTable,
    TablePlan,
    Target,
    WatchPlan,
)

if TYPE_CHECKING:
    from typing_extensions import NotRequired

    from inrush.border.labels import RunLabels


class LoadPlace(TypedDict):
    """Where the load server writes."""

    namespace: str
    ledger: LedgerPlan


class ShardCopy(TypedDict):
    """Where a shard holds the rows of the shard before it once more."""

    table: StoredTable
    ledger: LedgerPlan
    #: A query for one number.
    rows_in_ledger: str
    proof: ProofPlan


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
    #: Absent where rows are stored once.
    replica: NotRequired[ShardCopy]
    target: NotRequired[Target]


class InputFiles(TypedDict):
    files: int
    #: Absent: files are those that the table lies in by itself (`chunks`), of unequal sizes.
    rows_per_file: NotRequired[int]
    table: TablePlan
    #: The kernel forgets them before the clock.
    cold: bool
    folder: str
    #: Of all files; the last one may have fewer than the others.
    rows: int
    #: The operation that dumped them; absent: they are made.
    dump: NotRequired[str]


class Pipelines(TypedDict):
    """How many, and what limits the load on purpose."""

    count: int
    client: str
    #: Hosts that the pipelines are shared out to, where workers are those of a fleet; absent: one.
    client_hosts: NotRequired[int]
    #: Names of workers or of their hosts: of the load server, and behind it of clients; empty: any. Absent where the study names none.
    on: NotRequired[Sequence[str]]
    process_per_file: bool
    load_server_cores: float
    device_bytes_per_s: int
    pipeline_bytes_per_s: int
    shard_rows_per_s: int


class LoadEnds(TypedDict):
    """What client and load server are started with."""

    inputs: InputFiles
    pipelines: Pipelines
    client: ClientPlan
    load_server: ServerPlan


class GoesOn(TypedDict):
    """What is asked of the ledger of a load that goes on after a kill."""

    #: Up to a text and `)`: writes the mark of the run that made the table, and reads it.
    write_mark: str
    read_mark: str
    #: Rows of (file, chunks, last chunk, 1 if its last chunk is stored, rows).
    files: str
    #: Up to a list of files: rows of (file, chunk, rows, the place behind it).
    chunks: str
    #: Rows of the table itself: one number.
    rows: str


class ShardServer(TypedDict):
    """A server of one shard, or of several that are namespaces of it."""

    #: Its role in `resources`.
    role: str
    engine: str
    #: Of its address; an empty host is no other host's.
    host: str
    port: int
    shards: Sequence[int]


class SeenServer(ShardServer):
    """One that is watched by a process of the run: the one on its host."""

    process: int


class StepEnds(LoadEnds):
    """Of one load: into the tables of its run, or over shards that have tables of their own."""

    #: Of the run's tables: a query for one number.
    rows_in_ledger: NotRequired[str]
    #: Absent of a load into the tables of its run; else there is nothing in the run but this load.
    shards: NotRequired[Sequence[PipelineShard]]
    #: Servers of shards on hosts where the run has a process; absent of a run on one host, which watches by process id.
    seen: NotRequired[Sequence[SeenServer]]
    #: Of a load that goes on after a kill.
    goes_on: NotRequired[GoesOn]
    #: Of its run, which it leaves in the ledger: another run's data has another one.
    mark: NotRequired[str]
    #: Of a run that was killed: folders of what the workers before this one have left, the first one first.
    earlier: NotRequired[Sequence[str]]


class LoadSegment(TypedDict):
    """A load by client and load server: a pause to the core."""

    kind: Literal["load"]
    label: str
    #: Absent where the load is all of the run.
    step: NotRequired[str]
    phase: Literal["measure"]
    #: One, with the name of the load.
    roles: Sequence[RolePlan]
    limit_ns: int
    #: Asked on a connection of its own, of shards of each; of an embedded engine its files are looked at.
    sample: NotRequired[SamplePlan]


class LoadingOfPoint(TypedDict):
    """Sessions as ever, with such loads among them, or one load over shards and nothing else."""

    version: int
    study: str
    seed: int
    epoch_ns: int
    target: Target
    tables: Sequence[TablePlan]
    operations: Sequence[OpPlan]
    segments: Sequence[Segment | LoadSegment]
    record: RecordPlan
    watch: WatchPlan
    #: Never there: such a run has one client process.
    share: NotRequired[SharePlan]
    #: By the name of the role.
    loads: Mapping[str, StepEnds]


@final
class LoadingPointPlan(LoadingOfPoint):
    """A `LoadingPlan` before it is known which run it is of."""


@final
class LoadingPlan(LoadingOfPoint):
    run_id: str
    labels: NotRequired[RunLabels]


#: Of a run: by sessions alone, or with loads by client and load server.
AnyPlan: TypeAlias = RunPlan | LoadingPlan
AnySegment: TypeAlias = Segment | LoadSegment


def roles_of(segment: AnySegment) -> Sequence[RolePlan]:
    """Empty where none works."""
    return cast("Sequence[RolePlan]", segment.get("roles", ()))


def each_role(
    plan: Mapping[str, object], phase: Phase | None = None
) -> Iterator[tuple[AnySegment, RolePlan]]:
    """Every role of a plan's segments, with its segment. phase: of those segments alone."""
    for segment in cast("Sequence[AnySegment]", plan.get("segments", ())):
        if phase is None or phase_of(segment) == phase:
            for role in roles_of(segment):
                yield segment, role


def phase_of(segment: AnySegment) -> Phase | None:
    return cast("Phase | None", segment.get("phase"))


def step_of(segment: AnySegment) -> str:
    """Empty where it belongs to no step."""
    return cast("str", segment.get("step", ""))


def repeat_of(segment: AnySegment) -> RepeatPlan | None:
    return cast("RepeatPlan | None", segment.get("repeat"))


def clients_of(plan: AnyPlan) -> int:
    """Client processes of its run, each with all sessions of every role."""
    share = plan.get("share")
    return share["of"] if share else 1


def hosts_of(plan: AnyPlan) -> int:
    """Processes of its run that may each have a host: of a load over shards its load server and its clients'."""
    of = load_over_shards(plan)
    if of is None:
        return clients_of(plan)
    how = of["pipelines"]
    return 1 + min(how.get("client_hosts", 1), how["count"])


def shards_of(plan: AnyPlan) -> Sequence[PipelineShard]:
    """Empty of a plan without a load over shards."""
    of = load_over_shards(plan)
    return of["shards"] if of is not None else ()


def server_hosts(plan: AnyPlan) -> list[str]:
    """Names and addresses of hosts in the addresses of its servers, each once; of a socket, or inside of the client, there is none."""
    urls = [shard["target"]["url"] for shard in shards_of(plan) if "target" in shard]
    if not urls and (target := cast("Target | None", plan.get("target"))):
        shards = target.get("shards")
        urls = [target.get("url", ""), *(shards["urls"] if shards else ())]
    return [*dict.fromkeys(host for url in urls for host in hosts_in(url))]


def hosts_in(url: str) -> list[str]:
    """Several of an address with several servers; none of a socket, and of what cannot be read."""
    return [host for host, _ in address.read(url).hosts]


def loads_of(plan: AnyPlan) -> Mapping[str, StepEnds]:
    """By role; empty where sessions do every load."""
    return cast("Mapping[str, StepEnds]", plan.get("loads", {}))


def load_over_shards(plan: AnyPlan) -> StepEnds | None:
    """None of a run that is anything else."""
    return next((of for of in loads_of(plan).values() if "shards" in of), None)


def whole_load(plan: AnyPlan) -> StepEnds | None:
    """The load that a run is, or that a step is which is seen as a run; None where it is anything else."""
    loads = [s for s in plan.get("segments", ()) if s.get("kind") == "load" and not step_of(s)]
    return loads_of(plan)[roles_of(loads[0])[0]["name"]] if loads else None


def with_load(plan: AnyPlan, role: str, more: Mapping[str, object]) -> AnyPlan:
    """The plan with more of one load."""
    loads = loads_of(plan)
    return cast("LoadingPlan", {**plan, "loads": {**loads, role: {**loads[role], **more}}})
