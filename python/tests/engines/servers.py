"""Real servers for tests: one of each, started once, in a folder that `nobody` can enter."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inrush.engines import postgresql_release
from inrush.engines.base import Instance, Stop, Target
from inrush.engines.postgresql import Postgresql

#: Set where real servers must be there: then a missing one fails instead of being skipped.
REQUIRE = "INRUSH_REQUIRE_SERVERS"


@pytest.fixture
def folder() -> Iterator[Path]:
    """Empty; pytest's own folders are closed to the user that servers run as."""
    path = Path(tempfile.mkdtemp(prefix="inrush-test-", dir="/var/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def postgresql_programs() -> None:
    """Skips, and says why, on a machine without PostgreSQL; nothing is downloaded unless servers are required."""
    if os.environ.get(REQUIRE):
        Postgresql().fetch()
    elif (
        postgresql_release.chosen() or postgresql_release.installed() or postgresql_release.cached()
    ) is None:
        pytest.skip(f"no PostgreSQL here; `inrush engines fetch postgresql` gets one, {REQUIRE}=1 demands it")


@pytest.fixture(scope="session")
def postgresql(postgresql_programs: None) -> Iterator[Instance]:
    path = Path(tempfile.mkdtemp(prefix="inrush-test-", dir="/var/tmp"))
    path.chmod(0o755)
    server = Postgresql()
    instance = server.start(path / "postgresql", {})
    yield instance
    server.stop(instance, Stop.CLEAN)
    shutil.rmtree(path)


def control(instance: Instance | Target, statement: str, limit_s: float = 30.0) -> list[list[Any]]:
    """Rows of one statement, through the core."""
    from inrush import _core

    target = {"engine": instance.engine, "url": instance.url, "options": {}}
    rows: list[list[Any]] = json.loads(_core.control(json.dumps(target), statement, limit_s))["rows"]
    return rows
