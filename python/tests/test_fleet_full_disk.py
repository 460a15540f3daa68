"""A disk of a worker that fills up while its files are made or loaded: how the run ends, and that it goes with room."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inrush.fleet.remote import more_room, of_full_disk
from inrush.results.parts import read
from tests.needed import need_distributed
from tests.test_clients_run import heard
from tests.test_fleet_files import AS_MADE, planned, simulated
from tests.test_pipeline import placed

need_distributed()

from inrush.fleet.local import node  # noqa: E402
from tests.test_fleet_files_run import until  # noqa: E402
from tests.test_fleet_run import Fleet, fleet, none_left, running  # noqa: E402

LIMIT_S = 60.0


def failed(message: str, kind: str = "io") -> Any:
    return {"event": "failed", "kind": kind, "message": message}


def test_what_is_next_is_said_of_the_worker_s_own_disk_and_of_no_server_s() -> None:
    folder = Path("/scratch/worker-1/inrush-x")
    full = "No space left on device (os error 28)"
    for message in (
        f"making input file {folder}/files/a.tsv.part: {full}",
        f"writing the table `hist` of the results: {full}",
    ):
        found: Any = of_full_disk(failed(message), folder)
        assert found["message"] == f"{message}; {more_room(folder)}"
        assert "make room in /scratch/worker-1 there" in found["message"]
    for other in (
        failed(f"COPY t: could not extend file: {full}", "statement"),
        failed(f"making input file {folder}/files/a.tsv.part: Permission denied"),
        {"event": "note", "text": f"{folder}: {full}"},
    ):
        assert of_full_disk(other, folder) == other


@contextlib.contextmanager
def small_disk(path: Path, size: str) -> Iterator[Path]:
    path.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "inrush-test", str(path)], check=False
    ).returncode:
        pytest.skip("this root may mount nothing")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def resize(path: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(path)], check=True)


@contextlib.contextmanager
def with_small_second(path: Path, size: str) -> Iterator[Fleet]:
    """A fleet of two; the second one works on a small disk."""
    with small_disk(path, size), fleet(1) as at:
        words = [
            "worker", at.address, "--host", "127.0.0.1", "--nworkers", "1", "--nthreads", "1", "--no-nanny", "--no-dashboard",
            "--memory-limit", "0", "--name", "002", "--local-directory", str(path), "--death-timeout", "10",
        ]  # fmt: skip
        second = node(at.folder, "second.log", words, at.environment())
        try:
            until(lambda: workers(at) == 2)
            yield at
        finally:
            second.kill()
            second.close()


def workers(at: Fleet) -> int:
    link = at.link()
    try:
        return len(link.workers())
    finally:
        link.close()


def left(disk: Path) -> list[Path]:
    """What is there of runs."""
    return [*disk.rglob("inrush-*")]


def failure(at: Fleet, folder: Path, plan: Any, name: str, disk: Path, fill: bool = False) -> str:
    """What a run says that ends by a full disk; nothing of it is left. fill: it is filled once the load goes on."""
    with running(at, folder, plan, name) as worker:
        if fill:
            while heard(worker, "progress")[-1]["label"] != "load":
                pass
            with contextlib.suppress(OSError), (disk / "filling").open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4_096))
        events = heard(worker, "failed")
        heard(worker, "ended")
        assert worker.close() == 1, events
    assert none_left(at, LIMIT_S)
    until(lambda: not left(disk))
    return str(events[-1]["message"])


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk to fill")


@needs_root
@pytest.mark.slow
def test_a_disk_that_fills_while_files_are_made_ends_the_run_and_with_room_it_goes_on(tmp_path: Path) -> None:
    disk = tmp_path / "small"
    many = ("steps.load.rows.total=300_000", "sizes.files=60", "sizes.run_rows=1_000")
    plan = simulated(planned(2, AS_MADE, *many))
    with with_small_second(disk, "1m") as at:
        said = failure(at, tmp_path, plan, "full", disk)
        assert said.startswith("client process 2 of 2 (worker tls://127.0.0.1:"), said
        # Whatever comes to its end first, of what is made beside one another.
        assert f"making input file {disk}/" in said or "writing the table `" in said
        assert "No space left on device" in said
        assert f"; make room in {disk}/" in said and "--local-directory DIR" in said and "\n" not in said
        # Nothing has room: neither what is begun with nor the first table.
        resize(disk, "400k")
        with contextlib.suppress(OSError), (disk / "filling").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4_096))
        said = failure(at, tmp_path, plan, "none", disk)
        assert f"{disk}/" in said and "No space left on device" in said, said
        assert "its files cannot be written" in said or "writing the table `" in said, said
        assert "--local-directory DIR" in said and "worker tls://127.0.0.1:" in said
        (disk / "filling").unlink()
        resize(disk, "200m")
        with running(at, tmp_path, plan, "room") as worker:
            events = heard(worker, "ended")
            assert worker.close() == 0, events
    loaded = [row for table in read("files", tmp_path / "room" / "parts") for row in table.to_pylist()]
    assert sum(row["rows"] for row in loaded) == 300_000


@needs_root
@pytest.mark.slow
def test_a_disk_that_fills_while_files_are_loaded_ends_the_run(tmp_path: Path) -> None:
    disk = tmp_path / "small"
    plan = simulated(planned(2))
    plan["target"]["options"]["service_ns"] = "400000000"
    plan["watch"]["every_ns"] = 100_000_000
    with with_small_second(disk, "20m") as at:
        said = failure(at, tmp_path, plan, "full", disk, fill=True)
    assert said.startswith("client process 2 of 2 (worker tls://127.0.0.1:"), said
    assert "No space left on device" in said and f"; make room in {disk}/" in said


@needs_root
@pytest.mark.slow
def test_a_client_of_a_pipeline_whose_disk_fills_is_named(tmp_path: Path) -> None:
    disk = tmp_path / "small"
    plan = placed("sqlite", tmp_path, "pipeline.pipeline_bytes_per_s=0")
    with with_small_second(disk, "300k") as at:
        said = failure(at, tmp_path, plan, "full", disk)
        assert said.startswith("client 1 (worker tls://127.0.0.1:"), said
        assert f"making input file {disk}/" in said and "No space left on device" in said
        assert f"; make room in {disk}/" in said and "\n" not in said
        resize(disk, "50m")
        with running(at, tmp_path, plan, "room") as worker:
            events = heard(worker, "ended")
            assert worker.close() == 0, events
