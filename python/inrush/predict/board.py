"""All claims ever scored, counted: error, coverage, bottlenecks, skill; by reach, by model, by engine. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from inrush.model.intervals import REACHES, reach_bin
from inrush.model.score import Board, Score, board
from inrush.text import columns, percent, signed_percent

Entry = tuple[Mapping[str, Any], Mapping[str, Any] | None]
#: How a claim of calibrated intervals is judged: coverage may differ from the level by chance alone.
GROUPS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "reach": lambda doc: reach_name(float(doc["forecast"]["reach"])),
    "model": lambda doc: str(doc["forecast"]["model"]),
    "model version": lambda doc: f"version {doc['model_version']}",
    "engine": lambda doc: str(doc["group"].get("engine", "")),
    "side of the knee": lambda doc: side(doc["forecast"]),
    "interval": lambda doc: "calibrated" if doc["forecast"]["calibrated"] else "uncalibrated",
}


def reach_name(reach: float) -> str:
    i = reach_bin(reach)
    low = REACHES[i - 1] if i else 0.0
    return f"up to {REACHES[i]:g}×" if REACHES[i] != float("inf") else f"beyond {low:g}×"


def side(made: Mapping[str, Any]) -> str:
    """Where the target lies: knees are what is hard to predict."""
    if made["saturation"] is None:
        return "no knee claimed"
    return "beyond the knee" if made["x"] >= made["saturation"] else "before the knee"


def scores_of(entries: Sequence[Entry]) -> list[tuple[Mapping[str, Any], Score]]:
    """Claims with a verdict that counts."""
    fields = Score.__dataclass_fields__
    return [
        (doc, Score(**{k: s[k] for k in fields}))
        for doc, s in entries
        if s is not None and s["verdict"] != "invalid"
    ]


def groups(entries: Sequence[Entry]) -> dict[str, dict[str, Board]]:
    """Grouping -> its value -> the scores of it."""
    held = scores_of(entries)
    boards: dict[str, dict[str, Board]] = {}
    for name, key in GROUPS.items():
        parts: dict[str, list[Score]] = {}
        for doc, s in held:
            parts.setdefault(key(doc), []).append(s)
        boards[name] = {k: b for k, of in sorted(parts.items()) if (b := board(of))}
    return boards


@dataclass(frozen=True)
class Knee:
    """Where a curve was claimed to level off, and where it did: one for all claims of one training."""

    name: str
    claimed: float
    seen: float

    @property
    def error(self) -> float:
        """|seen - claimed| / seen"""
        return abs(self.seen - self.claimed) / self.seen


def knees(entries: Sequence[Entry]) -> list[Knee]:
    """Of several claims of one training, the one with the largest run saw the knee best."""
    found: dict[tuple[str, str], tuple[float, Knee]] = {}
    for doc, s in entries:
        if s is None or s["verdict"] == "invalid" or s.get("knee_log_error") is None:
            continue
        key, x = (str(doc["results"]), str(doc["group"])), float(doc["forecast"]["x"])
        if x >= found.get(key, (0.0,))[0]:
            found[key] = (x, Knee(str(doc["id"]), float(s["knee_claimed"]), float(s["knee_seen"])))
    return [k for _, k in found.values()]


def knee_line(knees: Sequence[Knee]) -> str:
    errors = [k.error for k in knees]
    return (
        f"Knees: {len(knees)} seen; median error {percent(np.median(errors), 1)}, p90 {percent(p90(errors), 1)}, "
        f"within 15 %: {sum(e <= 0.15 for e in errors)} of {len(knees)}"
    )


def p90(errors: Sequence[float]) -> float:
    """The smallest that nine of ten do not exceed."""
    return float(np.sort(errors)[int(np.ceil(0.9 * len(errors))) - 1])


def schedules(entries: Sequence[Entry]) -> list[bool]:
    """Of claims about samples: whether the claim that they are stored in time was right."""
    return [bool(s["kept_up_hit"]) for _, s in entries if s is not None and "kept_up_hit" in s]


def schedule_line(counted: Sequence[bool]) -> str:
    return f"Keeping up with samples: correct in {sum(counted)} of {len(counted)} claims"


def counts(entries: Sequence[Entry]) -> dict[str, int]:
    """Verdict -> how many; what is not scored yet is open."""
    found: dict[str, int] = {}
    for _, s in entries:
        verdict = "open" if s is None else str(s["verdict"])
        found[verdict] = found.get(verdict, 0) + 1
    return found


def board_document(entries: Sequence[Entry]) -> dict[str, Any]:
    whole = board([s for _, s in scores_of(entries)])
    return {
        "verdicts": counts(entries),
        "all": asdict(whole) if whole else None,
        "by": {name: {k: asdict(b) for k, b in of.items()} for name, of in groups(entries).items()},
        "beside": [asdict(b) for b in beside(entries)],
        "knees": [asdict(k) | {"error": k.error} for k in knees(entries)],
        "kept_up": {"claims": len(counted := schedules(entries)), "correct": sum(counted)},
        "claims": [{**entry_row(doc, s)} for doc, s in entries],
    }


def entry_row(doc: Mapping[str, Any], s: Mapping[str, Any] | None) -> dict[str, Any]:
    made = doc["forecast"]
    row = {
        k: made[k] for k in ("x", "median", "lo", "hi", "level", "model", "reach", "bottleneck", "calibrated")
    }
    row |= {
        "id": doc["id"],
        "engine": doc["group"].get("engine"),
        "along": doc["along"],
        "figure": doc["figure"],
        "sha256": doc["sha256"],
    }
    return {**row, **({"verdict": "open"} if s is None else {k: v for k, v in s.items() if k != "schema"})}


@dataclass(frozen=True)
class Beside:
    """A model's errors over claims; n: claims that have its value."""

    name: str
    n: int
    median_error: float
    p90_error: float


