"""Before a study runs: is what it would work on inrush's own?

inrush creates and drops only what bears its mark. A database file that holds other tables, and a schema or database in
the way that somebody else made, are refused; `--force` is the one way past.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from inrush.engines.sql import file_of
from inrush.errors import TargetError, UsageError
from inrush.plan.planned import StudyPlan
from inrush.targets.site import Site

#: Names that a message tells.
TOLD = 3


def refuse_unmarked(
    plan: StudyPlan, sites: Mapping[str, Site], force: bool, note: Callable[[str], None] = lambda said: None
) -> None:
    """Raises UsageError for what is not inrush's. force: uses a file all the same, and drops what is in the way.

    A target that cannot be asked is no refusal: its runs will say why they fail. note: is told what was dropped.
    Raises TargetError for what could not be dropped.
    """
    for engine in plan.study.engines:
        namespaces = sorted(plan.namespaces(engine))
        site = sites[engine]
        found = strangers(site, namespaces) if namespaces else []
        if found and not force:
            raise UsageError(refusal(site, found))
        for name in found:
            if statements := site.server.drop_stranger(name):
                drop(site, name, statements)
                note(f"{site.target.url}: dropped {name}, which did not bear inrush's mark (--force)")


def strangers(site: Site, namespaces: Sequence[str]) -> list[str]:
    """What is in the way; an embedded engine's own new file holds nothing, one of the user's may."""
    from inrush import _core

    if not site.server.embedded:
        try:
            return site.server.find_strangers(namespaces, site.ask)
        except _core.CoreFailure:
            return []
    name, statement = file_of(site.target.url), site.server.strangers(namespaces)
    path = Path(name)
    held = statement and name and path.is_file() and path.stat().st_size
    return site.server.ask_file(path, statement) if held else []


def drop(site: Site, name: str, statements: Sequence[str]) -> None:
    from inrush import _core

    try:
        for statement in statements:
            site.ask(statement)
    except _core.CoreFailure as e:
        raise TargetError(
            f"{site.target.url}: {name} is in the way and could not be dropped ({e.args[1]}); drop it yourself"
        ) from e


def refusal(site: Site, found: list[str]) -> str:
    more = f" and {len(found) - TOLD} more" if len(found) > TOLD else ""
    names = ", ".join(found[:TOLD]) + more
    if site.server.embedded:
        return (
            f"{site.target.url}: holds tables that are not inrush's ({names}), and a run changes settings of the whole "
            "file; name a new file, or say --force"
        )
    return (
        f"{site.target.url}: {names} is in the way and does not bear inrush's mark; look at it, then drop it yourself "
        "or say --force"
    )
