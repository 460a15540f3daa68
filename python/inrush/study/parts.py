"""The smaller parts of a study file: schedule, repeats, stop rules, answer, limits, published figures. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inrush.study.document import I64, Node, unknown
from inrush.study.forms import FromFactor, read_reference, values_of

Factors = Mapping[str, Sequence[Any]]

MODES = ("closed", "constant", "poisson")
ORDERS = ("shuffled_after_pilot", "as_written")
ANSWERS = ("best", "curve", "scaling", "comparison", "keeps_up", "sustained", "levels_off")
#: Figures of a role that limits and answers may name; `measures.py` computes them.
METRICS = (
    "makespan_s", "rows_per_s", "bytes_per_s", "ops_per_s", "keys_per_s", "rows", "bytes", "ops", "ok", "errors", "wrong",
    "late", "unsent", "achieved_share", "attempted_share", "failed_share", "attempts_per_s", "client_cpu_us_per_row",
    *(f"{kind}_{q}_s" for kind in ("latency", "service", "wait", "lag", "on_time", "freshness") for q in ("p50", "p90", "p99", "p999")),
    "samples", "stored_share", "in_time_share", "caught_up", "sample_s",
    *(f"{kind}_{q}_s" for kind in ("sample", "collect", "queue", "insert") for q in ("p50", "p90", "p99")),
    "latency_s", "busy_cores", "cpu_us_per_row", "files", "file_bytes_per_s", "file_p50_s", "file_p90_s",
)  # fmt: skip
#: Rule of a published claim -> what it needs to know beside the figure; twin of `RULES` in `analysis/claims.py`.
RULES: Mapping[str, tuple[str, ...]] = {
    "speed_up": ("along", "from", "to"),
    "cost": ("along", "from", "to"),
    "best": ("along",),
    "at_most": (),
    "keeps_up": (),
}
#: Roles that are watched but do not stand in a study.
WATCHED = ("client", "server", "load_server", "shards")


@dataclass(frozen=True)
class Schedule:
    """When calls are due, and how long a point lasts."""

    mode: str = "closed"
    #: Arrivals of a whole role, operations per second; not for `closed`.
    rate_per_s: float | FromFactor | None = None
    think_s: float = 0.0
    #: A fixed volume is repeated into fresh tables until it was measured so long.
    at_least_s: float = 2.0
    max_repetitions: int = 200
    warm_s: float = 0.0
    #: Length of a timed point, and of a point of a fixed volume that only reads.
    measure_s: float = 0.0
    cool_s: float = 0.0
    #: No segment lasts longer; what is then unfinished is cut and said.
    limit_s: float = 600.0
    #: A session whose connection was lost tries for so long to connect again; twin of `usual_retry_ns` in the core.
    retry_s: float = 5.0


@dataclass(frozen=True)
class Repeats:
    """Block 0 is the pilot, where there is one; `count` blocks are measured."""

    count: int = 5
    order: str = "shuffled_after_pilot"
    seed: int = 1
    #: Fresh repeats of the best and its contenders, after the blocks; None: as many as blocks, if those are two.
    confirm: int | None = None
    #: None: where something is learnt from it (`Study.has_pilot`).
    pilot: bool | None = None

    @property
    def confirmations(self) -> int:
        """One look at every point chooses nothing that could be confirmed."""
        return (self.count if self.count > 1 else 0) if self.confirm is None else self.confirm


@dataclass(frozen=True)
class Record:
    #: None: they follow the length of the run (`plan/intervals.py`).
    interval_s: float | None = None
    watch_s: float | None = None
    #: Between two looks at the sizes of the tables while they are measured; None: before and after alone.
    sizes_s: float | None = None


@dataclass(frozen=True)
class StopRule:
    """Where all limits are crossed, larger values of `along` are stopped points."""

    along: str
    above: Mapping[str, float]


@dataclass(frozen=True)
class Search:
    """The highest value of a factor that holds, by bisection (`plan/search.py`)."""

    along: str
    #: Figure, and how much of it holds.
    of: str
    at_least: float


@dataclass(frozen=True)
class Answer:
    kind: str
    of: str
    along: str | None = None
    per: tuple[str, ...] = ()


@dataclass(frozen=True)
class Published:
    """A figure of somebody else, to be set beside ours with its hardware."""

    claim: str
    unit: str
    values: Mapping[str, Any]
    source: str
    hardware: str
    about: str = ""
    #: What of ours it stands beside: `role.metric`, `answer` or `cost of <factor>`; empty: it is only told.
    beside: str = ""
    where: Mapping[str, Any] = field(default_factory=dict)
    #: How it is held against ours (`analysis/claims.py`); empty: it only stands beside.
    rule: Mapping[str, Any] = field(default_factory=dict)
    #: The study's own expectation says the same: the rule judges it too.
    expected: bool = False


def parse_schedule(node: Node | None, factors: Factors, of_role: bool = False) -> Schedule:
    default = Schedule()
    if node is None:
        return default
    timing = ("at_least_s", "max_repetitions", "warm_s", "measure_s", "cool_s", "limit_s", "retry_s")
    fields = node.fields(("mode", "rate_per_s", "think_s", *(() if of_role else timing)))
    mode = (fields["mode"].text(MODES, "mode") if "mode" in fields else "") or "closed"
    rate = read_rate(fields["rate_per_s"], factors) if "rate_per_s" in fields else None
    if mode == "closed" and rate is not None:
        fields["rate_per_s"].problem('a closed schedule has no rate; write mode = "constant" or "poisson"')
    if mode != "closed" and rate is None:
        node.problem(f'mode = "{mode}" needs rate_per_s, operations per second of the role')
    if mode != "closed" and "think_s" in fields:
        fields["think_s"].problem("only a closed schedule has a think time")

    def seconds(key: str, otherwise: float, above: bool = False) -> float:
        if key not in fields:
            return otherwise
        found = fields[key].number(above=above, default=otherwise)
        if found > 1e7:
            fields[key].problem("more than a hundred days; write seconds")
            return otherwise
        return found

    return Schedule(
        mode=mode,
        rate_per_s=rate,
        think_s=seconds("think_s", default.think_s),
        at_least_s=seconds("at_least_s", default.at_least_s),
        max_repetitions=fields["max_repetitions"].integer(1, 10**6)
        if "max_repetitions" in fields
        else default.max_repetitions,
        warm_s=seconds("warm_s", default.warm_s),
        measure_s=seconds("measure_s", default.measure_s),
        cool_s=seconds("cool_s", default.cool_s),
        limit_s=seconds("limit_s", default.limit_s, above=True),
        retry_s=seconds("retry_s", default.retry_s),
    )


def read_rate(node: Node, factors: Factors) -> float | FromFactor | None:
    if not (isinstance(node.value, str) and node.value.startswith("@")):
        return node.number(above=True)
    reference = read_reference(node, factors)
    if reference is not None:
        for value in values_of(node, reference, factors):
            value.number(above=True)
    return reference


def parse_repeats(node: Node | None) -> Repeats:
    default = Repeats()
    if node is None:
        return default
    fields = node.fields(("count", "order", "seed", "confirm", "pilot"))
    return Repeats(
        count=fields["count"].integer(1, 1000) if "count" in fields else default.count,
        order=(fields["order"].text(ORDERS, "order") if "order" in fields else "") or default.order,
        seed=fields["seed"].integer(0, I64[1]) if "seed" in fields else default.seed,
        confirm=fields["confirm"].integer(0, 1000) if "confirm" in fields else default.confirm,
        pilot=fields["pilot"].flag() if "pilot" in fields else default.pilot,
    )


def parse_record(node: Node | None) -> Record:
    default = Record()
    if node is None:
        return default
    fields = node.fields(("interval_s", "watch_s", "sizes_s"))
    found = {key: child.number(above=True) for key, child in fields.items()}
    for key, value in found.items():
        if not 0.1 <= value <= 3600:
            fields[key].problem("write seconds from 0.1 to 3600")
    return Record(**found)


def parse_stops(node: Node | None, factors: Factors, roles: Collection[str]) -> tuple[StopRule, ...]:
    rules = []
    for item in node.items() if node else ():
        fields = item.fields(("along", "above"), required=("along", "above"))
        along = fields["along"].text(factors, "factor") if "along" in fields else ""
        if along and not all(is_number(v) for v in factors[along]):
            fields["along"].problem("a sweep is stopped along a factor of numbers")
        limits = parse_limits(fields["above"], roles) if "above" in fields else {}
        if "above" in fields and isinstance(fields["above"].value, dict) and not fields["above"].value:
            fields["above"].problem('write at least one limit, { "writers.makespan_s" = 90 }')
        rules.append(StopRule(along, limits))
    return tuple(rules)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def parse_limits(node: Node, roles: Collection[str]) -> dict[str, float]:
    found = {}
    for name, child in node.members().items():
        check_measure(child, name, roles)
        found[name] = child.number()
    return found


def check_measure(node: Node, name: str, roles: Collection[str]) -> None:
    """`role.metric`, both known."""
    role, dot, metric = name.rpartition(".")
    if not dot:
        node.problem('name a figure as "role.metric", e.g. "writers.makespan_s"')
    elif role.split("/", 1)[0] not in (*roles, *WATCHED):
        node.problem(unknown("role", role, [*roles, *WATCHED]))
    elif metric not in METRICS:
        node.problem(unknown("figure", metric, METRICS))


def parse_search(node: Node | None, factors: Factors, roles: Collection[str]) -> Search | None:
    if node is None:
        return None
    keys = ("along", "of", "at_least")
    fields = node.fields(keys, required=keys)
    if len(fields) != len(keys):
        return None
    along = fields["along"].text(factors, "factor")
    if along and not all(is_number(v) for v in factors[along]):
        fields["along"].problem("a search goes along a factor of numbers")
    of = fields["of"].text()
    check_measure(fields["of"], of, roles)
    return Search(along, of, fields["at_least"].number())


def parse_answer(node: Node | None, factors: Factors, roles: Collection[str]) -> Answer | None:
    if node is None:
        return None
    fields = node.fields(("kind", "of", "along", "per"), required=("kind", "of"))
    of = fields["of"].text() if "of" in fields else ""
    if of:
        check_measure(fields["of"], of, roles)
    kind = (fields["kind"].text(ANSWERS, "kind of answer") if "kind" in fields else "") or ANSWERS[0]
    along = (fields["along"].text([*factors, "engine"], "factor") or None) if "along" in fields else None
    if kind != "comparison" and along is None and "along" not in fields:
        node.problem(f'kind = "{kind}" needs along = a factor')
    return Answer(
        kind=kind,
        of=of,
        along=along,
        per=fields["per"].texts([*factors, "engine"], "factor") if "per" in fields else (),
    )


def parse_accept(node: Node | None, roles: Collection[str]) -> dict[str, float]:
    return parse_limits(node, roles) if node else {}


def parse_published(node: Node | None, factors: Factors, roles: Collection[str]) -> tuple[Published, ...]:
    found = []
    for item in node.items() if node else ():
        keys = ("claim", "unit", "values", "source", "hardware")
        fields = item.fields((*keys, "about", "beside", "where", "rule", "expected"), required=keys)
        texts = {
            key: fields[key].text()
            for key in ("claim", "unit", "source", "hardware", "about", "beside")
            if key in fields
        }
        values = (
            {k: v.number(low=-1e18) for k, v in fields["values"].members().items()}
            if "values" in fields
            else {}
        )
        where = {k: scalar(v) for k, v in fields["where"].members().items()} if "where" in fields else {}
        expected = fields["expected"].flag() if "expected" in fields else False
        if expected and "rule" not in fields:
            fields["expected"].problem("give the claim a `rule`; without one nothing judges it")
        found.append(
            Published(
                claim=texts.get("claim", ""),
                unit=texts.get("unit", ""),
                values=values,
                source=texts.get("source", ""),
                hardware=texts.get("hardware", ""),
                about=texts.get("about", ""),
                beside=texts.get("beside", ""),
                where=where,
                rule=parse_rule(fields["rule"], factors, roles) if "rule" in fields else {},
                expected=expected,
            )
        )
    return tuple(found)


def parse_rule(node: Node, factors: Factors, roles: Collection[str]) -> dict[str, Any]:
    kind = (
        node.at("kind", node.members()["kind"].value).text(RULES, "rule") if "kind" in node.members() else ""
    )
    wanted = ("kind", "of", *RULES.get(kind, ()))
    fields = node.fields((*wanted, "where", "cores"), required=wanted)
    found: dict[str, Any] = {"kind": kind}
    if "of" in fields:
        found["of"] = fields["of"].text()
        check_measure(fields["of"], found["of"], roles)
    if "along" in fields:
        found["along"] = fields["along"].text([*factors, "engine"], "factor")
    found |= {key: scalar(fields[key]) for key in ("from", "to") if key in fields}
    if "where" in fields:
        found["where"] = {k: scalar(v) for k, v in fields["where"].members().items()}
        for key, child in fields["where"].members().items():
            if key not in factors:
                child.problem(unknown("factor", key, factors))
    if "cores" in fields:
        found["cores"] = fields["cores"].integer(1, 10**6)
    return found


def scalar(node: Node) -> Any:
    if not isinstance(node.value, (str, int, float)):
        node.problem("write a text or a number")
        return ""
    return node.value