def beside(entries: Sequence[Entry]) -> list[Beside]:
    """The claims and what was simpler to say, by the same observations; a baseline only of claims that had it."""
    errors: dict[str, list[float]] = {}
    for doc, s in scores_of(entries):
        made = doc["forecast"]
        for name, value in {"claimed": made["median"], **made["baselines"]}.items():
            errors.setdefault(name, []).append(abs(s.observed - float(value)) / s.observed)
    return [Beside(name, len(of), float(np.median(of)), p90(of)) for name, of in errors.items()]


def board_lines(entries: Sequence[Entry]) -> list[str]:
    """The board for a terminal."""
    counted = ", ".join(f"{n} {verdict}" for verdict, n in counts(entries).items())
    whole = board([s for _, s in scores_of(entries)])
    if whole is None:
        return [counted, "no claim has a score yet: inrush prove ID"]
    rows = [board_row("all", whole)]
    rows += [board_row(k, b) for name, of in groups(entries).items() if len(of) > 1 for k, b in of.items()]
    found, correct = knees(entries), schedules(entries)
    against = [
        [b.name, str(b.n), percent(b.median_error, 1), percent(b.p90_error, 1)] for b in beside(entries)
    ]
    return [counted, *columns(rows, BOARD_HEADER, right=(1, 2, 3, 4, 5)),
            *columns(against, ("beside simpler claims", "n", "median error", "p90 error"), right=(1, 2, 3)),
            *([knee_line(found)] if found else []), *([schedule_line(correct)] if correct else [])]  # fmt: skip


BOARD_HEADER = ("", "n", "median error", "p90 error", "inside", "bottleneck", "median skill over")


def board_row(name: str, b: Board) -> list[str]:
    skills = ", ".join(f"{k} {signed_percent(v)}" for k, (v, _) in b.skill.items())
    hits = f"{percent(b.bottlenecks.value)} of {b.bottlenecks.n}" if b.bottlenecks else "–"
    inside = f"{percent(b.coverage.value)} [{percent(b.coverage.low)}, {percent(b.coverage.high)}]"
    return [
        name,
        str(b.n),
        percent(b.median_error, 1),
        percent(b.p90_error, 1),
        inside,
        hits,
        skills,
    ]
