"""The page of the archive's claims, from the files in `claims`: `python -m benches.archive.page`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benches.claims.page import bracketed, markdown
from inrush.stats.quantity import show
from inrush.text import number, percent

HERE = Path(__file__).parent
EMBEDDED, SERVERS, BEYOND = "claims", "claims/servers", "claims/beyond"
INTRO = (HERE / "findings.md").read_text(encoding="utf-8")
HEADER = ("engine", "figure", "at rows", "claimed [90 %]", "observed", "error", "hash")  # fmt: skip


def entries(folder: str) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Claims in a folder and their scores, by engine and figure."""
    found = []
    for path in sorted((HERE / folder).glob("*.json")):
        if path.name.endswith(".score.json"):
            continue
        scored = path.with_name(f"{path.stem}.score.json")
        found.append(
            (json.loads(path.read_text()), json.loads(scored.read_text()) if scored.is_file() else None)
        )
    return sorted(found, key=lambda e: (e[0]["group"]["engine"], e[0]["figure"], e[0]["created_unix_ns"]))


def row(claim: Mapping[str, Any], score: Mapping[str, Any] | None) -> list[str]:
    made, figure = claim["forecast"], claim["figure"]
    claimed = bracketed(made["median"], made["lo"], made["hi"], figure)
    start = [claim["group"]["engine"], figure, number(made["x"]), claimed]
    if score is None or score["verdict"] == "invalid":
        return [*start, "open", "", f"`{claim['sha256'][:8]}`"]
    error = percent(score["error"], 1)
    marked = error if score["inside"] else f"**{error}**"
    return [*start, observed(score, figure), marked, f"`{claim['sha256'][:8]}`"]


def observed(score: Mapping[str, Any], figure: str) -> str:
    """With the 95 % interval of its runs, where there were several that differed."""
    low, high = score["observed_low"], score["observed_high"]
    if low is None or low == high:
        return show(score["observed"], figure)
    return bracketed(score["observed"], low, high, figure)


def page() -> str:
    text = INTRO
    for name, folder in (("{SERVERS}", SERVERS), ("{BEYOND}", BEYOND), ("{EMBEDDED}", EMBEDDED)):
        text = text.replace(name, markdown(HEADER, [row(c, s) for c, s in entries(folder)]))
    return text


if __name__ == "__main__":
    print(page(), end="")
