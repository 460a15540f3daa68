"""The commands of the documentation that name one server, on PostgreSQL and at their smallest."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from inrush.engines.base.instance import Target
from tests.documented import SERVER, Typed, own_files, put_in
from tests.terminal import Inrush
from tests.test_docs_run import COMMANDS, elsewhere

from .servers import control

ON_A_SERVER = [call for call in COMMANDS if call.servers == 1 and elsewhere(call) is None]


@pytest.fixture
def table(postgresql: Target) -> Iterator[str]:
    name = f"documented_{random.randrange(1 << 40):x}"
    yield name
    control(postgresql, f"DROP TABLE IF EXISTS {name}")


@pytest.mark.slow
@pytest.mark.parametrize("call", ON_A_SERVER, ids=str)
def test_a_documented_command_runs_on_a_server(
    call: Typed,
    postgresql: Target,
    table: str,
    inrush: Inrush,
    tmp_path: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    own = {word: postgresql.url for word in call.words if SERVER.match(word)}
    own |= {"t": table, "index": table, "/mnt/": f"{folder}/"}
    words = put_in(call.words, own)
    if words[0] == "load" and "--create" not in words:  # into a table that is there
        control(
            postgresql, f"CREATE TABLE {table} (id bigint PRIMARY KEY, at timestamp, value double precision)"
        )
    said = inrush(*words)
    # 3: the machine was busy or the core is a debug build.
    assert said.code in (0, 3) if words[0] == "run" else said.code == 0, said.err


def test_there_are_commands_that_name_a_server() -> None:
    assert len(ON_A_SERVER) >= 6
