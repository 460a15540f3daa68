"""What the call of a resume may say and is refused for: a study goes on as it was begun. `run` decides which runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from inrush.engines import server
from inrush.errors import Problem, UsageError, refuse
from inrush.results.store import Results, StudyFolder
from inrush.run.call import StudyCall
from inrush.run.prepare import call_of
from inrush.targets.deployments import started_words


def resumed(folder: StudyFolder, said: StudyCall) -> StudyCall:
    """The call that began a study, with the folder of its data. said: what stands beside --resume.

    Raises UsageError for what would differ from it.
    """
    call = call_of(folder)
    refuse(
        Problem.sentence(
            f"{flag} differs from the original run of {folder.path.name}; drop it to resume, or start a new run "
            f"({call.command()})"
        )
        for name, (flag, value, may_change) in said.options().items()
        if not may_change and value != getattr(call, name)
    )
    if call.storages and said.data is not None:
        raise UsageError(
            f"--data {said.data}: {folder.path.name} has storages, {', '.join(call.storages)}; resume it without --data"
        )
    lies = None if call.storages else lies_in(folder, call)
    if said.data is None:
        return replace(call, data=None if lies is None else str(lies))
    if lies is not None and lies.resolve() != Path(said.data).resolve() and sealed_here(folder, call):
        raise UsageError(
            f"--data {said.data}: the sealed runs lie in {lies}, and one study has one disk; resume it without --data, or run "
            f"it anew with this one"
        )
    return replace(call, data=said.data)


def lies_in(folder: StudyFolder, call: StudyCall) -> Path | None:
    """Where a study's data lies: as its call says, else as its sealed runs say; None where neither does."""
    if call.data is not None:
        return Path(call.data)
    begun = started_words(call.start)
    found = (
        run.env.get("data_dir") for run in Results(folder.path).runs if run.labels.get("engine") in begun
    )
    return next((Path(place).parent for place in found if place), None)


def sealed_here(folder: StudyFolder, call: StudyCall) -> bool:
    """Whether a run is sealed that had its files where `--data` says: not of a server at an address of the user's."""
    begun = started_words(call.start)
    engines = {str(run.labels.get("engine")) for run in Results(folder.path).runs}
    return any(engine in begun or server(engine).embedded for engine in engines)
