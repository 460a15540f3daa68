"""What a guard says, and of which kind of run. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from inrush.stats.measures import RunRecord, whole

Figures = Mapping[str, float]


class Outcome(Enum):
    PASS = "pass"
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


def passed(guard: str, sentence: str) -> Verdict:
    return Verdict(guard, Outcome.PASS, sentence)


def noted(guard: str, sentence: str) -> Verdict:
    return Verdict(guard, Outcome.NOTE, sentence)


def invalid(guard: str, sentence: str, hides: bool = False) -> Verdict:
    return Verdict(guard, Outcome.INVALID, sentence, hides)


def worst(verdicts: Iterable[Verdict]) -> Outcome:
    return max((v.outcome for v in verdicts), key=lambda o: o.weight, default=Outcome.PASS)


def by_guard(verdicts: Sequence[tuple[str, Verdict]]) -> dict[str, list[tuple[str, Verdict]]]:
    """(run id, verdict) pairs gathered by guard, worst first within each."""
    found: dict[str, list[tuple[str, Verdict]]] = {}
    for where, verdict in verdicts:
        found.setdefault(verdict.guard, []).append((where, verdict))
    return {g: sorted(v, key=lambda pair: -pair[1].outcome.weight) for g, v in found.items()}


def paced_roles(run: RunRecord) -> list[str]:
    """Roles, and wholes of roles, whose calls have a due time of their own."""
    found: dict[str, None] = {}
    for segment in run.plan.get("segments", ()):
        if segment.get("phase") == "measure":
            for role in segment.get("roles", ()):
                if role["schedule"]["kind"] != "closed":
                    found |= dict.fromkeys((role["name"], whole(role["name"])))
    return list(found)


def is_instrument(engine: str) -> bool:
    """`null`, `null:<wire>`, `simulated`: engines that keep nothing and measure us."""
    return engine.split(":")[0] in ("null", "simulated")


def is_embedded(run: RunRecord) -> bool:
    """Runs inside the client's process: its plan names no server to watch and a file as address."""
    return lives_in_client(run.plan["target"]["engine"])


def lives_in_client(engine: str) -> bool:
    return engine in ("sqlite", "duckdb", "adbc")


def survives(run: RunRecord) -> str:
    """What an acknowledged row survives, in normal form (`engines.base.Survives`); empty when unknown."""
    durability = run.summary.get("durability") or run.labels.get("durability") or {}
    return str(durability.get("survives", "") if isinstance(durability, Mapping) else durability).upper()


def counted(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}"
