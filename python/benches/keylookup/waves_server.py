"""What a real server under checkpoints did: from results of `keylookup-waves` to a table of figures, and from that to the page.

The table is kept beside this file, since results are not.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from inrush.guards.analyse import analyse
from inrush.results.store import Results
from inrush.stats import series
from inrush.stats.measures import study_record
from inrush.stats.waves import RoleWave, waves_of_run

TABLE = Path(__file__).with_name("waves_server.csv")
ROLE, EVERY_S = "clients", 2.5
#: Column of the table -> name of the cause whose coherence it holds.
CAUSES = {"calls": "calls of checkpoints", "bytes": "bytes that server wrote"}
COLUMNS = ("checkpoints", "block", "period_s", "amplitude", "p", *CAUSES, "visible")


def take(results: Path) -> None:
    """Writes the table anew."""
    rows = sorted(
        (int(dict(m.point)["checkpoints"]), m.run.block, figures(w))
        for m in analyse(study_record(Results(results))).runs
        if m.counts
        for w in waves_of_run(m.run)
        if w.of.name == ROLE
    )
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLUMNS)
        out.writerows([with_them, block, *found] for with_them, block, found in rows)


def figures(w: RoleWave) -> list[str]:
    shares = {cause.name: cause.share for cause in w.causes}
    visible = series.least_amplitude(w.of.rate, EVERY_S / w.of.dt_s)
    coherences = [f"{shares[name]:.2f}" if name in shares else "" for name in CAUSES.values()]
    found = [f"{w.period_s:.2f}", f"{w.wave.amplitude:.3f}"] if w.wave.found else ["", ""]
    return [*found, f"{w.wave.p:.3f}", *coherences, "" if visible is None else f"{visible:.3f}"]


def table() -> list[dict[str, str]]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def rows(found: Sequence[dict[str, str]]) -> str:
    lines = []
    for r in found:
        period = f"{r['period_s']} s" if r["period_s"] else "none"
        swing = f"±{float(r['amplitude']) * 100:.0f} %" if r["amplitude"] else "–"
        lines.append(
            f"| {r['checkpoints']} | {r['block']} | {period} | {swing} | {r['p']} | {r['calls'] or '–'} | {r['bytes'] or '–'} |"
        )
    return "\n".join(lines)


def answer(found: Sequence[dict[str, str]]) -> str:
    """The first sentences of the section."""
    with_them = [r for r in found if r["checkpoints"] == "1"]
    without = [r for r in found if r["checkpoints"] == "0"]
    swing = [r for r in with_them if r["period_s"]]
    alone = [r for r in without if r["period_s"]]
    visible = max(float(r["visible"]) for r in without)
    if not swing or alone:
        return f"With checkpoints {len(swing)} of {len(with_them)} runs have a wave, without {len(alone)} of {len(without)}."
    amplitude, period_s = (
        median(float(r["amplitude"]) for r in swing),
        median(float(r["period_s"]) for r in swing),
    )
    return (
        f"On PostgreSQL 15, yes: changes by key swing by ±{amplitude * 100:.0f} % every {period_s:g} s, in the rhythm of the\n"
        f"calls of checkpoints in {len(swing)} of {len(with_them)} runs. Without them there is no wave; one of "
        f"±{visible * 100:.0f} % would have been seen."
    )
