"""All studies that were run, a row for each: what `inrush runs` lists."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inrush.analysis.verdicts import WITH_NOTES, Outcome
from inrush.border.address import is_url
from inrush.engines import engine_of_url
from inrush.errors import UsageError
from inrush.results.store import sealed_runs

if TYPE_CHECKING:
    from inrush.analysis.points import Analysis
    from inrush.results.store import Store, StudyFolder

HEADER = ("id", "status", "runs", "verdict", "targets", "title")
#: Verdict of a study that has ended, as study.json keeps it.
VALID, INVALID = "valid", "invalid"
ENDED = ("done", "failed")


@dataclass(frozen=True)
class Row:
    id: str
    status: str
    #: Sealed of those planned: `24/24`.
    runs: str
    #: None where the study has not ended.
    verdict: str | None
    #: Whether a guard has a note on it.
    noted: bool
    targets: tuple[str, ...]
    title: str

    def document(self) -> dict[str, Any]:
        return {**vars(self), "targets": list(self.targets)}

    @property
    def cells(self) -> tuple[str, ...]:
        valid = WITH_NOTES if self.noted else VALID
        verdict = {VALID: valid, INVALID: "INVALID"}.get(self.verdict or "", "-")
        return self.id, self.status, self.runs, verdict, ", ".join(self.targets) or "-", self.title


def study_rows(store: Store) -> list[Row]:
    """The oldest first."""
    return [study_row(s) for s in store.studies()]


def study_row(s: StudyFolder) -> Row:
    sealed = len(sealed_runs(s.path))
    ended = s.doc.get("status") in ENDED
    return Row(
        s.path.name,
        status(s),
        f"{sealed}/{wanted_runs(s.doc)}",
        s.doc.get("verdict") if ended else None,
        bool(ended and s.doc.get("noted")),
        targets(s.doc),
        str(s.doc.get("title", "")),
    )


def wanted_runs(study: Mapping[str, Any]) -> int:
    """Runs that are planned, and the fresh repeats that were chosen since."""
    return len(study.get("planned", ())) + len(study.get("confirming", ()))


def status(study: StudyFolder) -> str:
    """`running` of a process that is gone is `killed`: its lock is free."""
    found = str(study.doc.get("status", ""))
    return "killed" if found == "running" and not study.is_locked() else found


def targets(study: Mapping[str, Any]) -> tuple[str, ...]:
    """Where the engines of a study ran: the URL as it was given, or `postgresql (started)`, and on which storages. Pure."""
    call = study.get("call") or {}
    urls = {engine_or_none(t): t for t in call.get("targets") or () if is_url(t)}
    begun = {word.partition(",")[0] for word in call.get("start") or ()}
    on = f" on {', '.join(call['storages'])}" if call.get("storages") else ""
    return tuple(
        (urls.get(engine) or (f"{engine} (started)" if engine in begun else engine)) + on
        for engine in map(str, study.get("engines") or ())
    )


def engine_or_none(url: str) -> str | None:
    """None for the URL of an engine that this inrush does not have."""
    try:
        return engine_of_url(url)
    except UsageError:
        return None


def keep_verdict(study: StudyFolder, analysis: Analysis) -> None:
    """Writes the verdict of a study that has ended beside its status: a list of all studies reads no table.

    Not while an inrush works on it: that one writes its own.
    """
    with contextlib.suppress(UsageError), study.locked():
        if (ended := study.doc.get("status")) in ENDED:
            verdict = VALID if analysis.valid and ended == "done" else INVALID
            study.write({"verdict": verdict, "noted": analysis.outcome is Outcome.NOTE})
