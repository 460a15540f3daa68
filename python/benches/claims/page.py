"""docs/claims.md out of claims and their scores: `python -m benches.claims.page > ../docs/claims.md`. Pure but for reading them.

`--keep DIR` first copies the claims, scores and set-ups of results (`claims.py --out DIR`) to `scored/` beside this file.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from inrush.model.score import board
from inrush.predict.board import Entry, beside, groups, knee_line, knees, scores_of
from inrush.results.predictions import Claim
from inrush.stats.quantity import show
from inrush.study.toml import read_toml
from inrush.text import percent

HERE = Path(__file__).parent
SCORED = HERE / "scored"
#: From this load on a knee is worth the name: below it lies within what was measured.
KNEE_FROM = 4.0

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


def page(held: Sequence[Entry], names: Mapping[str, str], provoked: Mapping[str, str], read: str) -> str:
    """The whole document. provoked: set-up -> resource. read: what the claims show, in Markdown."""
    scored = scores_of(held)
    whole = board([s for _, s in scored])
    if whole is None:
        raise SystemExit("no claim has a score: run benches.claims.claims first")
    knee_claims = [doc for doc, _ in scored if (doc["forecast"]["saturation"] or 0.0) >= KNEE_FROM]
    engines = sorted({str(doc["group"]["engine"]) for doc, _ in scored})
    env = scored[0][0]["machine"]
    hits = whole.bottlenecks
    open_ = sum(s is None or s["verdict"] == "invalid" for _, s in held)
    parts = [
        "# Claims on real engines, frozen and scored",
        filled(
            "`python -m benches.claims.page` writes this page from the claims and scores in `python/benches/claims/scored/`, good or bad. "
            "A test compares the two. Each claim was frozen with its hash before its target ran. `python -m benches.claims.claims` makes "
            "all of them again: the set-ups are data (`setups.toml`), and the studies lie beside them."
        ),
        filled(f"{len(held)} claims, {len(scored)} of them scored and {open_} open or without a valid run; engines: {', '.join(engines)}; "
        f"{len(knee_claims)} with a knee claimed at {KNEE_FROM:g} or more loads. "
        f"Machine: {env.get('cpu_model')}, {env.get('cpu_logical')} cores, Linux {env.get('kernel')}."),
        "## Together",
        markdown(["", "claims", "median error", "p90 error", "inside 90 %", "bottleneck named"], [
            ["all", str(whole.n), percent(whole.median_error, 1), percent(whole.p90_error, 1), interval(whole.coverage),
             f"{percent(hits.value)} of {hits.n}" if hits else "–"],
            *([f"{name}: {k}", str(b.n), percent(b.median_error, 1), percent(b.p90_error, 1), interval(b.coverage),
               f"{percent(b.bottlenecks.value)} of {b.bottlenecks.n}" if b.bottlenecks else "–"]
              for name, of in groups(held).items() for k, b in of.items()),
        ]),
        "The claims beside simpler models, by the same observations:",
        markdown(["", "claims", "median error", "p90 error"],
                 [[b.name, str(b.n), percent(b.median_error, 1), percent(b.p90_error, 1)] for b in beside(held)]),
        read.strip(),
        "## Knees",
        *knee_parts(held, names),
        "## Every claim",
        markdown(["set-up", "provoked", "figure", "at", "claimed [90 %]", "observed", "error", "inside", "full: claimed", "seen", "linear", "bound", "USL", "hash"],
                 [claim_row(doc, s, names, provoked) for doc, s in held]),
    ]  # fmt: skip
    return "\n\n".join(p for p in parts if p) + "\n"


def knee_parts(held: Sequence[Entry], names: Mapping[str, str]) -> list[str]:
    found = knees(held)
    if not found:
        return ["No curve was seen to level off."]
    rows = [
        [names.get(k.name, k.name), f"{k.claimed:.3g}", f"{k.seen:.3g}", percent(k.error, 1)] for k in found
    ]
    return [
        filled(
            f"{knee_line(found)}. There is one for each training. The knee is seen where proportion would have reached the highest "
            "rate of a curve that levelled off."
        ),
        markdown(["set-up", "claimed", "seen", "error"], rows),
    ]


def claim_row(doc: Doc, s: Doc | None, names: Mapping[str, str], provoked: Mapping[str, str]) -> list[str]:
    made, figure = doc["forecast"], str(doc["figure"])
    set_up = names.get(str(doc["id"]), "")
    sure = "" if made["calibrated"] else " u"
    claimed = f"{show(made['median'], figure)} [{show(made['lo'], figure)}, {show(made['hi'], figure)}]{sure}"
    first = [set_up, provoked.get(set_up, ""), figure, f"{doc['along']} {made['x']:g}", claimed]
    if s is None or s["verdict"] == "invalid":
        return [*first, "open" if s is None else "invalid", *[""] * 7, f"`{doc['sha256'][:8]}`"]
    others = [
        percent(abs(s["observed"] - made["baselines"][b]) / s["observed"], 1)
        if b in made["baselines"]
        else "–"
        for b in ("linear", "hard bound", "usl")
    ]
    return [
        *first, show(s["observed"], figure), percent(s['error'], 1), "yes" if s["inside"] else "**no**",
        str(made["bottleneck"] or "–"), str(s["bottleneck_seen"] or "–"), *others, f"`{doc['sha256'][:8]}`",
    ]  # fmt: skip


def interval(of: Any) -> str:
    return f"{percent(of.value)} [{percent(of.low)}, {percent(of.high)}]"


def filled(text: str) -> str:
    """A paragraph in lines of at most 120 columns."""
    return fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(r)} |" for r in [header, ["---"] * len(header), *rows])


def written() -> str:
    """The page of what is kept."""
    set_ups = read_toml(HERE / "setups.toml")
    provoked = {name: str(of["resource"]) for name, of in set_ups.items()}
    return page(entries(), set_up_of(), provoked, (HERE / "findings.md").read_text())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keep", type=Path, help="results to copy claims and scores from first")
    asked = parser.parse_args()
    if asked.keep:
        keep(asked.keep)
    print(written(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
