"""The studies that come with inrush: one folder per family, a workload and one file per experiment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from inrush.errors import UsageError
from inrush.study.document import unknown

SHIPPED = Path(__file__).parent.parent / "studies"


@dataclass(frozen=True)
class StudyFile:
    """`name` is what a command line says and what results are filed under."""

    name: str
    path: Path


def shipped_studies() -> list[StudyFile]:
    """All experiments of all families, by name: `telemetry-batch` lies in telemetry/batch.toml.

    A file `…workload.toml` beside them is a workload of one of them.
    """
    return sorted(
        (
            StudyFile(f"{path.parent.name}-{path.stem}", path)
            for path in SHIPPED.glob("*/*.toml")
            if not path.stem.endswith("workload")
        ),
        key=lambda study: study.name,
    )


def find_study(named: str) -> StudyFile:
    """A study by path, by full name (`telemetry-batch`, `telemetry/batch`) or by its last word where that is unique.

    Raises UsageError with the nearest name.
    """
    path = Path(named)
    if is_path(named):
        if not path.is_file():
            raise UsageError(f"{named}: no such file; `inrush studies` lists the ones that come with inrush")
        known = {study.path.resolve(): study for study in shipped_studies()}
        return known.get(path.resolve(), StudyFile(path.stem, path))
    studies = shipped_studies()
    wanted = named.replace("/", "-")
    found = [s for s in studies if s.name == wanted] or [s for s in studies if s.path.stem == wanted]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{named}: means {' or '.join(s.name for s in found)}; say which")
    names = [s.name for s in studies] + [s.path.stem for s in studies]
    raise UsageError(
        f"{named}: {unknown('study', wanted, names)} (a file is named by its path, ending in .toml)"
    )


def is_path(named: str) -> bool:
    return named.endswith(".toml") or Path(named).is_file()


def from_anywhere(named: str) -> str:
    """The same study, named so that a call from another folder finds it."""
    return str(Path(named).absolute()) if is_path(named) else named


def workload_path(named: str, study: Path) -> Path:
    """The workload file that a study names: a family of ours, or a path beside the study ending in .toml."""
    if named.endswith(".toml"):
        return study.parent / named
    return SHIPPED / named / "workload.toml"
