"""docs/findings/claims.md and claims.csv out of claims and their scores: `python -m benches.claims.page` writes both.

`--keep DIR` first copies the claims, scores and set-ups of results (`claims.py --out DIR`) to `scored/` beside this file.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from inrush.model.score import Board, board
from inrush.predict.board import Entry, beside, groups, knee_line, knees, scores_of
from inrush.results.predictions import Claim
from inrush.stats.quantity import show
from inrush.study.toml import read_toml
from inrush.text import percent

HERE = Path(__file__).parent
SCORED = HERE / "scored"
FOLDER = HERE.parents[2] / "docs" / "findings"
#: From this load on a knee is worth the name: below it lies within what was measured.
KNEE_FROM = 4.0

#: Of the file of every claim. The last but one are the errors of simpler claims.
COLUMNS = ("set-up", "provoked", "figure", "at", "claimed [90 %]", "calibrated", "observed", "error", "inside", "full: claimed", "seen",
           "linear", "bound", "USL", "hash")  # fmt: skip
#: Groups of claims that the page shows a line of.
SHOWN = ("model version", "engine", "interval")
#: A knee that was claimed this much wrong is named.
FAR_KNEE = 0.15

#: Columns of the page's text; tables are wider.
WIDTH = 120

#: Keys of a claim's call that may be paths of one machine: of a study's file, of the servers' data.
PATHS = ("study", "data")
#: Key of a claim that names them without the path that it was frozen with.
WITHOUT_PATH = "path_removed"

Doc = Mapping[str, Any]


def keep(results: Path, to: Path = SCORED) -> None:
    """Copies what the page is made of; runs stay where they are.

    A claim loses paths of one machine, and with them the proof by its hash: it says so.
    """
    to.mkdir(exist_ok=True)
    for path in (results / "set-ups").glob("*.json"):
        shutil.copy(path, to / f"set-up.{path.name}")
    for path in (results / "predictions").glob("*.json"):
        doc = json.loads(path.read_text())
        call = doc.get("call") or {}
        paths = {key: Path(call[key]) for key in PATHS if Path(call.get(key) or "").is_absolute()}
        if paths:
            call.update({key: path.name for key, path in paths.items()})
            doc[WITHOUT_PATH] = True
            (to / path.name).write_text(json.dumps(doc, indent=1) + "\n")
        else:
            shutil.copy(path, to / path.name)


def entries(folder: Path = SCORED) -> list[Entry]:
    """Claims, oldest first, with their scores; each hash is checked, but of those that lost a path."""
    paths = [
        p
        for p in folder.glob("*.json")
        if not p.name.endswith(".score.json") and not p.name.startswith("set-up.")
    ]
    found: list[Entry] = []
    for path in paths:
        doc, claim = json.loads(path.read_text()), Claim(path)
        found.append((doc if doc.get(WITHOUT_PATH) else claim.doc, claim.score))
    return sorted(found, key=lambda e: (e[0]["created_unix_ns"], e[0]["id"]))


def set_up_of(folder: Path = SCORED) -> dict[str, str]:
    """Claim -> the set-up that it was made for."""
    found = {}
    for path in folder.glob("set-up.*.json"):
        for claim in json.loads(path.read_text())["claims"]:
            found[claim] = path.name.removeprefix("set-up.").removesuffix(".json")
    return found


def page(held: Sequence[Entry], names: Mapping[str, str], read: str) -> str:
    """The whole document. read: what the claims show, in Markdown."""
    scored = scores_of(held)
    whole = board([s for _, s in scored])
    if whole is None:
        raise SystemExit("no claim has a score: run benches.claims.claims first")
    knee_claims = [doc for doc, _ in scored if (doc["forecast"]["saturation"] or 0.0) >= KNEE_FROM]
    engines = sorted({str(doc["group"]["engine"]) for doc, _ in scored})
    env = scored[0][0]["machine"]
    open_ = sum(s is None or s["verdict"] == "invalid" for _, s in held)
    parts = [
        "# Claims on real engines, frozen and scored",
        filled(
            "**Question.** How good are predictions of loads that were frozen, with their hash, before the load ran? "
            "[claims.csv](claims.csv) has every claim, good or bad, with its interval, what was observed, the full resource, the "
            "errors of simpler claims and its hash. `python -m benches.claims.page` writes both from `python/benches/claims/scored/`, "
            "and a test compares. `python -m benches.claims.claims` makes all claims again (`setups.toml`)."
        ),
        filled(f"**Answer.** {len(held)} claims, {len(scored)} of them scored and {open_} open or without a valid run; engines: {', '.join(engines)}; "
        f"{len(knee_claims)} with a knee claimed at {KNEE_FROM:g} or more loads. "
        f"Machine: {env.get('cpu_model')}, {env.get('cpu_logical')} cores, Linux {env.get('kernel')}."),
        markdown(["", "claims", "median error", "p90 error", "inside 90 %", "full resource named"], [
            board_row("all", whole),
            *(board_row(f"{name}: {k}", b) for name, of in groups(held).items() if name in SHOWN for k, b in of.items()),
        ]),
        "Simpler models, by the same observations:",
        markdown(["", "claims", "median error", "p90 error"],
                 [[b.name, str(b.n), percent(b.median_error, 1), percent(b.p90_error, 1)] for b in beside(held)]),
        read.strip(),
        knees_said(held, names),
    ]  # fmt: skip
    return "\n\n".join(p for p in parts if p) + "\n"


def board_row(name: str, b: Board) -> list[str]:
    hits = b.bottlenecks
    named = f"{percent(hits.value)} of {hits.n}" if hits else "–"
    return [name, str(b.n), percent(b.median_error, 1), percent(b.p90_error, 1), interval(b.coverage), named]


def knees_said(held: Sequence[Entry], names: Mapping[str, str]) -> str:
    found = knees(held)
    if not found:
        return "No curve was seen to level off."
    far = [
        f"{names.get(k.name, k.name)} (claimed {k.claimed:.3g}, seen {k.seen:.3g})"
        for k in found
        if k.error > FAR_KNEE
    ]
    return filled(
        f"{knee_line(found)}, where a knee is the load at which proportion would have reached the highest rate of a curve that "
        f"levelled off. Further off: {', '.join(far)}."
    )


def table(held: Sequence[Entry], names: Mapping[str, str], provoked: Mapping[str, str]) -> str:
    """Every claim as CSV. provoked: set-up -> resource."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows(claim_row(doc, s, names, provoked) for doc, s in held)
    return out.getvalue()


