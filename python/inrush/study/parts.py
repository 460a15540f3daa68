"""The smaller parts of a study file: schedule, repeats, stop rules, answer, limits. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Generic

from inrush.border.labels import UP_AND_DOWN
from inrush.study.document import I64, Node, Reader, given, whole, word
from inrush.study.forms import Factors, FromFactor, Ref, read_form, read_rate
from inrush.study.metric_names import Named, check_measure, figure
from inrush.text import is_number

MODES = ("closed", "constant", "poisson")
REFILLS = ("each", "half", "round")
ORDERS = ("shuffled_after_pilot", "as_written", UP_AND_DOWN)
ANSWERS = ("best", "curve", "scaling", "comparison", "keeps_up", "sustained", "levels_off")


@dataclass(frozen=True)
class Schedule(Generic[Ref]):
    """When calls are due, and how long a point lasts."""

    mode: str = "closed"
    #: Arrivals of a whole role, operations per second; not for `closed`.
    rate_per_s: float | Ref | None = None
    think_s: float = 0.0
    #: Of `closed`: when a session whose slots were all taken sends again, and how long it waits then.
    refill: str | Ref = "each"
    delay_s: float | Ref = 0.0
    #: A fixed volume is repeated into fresh tables until it was measured so long.
    at_least_s: float = 2.0
    max_repetitions: int = 200
    #: How the table of each repetition is proven; the last one is proven both ways.
    proof: str = "checksum"
    warm_s: float = 0.0
    #: Length of a timed point, and of a point of a fixed volume that only reads.
    measure_s: float = 0.0
    cool_s: float = 0.0
    #: No segment lasts longer; what is then unfinished is cut and said.
    limit_s: float = 600.0
    #: After a lost connection a session tries for so long to connect again; twin of `usual_retry_ns` in the core.
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
class RecordSpec:
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
class AnswerSpec:
    kind: str
    of: str
    along: str | None = None
    per: tuple[str, ...] = ()
    #: Figures that the question asks for too: stated for every engine, before what is compared. `load_*` is many steps.
    asked: tuple[str, ...] = ()


def parse_schedule(node: Node | None, factors: Factors, of_role: bool = False) -> Schedule[FromFactor]:
    if node is None:
        return Schedule()
    readers: dict[str, Reader] = {
        "mode": word(MODES, "mode"),
        "rate_per_s": lambda rate: read_rate(rate, factors),
        "think_s": seconds("think_s"),
        "refill": lambda refill: read_form(refill, factors, word(REFILLS, "refill"), REFILLS[0]),
        "delay_s": lambda delay: read_form(delay, factors, seconds("delay_s"), 0.0),
    }
    fields = node.fields([*readers, *(() if of_role else TIMING)])
    schedule: Schedule[FromFactor] = Schedule(**given(fields, readers), **given(fields, TIMING))
    if schedule.mode == "closed" and schedule.rate_per_s is not None:
        fields["rate_per_s"].problem('a closed schedule has no rate; write mode = "constant" or "poisson"')
    if schedule.mode != "closed" and schedule.rate_per_s is None:
        node.problem(f'mode = "{schedule.mode}" needs rate_per_s, operations per second of the role')
    if schedule.mode != "closed" and "think_s" in fields:
        fields["think_s"].problem("only a closed schedule has a think time")
    for name in ("refill", "delay_s"):
        if name in fields and schedule.mode != "closed":
            fields[name].problem("only a closed schedule has it: here, calls are sent when they are due")
        elif name in fields and schedule.think_s > 0:
            fields[name].problem(
                "a session thinks before each call, or it sends calls together; remove this or think_s"
            )
    return schedule


def seconds(key: str) -> Reader:
    """Of the field `key` of a schedule; its default stands for a wrong one."""
    default = float(getattr(Schedule, key))

    def read(node: Node) -> float:
        found = node.number(above=key == "limit_s", default=default)
        if found <= 1e7:
            return found
        node.problem("more than a hundred days; write seconds")
        return default

    return read


#: Of a repetition's table: the engine's own sums, or every row read back.
PROOFS = ("checksum", "read_back")

#: What a role's own schedule cannot say.
TIMING: Mapping[str, Reader] = {
    **{key: seconds(key) for key in ("at_least_s", "warm_s", "measure_s", "cool_s", "limit_s", "retry_s")},
    "max_repetitions": whole(1, 10**6),
    "proof": word(PROOFS, "proof"),
}

REPEATS: Mapping[str, Reader] = {
    "count": whole(1, 1000), "order": word(ORDERS, "order"), "seed": whole(0, I64[1]), "confirm": whole(0, 1000), "pilot": Node.flag,
}  # fmt: skip


def parse_repeats(node: Node | None) -> Repeats:
    return Repeats(**given(node.fields(REPEATS), REPEATS)) if node else Repeats()


def parse_record(node: Node | None) -> RecordSpec:
    if node is None:
        return RecordSpec()
    fields = node.fields(("interval_s", "watch_s", "sizes_s"))
    found = {key: child.number(above=True) for key, child in fields.items()}
    for key, value in found.items():
        if not 0.1 <= value <= 3600:
            fields[key].problem("write seconds from 0.1 to 3600")
    return RecordSpec(**found)


def parse_stops(node: Node | None, factors: Factors, roles: Named) -> tuple[StopRule, ...]:
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


def parse_limits(node: Node, roles: Named) -> dict[str, float]:
    found = {}
    for name, child in node.members().items():
        check_measure(child, name, roles)
        found[name] = child.number()
    return found


def parse_search(node: Node | None, factors: Factors, roles: Named) -> Search | None:
    if node is None:
        return None
    keys = ("along", "of", "at_least")
    fields = node.fields(keys, required=keys)
    if len(fields) != len(keys):
        return None
    along = fields["along"].text(factors, "factor")
    if along and not all(is_number(v) for v in factors[along]):
        fields["along"].problem("a search goes along a factor of numbers")
    return Search(along, figure(roles)(fields["of"]), fields["at_least"].number())


def parse_answer(node: Node | None, factors: Factors, roles: Named) -> AnswerSpec | None:
    if node is None:
        return None
    names = [*factors, "engine"]
    readers: dict[str, Reader] = {
        "of": figure(roles),
        "kind": word(ANSWERS, "kind of answer"),
        "along": lambda along: along.text(names, "factor") or None,
        "per": lambda per: per.texts(names, "factor"),
        "asked": lambda asked: read_asked(asked, roles),
    }
    fields = node.fields(("kind", "of", "along", "per", "asked"), required=("kind", "of"))
    answer = AnswerSpec(**given(fields, readers, kind=ANSWERS[0], of=""))
    if answer.kind != "comparison" and "along" not in fields:
        node.problem(f'kind = "{answer.kind}" needs along = a factor')
    return answer


def check_rate_figure(node: Node | None, instead: Mapping[str, Mapping[str, str]]) -> None:
    """A rate is held where calls are in time. A role that ends when its work is done sends every call, however late, and its
    share of them is 1 at any rate.

    node: of an answer or a search. instead: role that ends so -> share that lateness does not lower -> what to ask instead.
    """
    fields = node.members() if node else {}
    of = str(fields["of"].value) if "of" in fields else ""
    role, _, metric = of.rpartition(".")
    decides = "at_least" in fields or ("kind" in fields and fields["kind"].value in ("keeps_up", "sustained"))
    if decides and (better := instead.get(role.split("/", 1)[0], {}).get(metric)):
        fields["of"].problem(
            f"{role} ends when its work is done, so it sends every call, however late, and this share is 1 at any rate; take "
            + better.replace("ROLE", role)
        )


def read_asked(node: Node, roles: Named) -> tuple[str, ...]:
    """Figures; `load_*.bytes_per_row` is that of every step with such a name."""
    for each in node.items(1):
        role, _, metric = each.text().rpartition(".")
        alike = [of for of in roles if roles[of] and fnmatchcase(of, role)] if "*" in role else [role]
        if not alike:
            each.problem(f"no step is named {role}; choose from {', '.join(roles)}")
        for of in alike:
            check_measure(each, f"{of}.{metric}", roles)
    return node.texts()


def parse_accept(node: Node | None, roles: Named) -> dict[str, float]:
    return parse_limits(node, roles) if node else {}
