"""Before a study runs: is what it would work on inrush's own?

inrush creates and drops only what bears its mark. A database file that holds other tables, and a schema in the way
that somebody else made, are refused; `--force` is the one way past.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inrush.engines.sql import file_of
from inrush.errors import UsageError
from inrush.plan.plan import StudyPlan
from inrush.run.site import Site, environment

#: Limit of one statement, s.
ASK_S = 30.0
#: Names that a message tells.
TOLD = 3


def refuse_unmarked(plan: StudyPlan, sites: Mapping[str, Site], force: bool) -> None:
    """Raises UsageError for what is not inrush's. force: uses a file all the same, and drops a schema in the way.

    A target that cannot be asked is no refusal: its runs will say why they fail.
    """
    for engine in plan.study.engines:
        namespaces = sorted(plan.namespaces(engine))
        site = sites[engine]
        statement = site.server.strangers(namespaces) if namespaces else ""
        found = asked(site, statement) if statement else []
        if found and not force:
            raise UsageError(refusal(site, found))
        for name in found:
            for drop in site.server.drop_stranger(name):
                control(site, drop)


def asked(site: Site, statement: str) -> list[str]:
    """First values of the rows; an embedded engine's own new file holds nothing, one of the user's may."""
    if not site.server.embedded:
        return control(site, statement)
    name = file_of(site.target.url)
    path = Path(name)
    return site.server.ask_file(path, statement) if name and path.is_file() and path.stat().st_size else []


def control(site: Site, statement: str) -> list[str]:
    """First values of the rows of a statement; none where the target cannot be asked."""
    from inrush import _core

    target = site.server.run_target(site.target, Path())
    address = json.dumps({"engine": target.engine, "url": target.url, "options": dict(target.options)})
    with environment(site.environment):
        try:
            rows: list[list[Any]] = json.loads(_core.control(address, statement, ASK_S))["rows"]
        except _core.CoreFailure:
            return []
    return [str(row[0]) for row in rows]


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
