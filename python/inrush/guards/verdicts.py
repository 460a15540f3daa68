"""What a guard says, and of which kind of run. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from inrush.engines import known_twin
from inrush.stats.measures import whole
from inrush.stats.paced import paced_roles as paced_roles
from inrush.stats.record import RunRecord

Figures = Mapping[str, float]
Point = tuple[tuple[str, object], ...]


#: What is said of a result, or of a part of it, that a guard has a note on and none makes invalid.
WITH_NOTES = "valid, with notes"


class Outcome(Enum):
    PASS = "pass"
    NOT_CHECKED = "not checked"
    NOTE = "note"
    INVALID = "invalid"

    @property
    def weight(self) -> int:
        return list(Outcome).index(self)


@dataclass(frozen=True)
class Verdict:
    guard: str
    outcome: Outcome
    #: What was found, where, and what to do next, as one or two sentences.
    sentence: str
    #: The run's rows or answers are wrong: it has no time in any figure.
    hides: bool = False
    #: Figures (`role.metric`) that an invalid verdict is about; None: all of the run. Others of the run stand.
    figures: tuple[str, ...] | None = None
    #: How far a run misses the limit, the larger the worse: of several runs the one with the largest is quoted. Each guard
    #: has its own unit; 0 of guards that say yes or no.
    size: float = 0.0
    #: Points that an invalid verdict of a study is about; None: all. With no figure at all: points whose figures stand, and
    #: between which nothing is decided.
    points: tuple[Point, ...] | None = None

    def breaks(self, figure: str, point: Point | None = None) -> bool:
        """Whether it makes this figure invalid (at this point)."""
        return (
            self.outcome is Outcome.INVALID
            and (self.figures is None or figure in self.figures)
            and (self.points is None or point is None or point in self.points)
        )


def passed(guard: str, sentence: str) -> Verdict:
    return Verdict(guard, Outcome.PASS, sentence)


def noted(guard: str, sentence: str, size: float = 0.0) -> Verdict:
    return Verdict(guard, Outcome.NOTE, sentence, size=size)


def not_checked(guard: str, why: str) -> Verdict:
    """It had nothing to check, and says why: nothing is known, for or against."""
    return Verdict(guard, Outcome.NOT_CHECKED, why)


def invalid(
    guard: str,
    sentence: str,
    hides: bool = False,
    figures: Iterable[str] | None = None,
    points: Iterable[Point] | None = None,
    size: float = 0.0,
) -> Verdict:
    return Verdict(
        guard,
        Outcome.INVALID,
        sentence,
        hides,
        None if figures is None else tuple(dict.fromkeys(figures)),
        size,
        None if points is None else tuple(dict.fromkeys(points)),
    )


#: Endings of figures that time, or what is made of it, stands in; counts and sizes are not among them.
TIMED = ("_s", "_per_s", "_share")
#: Shares that count calls or samples and hold no time.
UNTIMED = ("failed_share", "stored_share")


def timed_figures(figures: Figures, roles: Iterable[str]) -> list[str]:
    """Of these roles, of their parts, and of the wholes that they are part of, every figure that a slow client moves.

    Not of another part beside them.
    """
    named = set(roles)
    wholes = {whole(role) for role in named}

    def touched(role: str) -> bool:
        return role in named or whole(role) in named or role in wholes

    return [
        name
        for name in figures
        if touched(name.rsplit(".", 1)[0]) and name.endswith(TIMED) and not name.endswith(UNTIMED)
    ]


def role_figures(figures: Figures, role: str) -> list[str]:
    return [name for name in figures if whole(name.rsplit(".", 1)[0]) == whole(role)]


def said_figures(names: Iterable[str]) -> str:
    """`latency p50, p99 of users; rows per s of writers`: figures by role and kind, as people read them."""
    held: dict[str, dict[str, list[str]]] = {}
    for name in names:
        role, metric = name.rsplit(".", 1)
        kind, quantile = kind_and_quantile(metric)
        held.setdefault(role, {}).setdefault(kind, []).extend([quantile] if quantile else [])
    return "; ".join(
        ", ".join(" ".join([kind, ", ".join(qs)]).strip() for kind, qs in kinds.items()) + f" of {role}"
        for role, kinds in held.items()
    )


#: Quantiles as they ascend, the worst last.
QUANTILES = ("p50", "p90", "p99", "p999", "worst")


def grouped_figures(names: Iterable[str]) -> str:
    """`latency p50 to worst, queue p99 of writers and its tables`: a long list in short, nothing in it that was not named.

    A role that is split over tables is named once.
    """
    held: dict[str, dict[str, list[str]]] = {}
    split = set()
    for name in names:
        part, metric = name.rsplit(".", 1)
        role = whole(part)
        if role != part:
            split.add(role)
        kind, quantile = kind_and_quantile(metric)
        if kind.startswith("worst "):
            kind, quantile = kind.removeprefix("worst "), "worst"
        found = held.setdefault(role, {}).setdefault(kind, [])
        if quantile and quantile not in found:
            found.append(quantile)
    return "; ".join(
        ", ".join(f"{kind} {span_of(qs)}".strip() for kind, qs in kinds.items())
        + f" of {role}{' and its tables' * (role in split)}"
        for role, kinds in held.items()
    )


def span_of(quantiles: Sequence[str]) -> str:
    """`p50 to worst` where none between is missing, else each."""
    known = [q for q in QUANTILES if q in quantiles]
    places = [QUANTILES.index(q) for q in known]
    if len(known) > 2 and len(known) == len(quantiles) and places[-1] - places[0] == len(places) - 1:
        return f"{known[0]} to {known[-1]}"
    return ", ".join([*known, *(q for q in quantiles if q not in QUANTILES)])


def kind_and_quantile(metric: str) -> tuple[str, str]:
    """`latency_p99_s` -> (latency, p99); `latency_s`, the largest of them, -> (worst latency, "")."""
    if metric in ("latency_s", "sample_s"):
        return f"worst {metric.removesuffix('_s')}", ""
    bare = metric if metric.endswith("_per_s") else metric.removesuffix("_s")
    kind, _, quantile = bare.rpartition("_")
    if kind and quantile.startswith("p") and quantile[1:].isdigit():
        return kind.replace("_", " "), quantile
    return bare.replace("_", " "), ""


def worst(verdicts: Iterable[Verdict]) -> Outcome:
    return max((v.outcome for v in verdicts), key=lambda o: o.weight, default=Outcome.PASS)


def worst_said(verdicts: Iterable[Verdict]) -> str:
    """`client on time: The client itself was late …`, the worst of the first guard among them; empty of none."""
    found = next(iter(by_guard([("", v) for v in verdicts]).values()), [])
    return f"{found[0][1].guard}: {found[0][1].sentence}" if found else ""


def worst_first(verdicts: Sequence[tuple[str, Verdict]]) -> list[tuple[str, Verdict]]:
    """(run id, verdict) pairs of one guard."""
    return sorted(verdicts, key=lambda pair: (-pair[1].outcome.weight, -pair[1].size))


def of_runs(found: Sequence[tuple[str, Verdict]], of: int) -> str:
    """` (in 3 of 5 runs, the worst b02-0001-mysql)`, of verdicts with the worst first; nothing of a study's, nor of one run."""
    runs = list(dict.fromkeys(run for run, _ in found if run))
    if not runs or of < 2:
        return ""
    return f" (in {len(runs)} of {of} runs, {'the worst ' * (len(runs) > 1)}{runs[0]})"


