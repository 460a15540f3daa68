"""What shipped studies come to at scale xs, whatever the machine's speed: `golden/outcomes.json` has it.

`make outcomes` runs every study at its smallest point and names what differs; `python -m tests.outcomes write [STUDY …]`
(in python/) writes what is wanted now. Studies run on SQLite, DuckDB and what else needs no server; on a server where
INRUSH_<ENGINE>_URL names one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from inrush.analysis.answer import answer
from inrush.analysis.points import Analysis
from inrush.guards.analyse import analyse
from inrush.results.store import Results
from inrush.stats.measures import study_record
from inrush.study.reading import load_study
from inrush.study.shipped import shipped_studies
from tests.documented import without_pilot
from tests.strategies import ENVIRONMENT
from tests.test_shipped_studies import PROOFS, SMALLEST

GOLDEN = Path(__file__).parent / "golden" / "outcomes.json"
#: Stands for a value that varies, and for a figure that not every run has.
VARIES = "?"
#: Figures of a step for which the watch must have looked in time; in a short step it may not have.
WATCHED = re.compile(r"(host|server|data|input)_|client_(busy|process|read|write|system|user)_|pages?_")
#: What is compared of a study: "answer", "figures", "rows", "verdicts" -> name -> value.
Outcome = dict[str, dict[str, str]]


def cases(names: Iterable[str]) -> dict[str, tuple[str, list[str]]]:
    """Case -> study and engines. A case has the study's name, and on a server also the engine's."""
    found = {}
    for name in names:
        if name in SMALLEST:
            found[name] = name, SMALLEST[name][0]
        servers = [e for e in load_study(name, "xs").engines if f"INRUSH_{e.upper()}_URL" in os.environ]
        found |= {f"{name} {engine}": (name, [engine]) for engine in servers}
    return found


def run(study: str, engines: Sequence[str]) -> Outcome:
    """Runs the study in a process and a folder of its own. Raises AssertionError where it fails."""
    changes = [f"-P{change}" for change in ("repeats.count=1", *SMALLEST.get(study, ([], []))[1])]
    places = [os.environ.get(f"INRUSH_{engine.upper()}_URL", engine) for engine in engines]
    words = [*places, "--scale", "xs", "--json", *changes, *without_pilot(study)]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "tests.undisturbed", "run", study, *words],
            env={**ENVIRONMENT, "INRUSH_RESULTS": folder}, cwd=Path(__file__).parents[1],
            capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        # 3: a guard made a figure invalid, as a busy machine does.
        assert done.returncode in (0, 3), f"{study}: exit code {done.returncode}: {done.stderr[-2000:]}"
        [path] = Path(folder).glob("*/study.json")
        return outcome(analyse(study_record(Results(path.parent))))


def outcome(analysis: Analysis) -> Outcome:
    """Names and digests alone; no value that varies with speed."""
    verdicts = dict[str, set[str]]()
    for _, verdict in analysis.verdicts:
        verdicts.setdefault(verdict.guard, set()).add(
            verdict.outcome.value if verdict.guard in PROOFS else ""
        )
    said = {}
    if decided := answer(analysis):
        groups = {", ".join(f"{name} {value}" for name, value in part.group) for part in decided.parts}
        figure_along = f"{decided.figure} along {decided.along}"
        said = {"figure": figure_along, "groups": "; ".join(sorted(groups)), "kind": decided.kind}
    return {
        "answer": said,
        "figures": dict(sorted(figure(name) for m in analysis.runs for name in m.figures)),
        "rows": digests(analysis),
        "verdicts": {guard: ", ".join(sorted(of)) for guard, of in sorted(verdicts.items())},
    }


def figure(name: str) -> tuple[str, str]:
    """Its name, and whether it varies. One of what was watched is any step's."""
    metric = name.rpartition(".")[2]
    return (f"*.{metric}", VARIES) if WATCHED.match(metric) else (name, "")


def digests(analysis: Analysis) -> dict[str, str]:
    """Table -> digest of what all its proofs in all runs expected and found."""
    rows: dict[str, set[str]] = {}
    for measured in analysis.runs:
        for row in measured.run.rows("proofs"):
            # Without the schema or file, which has a name of its own in every execution.
            of_table = rows.setdefault(row["table"].rpartition(".")[2].strip('"'), set())
            of_table.add(f"{row['item']} {row['expected']} {row['found']} {row['holds']}")
    return {t: hashlib.sha256("\n".join(sorted(of)).encode()).hexdigest()[:8] for t, of in rows.items()}


