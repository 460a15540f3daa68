"""Disks of workers: each is asked for the room of its files before the first run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from inrush.fleet import remote
from inrush.fleet.room import Room, each_needs, short, short_of_room
from inrush.machine import host
from tests.needed import need_distributed
from tests.terminal import Inrush
from tests.test_fleet_files import AS_MADE, CHUNKS, ROWS, SORTED, planned
from tests.test_pipeline import placed

need_distributed()

# What each needs.


def of_ten(stream: str) -> float:
    return 10.0


def test_a_worker_needs_room_for_its_own_files_and_for_all_where_a_step_sorts_them() -> None:
    rows_of_one = ROWS / CHUNKS
    assert each_needs(planned(2), of_ten) == pytest.approx([7 * rows_of_one * 10, 6 * rows_of_one * 10])
    # As they are made, and sorted, and what the sort writes meanwhile.
    assert each_needs(planned(3, SORTED), of_ten) == pytest.approx([3 * ROWS * 10] * 3)
    assert each_needs(planned(2, AS_MADE, 'steps.load.files.way="server_file"'), of_ten) == [], (
        "they are on the host of inrush"
    )


def test_a_client_of_a_pipeline_needs_room_for_its_share_and_the_load_server_none(tmp_path: Path) -> None:
    plan: Any = placed("sqlite", tmp_path, "pipeline.client_hosts=2")
    assert each_needs(plan, of_ten) == pytest.approx([0, 2 * 1_626 * 10, 2 * 1_626 * 10])


# Which have less.


def rooms(*of: tuple[int | None, str]) -> dict[str, Room]:
    return {f"w{n}": Room(f"/scratch/{n}", free, disk) for n, (free, disk) in enumerate(of, start=1)}


NAMES = {f"w{n}": f"worker w{n} on h" for n in range(1, 4)}


def test_a_worker_with_too_little_room_is_named_with_both_figures() -> None:
    found = rooms((2_000, "a"), (1_000, "b"), (None, "c"))
    needs = [[1_500.0, 1_500.0, 1_500.0], [1_900.0]]
    assert short(found, NAMES, needs) == [
        "worker w2 on h: /scratch/2: 1.00 kB free; the study's input files take up to 1.50 kB there"
    ]


def test_workers_of_one_disk_need_the_sum_of_one_run_and_not_of_two() -> None:
    shared = rooms((3_000, "a"), (3_000, "a"), (9_000, "b"))
    assert short(shared, NAMES, [[1_500.0, 1_500.0, 0.0], [3_000.0]]) == []
    assert short(shared, NAMES, [[0.0, 2_000.0, 0.0], [1_600.0, 1_600.0]]) == [
        "worker w1 on h, worker w2 on h: /scratch/1, /scratch/2: 3.00 kB free; the study's input files take up to 3.20 kB there"
    ]


class Asked:
    """A link that says which workers were called."""

    def __init__(self) -> None:
        self.workers: list[str] = []

    def call(self, worker: str, limit_s: float, function: Any, *_: Any) -> Any:
        assert function is remote.room
        self.workers.append(worker)
        return {"folder": "/s", "free": 1, "disk": worker}


def test_no_worker_is_asked_where_no_files_are_made_and_no_other_than_those_of_the_runs() -> None:
    facts: Mapping[str, Any] = {name: {"host": "h"} for name in NAMES}
    for plan, asked in (
        (planned(2), ["w1", "w2"]),
        (planned(2, AS_MADE, 'steps.load.files.way="server_file"'), []),
    ):
        link: Any = Asked()
        lines = short_of_room(link, [*NAMES], facts, [plan], of_ten)
        assert sorted(link.workers) == asked and len(lines) == len(asked)


def test_a_worker_looks_at_the_disk_of_its_own_folder(tmp_path: Path) -> None:
    class Worker:
        local_directory = str(tmp_path)

    found = Room(**asyncio.run(remote.room(Worker())))
    assert found.folder == str(tmp_path) and found.disk == f"{host.boot()} {tmp_path.stat().st_dev}"
    assert found.free is not None and found.free > 0
    assert Room(**asyncio.run(remote.room())).folder == remote.tempfile.gettempdir()


@pytest.mark.ci
def test_a_study_says_it_before_its_first_run(inrush: Inrush, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inrush.plan.cost.text_row_bytes", lambda *_: 1e15)
    words = (
        "pipeline-parallel",
        "sqlite",
        "--scale",
        "xs",
        "-P",
        "pipelines=[1]",
        "-P",
        "repeats={count=1,confirm=0}",
    )
    said = inrush("run", *words, "--fleet", "local:2")
    assert said.code in (0, 3), said.err
    (line,) = [line for line in said.err.splitlines() if "input files take" in line]
    assert (
        line.startswith("fleet: worker tls://127.0.0.1:") and f" on {remote.socket.gethostname()}: " in line
    )
    assert " free; the study's input files take up to " in line and line.endswith(" TB there")
