"""Before a study runs: is what it would work on inrush's own?

inrush creates and drops only what bears its mark. A database file that holds other tables, and a schema or database in
the way that inrush did not make, are refused; `--force` is the one way past.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from inrush.border.plan import Statement
from inrush.border.statement import text_of
from inrush.engines.base.sql import file_of
from inrush.engines.base.twin import NoDatabase
from inrush.errors import Problem, TargetError
from inrush.plan.planned import StudyPlan
from inrush.targets.deployment import Deployment, deployments_of

#: Names in a message.
NAMED_MOST = 3


def mark_problems(plan: StudyPlan, deployments: Mapping[str, Deployment]) -> Iterator[Problem]:
    """What is in the way and not inrush's. A target that cannot be asked is no problem: its runs will say why they fail."""
    for deployment, names in in_the_way(plan, deployments):
        yield Problem.sentence(refusal(deployment, names))


def drop_unmarked(
    plan: StudyPlan, deployments: Mapping[str, Deployment], note: Callable[[str], None]
) -> None:
    """Drops what is in the way and not inrush's; a file is used as it is. note: gets what was dropped.

    Raises TargetError for what could not be dropped.
    """
    for deployment, names in in_the_way(plan, deployments):
        for name in names:
            if statements := deployment.server.drop_foreign_object(name):
                drop(deployment, name, statements)
                note(f"{deployment.target.url}: dropped {name}, which did not bear inrush's mark (--force)")


def in_the_way(
    plan: StudyPlan, deployments: Mapping[str, Deployment]
) -> Iterator[tuple[Deployment, list[str]]]:
    for deployment in deployments_of(plan, deployments):
        namespaces = sorted(plan.namespaces(deployment.target.engine))
        if namespaces and (names := foreign_objects(deployment, namespaces)):
            yield deployment, names


def foreign_objects(deployment: Deployment, namespaces: Sequence[str]) -> list[str]:
    """What is in the way; an embedded engine's own new file holds nothing, one of the user's may."""
    from inrush import _core

    if not deployment.server.embedded:
        try:
            return deployment.server.find_foreign_objects(namespaces, deployment.ask)
        except _core.CoreFailure:
            return []
    name, statement = file_of(deployment.target.url), text_of(deployment.server.foreign_objects(namespaces))
    path = Path(name)
    held = statement and name and path.is_file() and path.stat().st_size
    try:
        return deployment.server.ask_file(path, statement) if held else []
    except NoDatabase:
        return []


def drop(deployment: Deployment, name: str, statements: Sequence[Statement]) -> None:
    from inrush import _core

    try:
        for statement in statements:
            deployment.ask(statement)
    except _core.CoreFailure as e:
        raise TargetError(
            f"{deployment.target.url}: {name} is in the way and could not be dropped ({e.args[1]}); drop it yourself"
        ) from e


def refusal(deployment: Deployment, found: list[str]) -> str:
    more = f" and {len(found) - NAMED_MOST} more" if len(found) > NAMED_MOST else ""
    names = ", ".join(found[:NAMED_MOST]) + more
    if deployment.server.embedded:
        return (
            f"{deployment.target.url}: holds tables that are not inrush's ({names}), and a run changes settings of the whole "
            "file; name a new file, or say --force"
        )
    return (
        f"{deployment.target.url}: {names} is in the way and does not bear inrush's mark; look at it, then drop it yourself "
        "or say --force"
    )
