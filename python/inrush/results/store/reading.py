"""Results as they are read: sealed runs, and a study of them."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyarrow.parquet as pq

from inrush.border.pipeline import AnyPlan
from inrush.errors import ResultUnreadable
from inrush.results.schema import SCHEMAS, conform, empty
from inrush.results.store.files import Doc, check_schema, read_json, sha256
from inrush.results.store.root import sealed_runs


class Results:
    """A study's results, as far as they are sealed."""

    def __init__(self, path: Path, only: str | None = None) -> None:
        self.path = path
        self.only = only

    @cached_property
    def study(self) -> Doc:
        """study.json: title, question, expect, answer, accept, published, planned runs, stopped, unsupported."""
        doc = read_json(self.path / "study.json")
        check_schema(doc, self.path / "study.json")
        return doc

    @cached_property
    def runs(self) -> list[SealedRun]:
        """Sealed runs in planned order: block, then order in the block."""
        if self.only is not None and not (self.path / self.only / "run.json").is_file():
            raise ResultUnreadable(
                f"{self.path / self.only}: this run was never sealed, so it has no figures; "
                f"go on with `inrush run --resume {self.path.name}`"
            )
        found = [SealedRun(path) for path in sealed_runs(self.path) if self.only in (None, path.name)]
        return sorted(found, key=lambda r: (r.doc.get("block", 0), r.doc.get("order", 0), r.id))

    @property
    def report_path(self) -> Path:
        return self.path / "report.html"


@dataclass(frozen=True)
class SealedRun:
    """A run that is complete, as the report reads it."""

    path: Path

    @property
    def id(self) -> str:
        return self.path.name

    @cached_property
    def doc(self) -> Doc:
        """run.json: status, labels, block, order, hash, times, failure."""
        doc = read_json(self.path / "run.json")
        check_schema(doc, self.path / "run.json")
        return doc

    @cached_property
    def plan(self) -> AnyPlan:
        return cast("AnyPlan", read_json(self.path / "plan.json"))

    @cached_property
    def env(self) -> Doc:
        return read_json(self.path / "env.json")

    @property
    def labels(self) -> Doc:
        return dict(self.doc.get("labels", {}))

    @cached_property
    def tables(self) -> Mapping[str, pa.Table]:
        """All tables, read when first asked for; empty ones for what the run did not write."""
        return _Tables(self)

    def table(self, name: str) -> pa.Table:
        return self.tables[name]

    @property
    def first_rejects(self) -> dict[str, str]:
        """Table that was fed from files -> the first row that was not stored and why; of a pipeline: `pipelines`."""
        found = {p.stem.removeprefix("reject-"): first_reject(p) for p in self.path.glob("reject-*.csv")}
        piped = next(iter(sorted((self.path / "rejects").glob("*.csv"))), None)
        return found if piped is None else {**found, "pipelines": first_reject(piped)}

    def damage(self) -> list[str]:
        """What differs from what was sealed, as messages; empty when nothing does."""
        found = []
        for name, sealed in self.doc.get("tables", {}).items():
            path = self.path / sealed["file"]
            if not path.is_file():
                found.append(f"{path}: table {name} is missing; restore the folder from where it was copied")
            elif sha256(path) != sealed["sha256"]:
                found.append(
                    f"{path}: table {name} is not as it was sealed; restore it or run the study again"
                )
        return found


def first_reject(path: Path) -> str:
    """`a.csv, line 2: column v: not an integer`; empty of a reject file without a row, and of one that is not read."""
    try:
        with path.open(newline="", encoding="utf-8", errors="replace") as lines:
            # Before Python 3.11 no line with a NUL was read.
            row = next(csv.DictReader(line.replace("\0", " ") for line in lines), None)
    except (OSError, csv.Error):
        return ""
    if row is None or not row.get("reason"):
        return ""
    return (
        f"{row['file']}, line {row['line']}: "
        + (f"column {row['column']}: " if row["column"] else "")
        + row["reason"]
    )


class _Tables(Mapping[str, pa.Table]):
    """Lazy: a study of a thousand runs is opened without reading a table."""

    def __init__(self, run: SealedRun) -> None:
        self._run = run
        self._read: dict[str, pa.Table] = {}
        self._names = sorted(set(SCHEMAS) | set(run.doc.get("tables", {})))

    def __getitem__(self, name: str) -> pa.Table:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._read:
            self._read[name] = self._load(name)
        return self._read[name]

    def _load(self, name: str) -> pa.Table:
        sealed = self._run.doc.get("tables", {}).get(name)
        if sealed is None:
            return empty(name)
        path = self._run.path / sealed["file"]
        try:
            # Not by `read_table`: datasets and pandas take a third of a second to load, for one file with nothing to filter.
            with pq.ParquetFile(path) as file:
                return conform(name, file.read())
        except (OSError, KeyError, pa.ArrowException) as e:
            raise ResultUnreadable(
                f"{path}: {e}; the run was sealed with this table: restore the folder"
            ) from e

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