def by_guard(verdicts: Sequence[tuple[str, Verdict]]) -> dict[str, list[tuple[str, Verdict]]]:
    """(run id, verdict) pairs gathered by guard, worst first within each."""
    by_name: dict[str, list[tuple[str, Verdict]]] = {}
    for where, verdict in verdicts:
        by_name.setdefault(verdict.guard, []).append((where, verdict))
    return {guard: worst_first(found) for guard, found in by_name.items()}


def is_instrument(engine: str) -> bool:
    """`null`, `null:<wire>`, `simulated`: engines that keep nothing and measure us."""
    twin = known_twin(engine)
    return twin is not None and not twin.answers


def is_embedded(run: RunRecord) -> bool:
    """Runs inside the client's process: its plan names no server to watch and a file as address."""
    return lives_in_client(run.plan["target"]["engine"])


def lives_in_client(engine: str) -> bool:
    twin = known_twin(engine)
    return twin is not None and twin.works_in_client


def survives(run: RunRecord) -> str:
    """What an acknowledged row survives, in normal form (`engines.survives.Survives`); empty when unknown."""
    durability = run.summary.get("durability") or run.labels.get("durability") or {}
    return str(durability.get("survives", "") if isinstance(durability, Mapping) else durability).upper()


def promised(run: RunRecord, unknown: str = "not recorded") -> str:
    """What its acknowledged rows survive, in words: `process crash but the last 4 s`; `nothing for the first 0.6 s` where a
    row that is older survives."""
    window_s = (run.summary.get("durability") or {}).get("window_s")
    word = (survives(run) or unknown).replace("_", " ").lower()
    if not window_s:
        return word
    return f"{word} {'for the first' if word == 'nothing' else 'but the last'} {window_s:g} s"


def counted(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}"