def settled(outcomes: Sequence[Outcome]) -> Outcome:
    """What all of these have alike; the rest is marked as varying."""
    first = outcomes[0]
    return {
        part: {
            name: first[part][name] if len({of[part].get(name) for of in outcomes}) == 1 else VARIES
            for name in sorted({name for of in outcomes for name in of[part]})
        }
        for part in first
    }


def differences(golden: Outcome, found: Outcome, watched: Collection[str] = ()) -> Iterator[str]:
    """A line for each name that is gone, new, or has another value; none for what varies, and for `watched` figures."""
    for part, was in golden.items():
        now = found[part]
        for name in sorted({*was, *now}):
            if was.get(name) == VARIES or was.get(name) == now.get(name) or name in watched:
                continue
            said = f"is {now[name]} and was {was[name]}" if name in was and name in now else ""
            yield f"{part}: {name} {said or ('is new' if name in now else 'is gone')}"


def read() -> dict[str, Outcome]:
    """Case -> outcome. In the file, names that many cases share stand once: `packed`."""
    return unpacked(json.loads(GOLDEN.read_text(encoding="utf-8"))) if GOLDEN.exists() else {}


def packed(known: Mapping[str, Outcome]) -> dict[str, Any]:
    """Names of figures without their roles, and names of verdicts, are lists that cases refer to by their numbers."""
    lists = dict[str, int]()
    cases: dict[str, Any] = {}
    for case, of in known.items():
        roles: dict[str, list[str]] = {}
        for name, varies in of["figures"].items():
            role, metric = name.rsplit(".", 1)
            roles.setdefault(role, []).append(metric + varies)
        by_list: dict[int, list[str]] = {}
        for role, metrics in roles.items():
            by_list.setdefault(lists.setdefault(" ".join(metrics), len(lists)), []).append(role)
        verdicts = "; ".join(": ".join(filter(None, item)) for item in of["verdicts"].items())
        cases[case] = {
            **of,
            "figures": {str(number): "; ".join(roles) for number, roles in by_list.items()},
            "verdicts": lists.setdefault(verdicts, len(lists)),
        }
    return {"cases": cases, "lists": list(lists)}


def unpacked(golden: Mapping[str, Any]) -> dict[str, Outcome]:
    lists = [names.split("; " if "; " in names else " ") for names in golden["lists"]]
    return {
        case: {
            **of,
            "figures": {
                f"{role}.{metric.rstrip(VARIES)}": VARIES if metric.endswith(VARIES) else ""
                for number, roles in of["figures"].items()
                for role, metric in product(roles.split("; "), lists[int(number)])
            },
            "verdicts": {v.partition(": ")[0]: v.partition(": ")[2] for v in lists[of["verdicts"]]},
        }
        for case, of in golden["cases"].items()
    }


def compare(names: Iterable[str]) -> bool:
    """Prints each case and what differs of it; whether nothing does."""
    golden, alike = read(), True
    watched = {name for of in golden.values() for name in of["figures"] if name.startswith("*.")}
    for case, (study, engines) in cases(names).items():
        if case != study and case not in golden:
            print(f"{case}: not compared: it was never written", flush=True)
            continue
        found = run(study, engines)
        lines = (
            list(differences(golden[case], found, watched)) if case in golden else ["it was never written"]
        )
        alike &= not lines
        print("\n  ".join([f"{case}: {'differs' if lines else 'as it was'}", *lines]), flush=True)
    return alike


def write(names: Iterable[str]) -> None:
    known = read()
    for case, (study, engines) in cases(names).items():
        known[case] = settled([run(study, engines), run(study, engines)])
        print(case, flush=True)
        GOLDEN.write_text(json.dumps(packed(known), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    wanted, words = sys.argv[1:2] == ["write"], sys.argv[1:]
    studies = words[wanted:] or [study.name for study in shipped_studies()]
    if wanted:
        write(studies)
    elif not compare(studies):
        sys.exit("if that is wanted: cd python && ../.venv/bin/python -m tests.outcomes write STUDY …")
