"""Several loads of the same files at once: each counts what it stored itself, and together they count every row once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from inrush.commands.load import lines
from inrush.engines.base.instance import Target
from inrush.load.call import Call
from inrush.load.check import Loaded
from inrush.load.run import load
from tests.engines.test_load import rows_file, silent
from tests.engines.test_load_proof import Place, database
from tests.engines.test_load_server import serving, token

__all__ = ["token"]

ROWS = 6_000


@pytest.fixture(params=["postgresql", "mysql"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    for here in database(request.getfixturevalue(request.param)):
        here.make()
        yield here


def three_at_once(words: dict[str, Any], files: list[Path], folder: Path) -> list[Loaded]:
    """The second begins when the first has stored rows, the third beside it; each of them reads slowly."""
    begun = threading.Event()

    def one(k: int) -> Loaded:
        def on_event(event: dict[str, Any]) -> None:
            if event["event"] == "progress" and event["role"] == "client" and event["rows_stored"]:
                begun.set()

        if k:
            assert begun.wait(60)
        size = sum(file.stat().st_size for file in files)
        call = Call(
            tuple(map(str, files)),
            "t",
            chunk_rows=200,
            flush_rows=200,
            bytes_per_s=size / 4,
            parallel=2,
            **words,
        )
        return load(call, folder / str(k), silent, on_event)

    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(one, range(3)))


def check(done: list[Loaded], files: list[Path]) -> None:
    assert sum(d.rows_stored for d in done) == ROWS, [d.document() for d in done]
    for d in done:
        assert d.rows_stored + d.rows_before + d.rows_meanwhile == ROWS
        assert d.verdict == "proven", d.why
    others = [d for d in done if d.rows_meanwhile]
    assert others
    for d in others:
        assert f"another inrush stored {d.rows_meanwhile:,} of these rows meanwhile" in lines(d)
    # Behind every row, the bytes of its line, once; each header belongs to the first chunk of its file.
    size = sum(file.stat().st_size for file in files)
    assert sum(d.bytes for d in done) == pytest.approx(size, abs=3 * 2 * 30)


def test_loads_of_the_same_files_at_once_count_together_every_row_once(place: Place, tmp_path: Path) -> None:
    files = [rows_file(tmp_path / f"{n}.csv", n * ROWS // 2, ROWS // 2) for n in range(2)]
    done = three_at_once({"into": place.url}, files, tmp_path)
    assert place.rows() == ROWS
    check(done, files)
    assert sum(shard["rows"] for d in done for shard in d.shards) == ROWS


def test_clients_of_one_load_server_count_together_every_row_once(
    postgresql: Target, token: Path, tmp_path: Path
) -> None:
    files = [rows_file(tmp_path / f"{n}.csv", n * ROWS // 2, ROWS // 2) for n in range(2)]
    for place in database(postgresql):
        place.make()
        with serving(tmp_path, place.url, "--listen", "127.0.0.1:0", "--token-file", str(token)) as shown:
            done = three_at_once({"server": shown["address"], "token_file": str(token)}, files, tmp_path)
            assert place.rows() == ROWS
            check(done, files)
