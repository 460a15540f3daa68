"""`inrush engines`: servers that outlive the command which started them are found, told and ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from inrush.engines.servers import life
from inrush.errors import UsageError
from inrush.targets import instances

from .servers import need

SMALL = "postgresql,shared_buffers=16MB"


def by_command(*words: str) -> list[dict[str, Any]]:
    """An inrush of its own, which ends: the rows that it tells."""
    done = subprocess.run(
        [sys.executable, "-m", "inrush.cli", "engines", *words, "--json"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def silent(_: str) -> None: ...


def test_a_server_goes_on_when_its_command_has_ended_until_it_is_stopped(folder: Path) -> None:
    need("postgresql")
    (begun,) = by_command("start", SMALL, "--data", str(folder))
    assert begun["running"] and life.started_at(begun["pid"]) is not None
    (detail,) = by_command("status", "postgresql", "--data", str(folder))
    assert detail == begun and {"engine", "version", "fetched", "running", "url"} <= set(detail)
    with pytest.raises(UsageError, match="runs already at"):
        instances.start([SMALL], folder, silent)
    (ended,) = by_command("stop", "--data", str(folder))
    assert not ended["running"] and life.started_at(begun["pid"]) is None
    (after,) = instances.status(["postgresql"], folder, silent).rows
    assert (after["fetched"], after["running"], after["url"]) == (True, False, None)


def test_what_a_killed_run_left_is_said_and_can_be_stopped(folder: Path) -> None:
    need("postgresql")
    script = "import os, signal; from pathlib import Path; from inrush.targets.deployments import started\n"
    script += "from inrush.engines import server\n"
    script += f"started(server('postgresql'), Path({str(folder / 'postgresql')!r}), {{'shared_buffers': '16MB'}}, print)\n"
    script += "os.kill(os.getpid(), signal.SIGKILL)\n"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", script], env=environment, check=False).returncode == -9
    notes: list[str] = []
    (detail,) = instances.status(["postgresql"], folder, notes.append).rows
    assert detail["running"] and "left by an inrush that was killed" in notes[0] and detail["url"] in notes[0]
    instances.stop([], folder, silent)
    assert not life.working_in(folder)
    assert not instances.status(["postgresql"], folder, notes.append).rows[0]["running"] and len(notes) == 1


SETTLING = """
schema = 1
title = "Killed"
question = "What is left?"
expect = "A server that is named."
workload = "telemetry"
kind = "steps"
engines = ["postgresql"]
sizes = { ports = 100 }
repeats = { count = 1, pilot = false }
[[steps]]
name = "load"
do = "load"
table = "port_errors"
rows = { total = 1_000 }
[[steps]]
name = "rest"
do = "settle"
seconds = 100
"""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("named", [True, False], ids=["in its folder", "wherever it is"])
def test_the_server_of_a_run_that_was_killed_is_named_by_status_and_ended_by_stop(
    named: bool, folder: Path
) -> None:
    need("postgresql")
    (folder / "killed.toml").write_text(SETTLING)
    data = folder / "data"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "INRUSH_RESULTS": str(folder / "results"),
    }
    words = ["run", str(folder / "killed.toml"), "--start", SMALL, "--data", str(data)]
    with subprocess.Popen(
        [sys.executable, "-m", "inrush.cli", *words],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        until_s = time.monotonic() + 120
        while process.poll() is None and not list(folder.glob("results/*/*/plan.json")):
            assert time.monotonic() < until_s
            time.sleep(0.1)
        assert process.poll() is None, process.stderr and process.stderr.read()
        process.kill()
    at = ["--data", str(data)] if named else []
    (row,) = [r for r in by_command("status", "postgresql", *at) if r["data"] == str(data / "postgresql")]
    assert row["running"] and life.started_at(row["pid"]) is not None
    if named:
        (ended,) = by_command("stop", "postgresql", *at)
        assert (ended["running"], ended["data"]) == (False, str(data / "postgresql"))
        assert by_command("status", "postgresql", *at)[0]["running"] is False
    else:  # other servers of this machine are not ours to end
        instances.stop(["postgresql"], data, silent)
    assert life.working_in(data) == {} and life.started_at(row["pid"]) is None


def test_status_lists_every_server_that_inrush_can_start(tmp_path: Path) -> None:
    rows = instances.status([], tmp_path, silent).rows
    assert [row["engine"] for row in rows] == [twin.name for twin in instances.startable()]
    assert not any(row["running"] for row in rows)


def test_all_means_each_once_and_nothing_is_started_twice() -> None:
    assert [twin.name for twin, _ in instances.chosen(["all"])] == [t.name for t in instances.startable()]
    assert all(s == {"profile": "default"} for _, s in instances.chosen(["all,profile=default"]))
    with pytest.raises(UsageError, match="named twice"):
        instances.chosen(["postgresql", "postgresql,port=1"])


def test_one_that_writes_in_the_folder_of_another_is_a_second_server(folder: Path) -> None:
    (folder / "files").mkdir()
    alien = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"f = open({str(folder / 'files' / 'x')!r}, 'w'); print(1, flush=True); input()",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd="/",
    )
    with alien:
        assert alien.stdout is not None and alien.stdout.readline() == b"1\n"
        assert life.servers_in(folder / "files") == [alien.pid]
        reader = subprocess.Popen(["tail", "-f", folder / "files" / "x"], cwd="/", stdout=subprocess.DEVNULL)
        assert life.servers_in(folder / "files") == [alien.pid], "who only reads is none"
        reader.kill()
        reader.wait()
        alien.communicate(b"\n")
    assert life.servers_in(folder / "files") == []
