"""What shipped studies plan at each of their scales, as hashes: `golden/plan_hashes.json` has them.

A plan that changes on purpose: `cd python && ../.venv/bin/python -m tests.plan_hashes [STUDY …]` writes the hashes of
all studies anew, or of these. Read which fields changed (`git diff`) before you commit it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from inrush.engines import server
from inrush.plan.plan import canonical, plan_study
from inrush.study.study import load_study
from tests.strategies import shipped_files

GOLDEN = Path(__file__).parent / "golden" / "plan_hashes.json"
#: At this scale, which is small, studies are planned on each of these engines; at others on their own.
EVERY_ENGINE_AT = "xs"
ENGINES = (
    "sqlite", "duckdb", "postgresql", "timescaledb", "clickhouse", "mysql", "mariadb", "influxdb", "valkey", "questdb",
)  # fmt: skip
#: Hexadecimal digits of a field's hash: it only names what changed.
FIELD_DIGITS = 10

#: `plans`: SHA-256 of all plans of all runs in their order; `runs`: how many; `fields`: field -> its hash over all runs.
Hashes = dict[str, Any]


def studies() -> dict[str, Path]:
    """Name -> file, e.g. telemetry-batch."""
    return {f"{path.parent.name}-{path.stem}": path for path in shipped_files()}


def scales(path: Path) -> tuple[str, ...]:
    return load_study(str(path)).scales


def cases() -> list[tuple[str, str]]:
    return [(name, scale) for name, path in studies().items() for scale in scales(path)]


def hashes_of(path: Path, scale: str) -> Hashes:
    """All runs of the study, calibrations and confirmations too. Two are equal if the plans are, byte for byte."""
    study = load_study(str(path), scale)
    # What a server is started with is said for engines by name: others have no such points.
    if scale == EVERY_ENGINE_AT and not study.start:
        # One of the study's own may be none of these.
        study = load_study(str(path), scale, engines=tuple(dict.fromkeys((*ENGINES, *study.engines))))
    plan = plan_study(study, {name: server(name) for name in study.engines})
    runs = [*plan.all_runs, *plan.confirmations]
    #: Runs of a point share most of their plans: each value is written out once.
    known: dict[int, str] = {}
    whole, fields = hashlib.sha256(), dict[str, Any]()
    for run in runs:
        for field, value in fields_of(run.plan):
            found = known.get(id(value))
            if found is None:
                found = known[id(value)] = hashlib.sha256(canonical(value).encode()).hexdigest()
            line = f"{field}={found}\n".encode()
            whole.update(line)
            fields.setdefault(field, hashlib.sha256()).update(line)
    return {
        "plans": whole.hexdigest(),
        "runs": len(runs),
        "fields": {field: of.hexdigest()[:FIELD_DIGITS] for field, of in fields.items()},
    }


def fields_of(plan: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every value of a plan by its field; its segments one by one; last its name, which every change changes."""
    for key in sorted(plan, key=lambda name: (name == "run_id", name)):
        if key != "segments":
            yield key, plan[key]
        for segment in plan[key] if key == "segments" else ():
            yield f"segments.{segment['label']}", segment


def difference(golden: Hashes | None, found: Hashes) -> str:
    """What changed, in one sentence; empty where nothing did."""
    if golden is None:
        return "these plans are new"
    if golden == found:
        return ""
    if golden["runs"] != found["runs"]:
        return f"it has {found['runs']} runs and had {golden['runs']}"
    for was, now in zip_longest(golden["fields"].items(), found["fields"].items()):
        if was != now:
            field, before = was or ("", "")
            if now is None or (field and field not in found["fields"]):
                return f"field {field} is gone"
            if before == "" or now[0] not in golden["fields"]:
                return f"field {now[0]} is new"
            return f"field {now[0]} differs"
    return "its fields stand in another order"


def read() -> dict[str, dict[str, Hashes]]:
    held: dict[str, dict[str, Hashes]] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return held


def write(names: Sequence[str]) -> None:
    """Renews the hashes of these studies; those of studies that are gone go."""
    known = studies()
    held = read() if GOLDEN.exists() else {}
    for name in names:
        held[name] = {scale: hashes_of(known[name], scale) for scale in scales(known[name])}
    kept = {name: held[name] for name in known if name in held}
    GOLDEN.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1:] or list(studies()))
