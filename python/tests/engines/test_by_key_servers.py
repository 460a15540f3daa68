"""Calls by key on real servers, one call in flight and 64: every answer and every row that is left is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.engines.base.instance import Target
from tests.terminal import Inrush
from tests.test_by_key_run import ran


@pytest.mark.parametrize("engine", ("postgresql", "mysql", "mariadb", "ndb", "valkey"))
def test_rows_that_come_go_and_change_are_proven_while_they_are_read_at_any_depth(
    request: pytest.FixtureRequest, engine: str, inrush: Inrush, tmp_path: Path
) -> None:
    server: Target = request.getfixturevalue(engine)
    ran(inrush, tmp_path, engine, "[1, 64]", server.url)