def claim_row(doc: Doc, s: Doc | None, names: Mapping[str, str], provoked: Mapping[str, str]) -> list[str]:
    made, figure = doc["forecast"], str(doc["figure"])
    set_up = names.get(str(doc["id"]), "")
    claimed = bracketed(made["median"], made["lo"], made["hi"], figure)
    calibrated = "yes" if made["calibrated"] else "no"
    first = [set_up, provoked.get(set_up, ""), figure, f"{doc['along']} {made['x']:g}", claimed, calibrated]
    if s is None or s["verdict"] == "invalid":
        return [*first, "open" if s is None else "invalid", *[""] * 7, doc["sha256"][:8]]
    others = [
        percent(abs(s["observed"] - made["baselines"][b]) / s["observed"], 1)
        if b in made["baselines"]
        else ""
        for b in ("linear", "hard bound", "usl")
    ]
    return [
        *first, show(s["observed"], figure), percent(s["error"], 1), "yes" if s["inside"] else "no",
        str(made["bottleneck"] or ""), str(s["bottleneck_seen"] or ""), *others, doc["sha256"][:8],
    ]  # fmt: skip


def bracketed(middle: float, low: float, high: float, figure: str) -> str:
    """`123 k rows/s [50.6, 300]`; where an end has another unit, each has its own."""
    values = [show(value, figure) for value in (middle, low, high)]
    (_, unit), *ends = [value.partition(" ")[::2] for value in values]
    same = all(of == unit for _, of in ends)
    return f"{values[0]} [{', '.join(number if same else whole for (number, _), whole in zip(ends, values[1:], strict=True))}]"


def interval(of: Any) -> str:
    return f"{percent(of.value)} [{percent(of.low)}, {percent(of.high)}]"


def filled(text: str) -> str:
    """A paragraph in lines of at most 120 columns."""
    return fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(r)} |" for r in [header, ["---"] * len(header), *rows])


def written() -> dict[str, str]:
    """The page of what is kept, and the file of every claim beside it."""
    held, names = entries(), set_up_of()
    provoked = {name: str(of["resource"]) for name, of in read_toml(HERE / "setups.toml").items()}
    text = page(held, names, (HERE / "findings.md").read_text(encoding="utf-8"))
    return {"claims.md": text, "claims.csv": table(held, names, provoked)}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keep", type=Path, help="results to copy claims and scores from first")
    asked = parser.parse_args()
    if asked.keep:
        keep(asked.keep)
    for name, text in written().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
