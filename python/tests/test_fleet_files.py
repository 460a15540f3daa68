"""Files of a load over a fleet: each worker makes those that its sessions load, and together they are those of one machine."""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from inrush import _core
from inrush.agent.process import Process
from inrush.engines import server
from inrush.fleet import own_files
from inrush.fleet.run import made_by
from inrush.plan.plan import plan_study
from inrush.study.files import at_inputs, input_path
from inrush.study.reading import load_study

LIMIT_S = 30.0
ROWS, CHUNKS = 3_001, 13
#: Files of many sizes, and the same rows sorted by their key.
AS_MADE, SORTED = "L2 parallel", "L3 sorted"


def planned(of: int, way: str = AS_MADE, *overrides: str, process: int = 0) -> Any:
    """What one of several processes does of a load from files; PostgreSQL is not asked for anything here."""
    sizes = (f"steps.load.rows.total={ROWS}", f"sizes.files={CHUNKS}", "sizes.run_rows=20")
    study = load_study("bulkindex-load", "xs", [f"clients={of}", *sizes, *overrides], ["postgresql"])
    runs = plan_study(study, {"postgresql": server("postgresql")}).runs
    plan = next(run.plan for run in runs if run.labels["factors"]["way"] == way)
    return {**json.loads(json.dumps(plan)), "share": {"index": process, "of": of}}


def hashes(folder: Path) -> dict[str, str]:
    """Name of each file that has rows -> what is in it."""
    found = [path for path in folder.glob("*/*.tsv") if path.stat().st_size]
    assert len({path.name for path in found}) == len(found)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def of_one_machine(folder: Path, way: str) -> dict[str, str]:
    """As a run of one process makes them, and sorts them where a step does."""
    plan = at_inputs(planned(1, way), folder / "one")
    plan["segments"] = [s for s in plan["segments"] if s["kind"] in ("inputs", "sort")]
    (folder / "tables").mkdir()
    run = _core.start(json.dumps(plan), str(folder / "tables"))
    while not run.done():
        run.poll(0.1)
    return hashes(folder / "one")


class OneSession:
    """A client process, as a worker starts it, and what it says."""

    def __init__(self, folder: Path, plan: Mapping[str, Any], **more: float) -> None:
        self.folder = folder
        (folder / "parts").mkdir(parents=True)
        document: Any = {"does": "make_and_drive", "plan": plan, "parts": str(folder / "parts"), **more}
        self.process: Process[dict[str, Any]] = Process(document, folder / "log")

    def until(self, *names: str) -> dict[str, Any]:
        """The next event of one of these names."""
        end, seen = time.monotonic() + LIMIT_S, []
        while time.monotonic() < end:
            if (event := self.process.event(0.2)) is not None:
                seen.append(event)
                if event["event"] in names:
                    return event
        raise AssertionError((names, seen))


@contextmanager
def session(folder: Path, plan: Mapping[str, Any], **more: float) -> Iterator[OneSession]:
    found = OneSession(folder, plan, **more)
    try:
        yield found
    finally:
        found.process.kill()
        found.process.close()


def test_each_file_is_of_one_process_and_is_the_one_that_its_sessions_take() -> None:
    draw = random.Random(5)
    for of in (1, 2, 3, 7, CHUNKS, CHUNKS + 4):
        files = draw.randint(1, 40)
        plans = [planned(of, process=process) for process in range(of)]
        for plan in plans:
            plan["segments"][0]["inputs"][0]["files"] = files
        made = [[*share.made] for plan in plans for share in own_files.shares(plan)]
        assert sorted(n for some in made for n in some) == [*range(files)]
        # As the core deals out calls (rust/engines/src/engine): n is of process n % N.
        assert all(n % of == process for process, some in enumerate(made) for n in some)
        for plan in plans:
            (share,) = own_files.shares(plan)
            assert sorted([*share.made, *share.elsewhere]) == [*range(files)]


@pytest.mark.parametrize("of", [1, 2, 3])
def test_files_of_all_workers_are_by_name_and_byte_those_of_one_machine(tmp_path: Path, of: int) -> None:
    whole = of_one_machine(tmp_path, AS_MADE)
    assert len(whole) == CHUNKS
    together: dict[str, str] = {}
    for process in range(of):
        with session(tmp_path / str(process), planned(of, process=process)) as one:
            made = one.until("made", "failed", "ended")
            own = hashes(one.folder / "files")
            assert made["event"] == "made" and made["files"] == len(own) == len(range(process, CHUNKS, of))
            assert made["bytes"] == sum(p.stat().st_size for p in one.folder.glob("files/*/*.tsv"))
            assert made["took_s"] > 0
            assert len([*one.folder.glob("files/*/*.tsv")]) == CHUNKS, "the core looks at all names"
        assert not together.keys() & own.keys(), "no file is made twice"
        together |= own
    assert together == whole


def test_files_that_a_step_sorts_are_whole_on_each_worker(tmp_path: Path) -> None:
    """A sorted file has rows of all. The first process sorts in its step, which is timed; the others have it behind them."""
    whole = of_one_machine(tmp_path, SORTED)
    by_key = {name: it for name, it in whole.items() if "-by-key" in name}
    assert len(by_key) == CHUNKS and len(whole) == 2 * CHUNKS
    for process in range(2):
        with session(tmp_path / str(process), planned(2, SORTED, process=process)) as one:
            assert one.until("made", "failed", "ended")["event"] == "made"
            found = hashes(one.folder / "files")
            assert found == (whole if process else {n: it for n, it in whole.items() if n not in by_key})


def test_the_first_process_says_what_goes_on_and_one_that_is_stopped_leaves_no_file(tmp_path: Path) -> None:
    with session(tmp_path / "first", planned(2)) as one:
        assert one.until("segment", "made")["label"] == "inputs"
        one.until("made")
        one.process.send({"do": "stop"})
        assert one.until("finished", "failed")["ended_by"] == "stop"
        one.until("ended")
        assert not (one.folder / "files").exists() and not (one.folder / "making").exists()


def test_one_that_is_stopped_before_it_has_its_files_makes_no_more(tmp_path: Path) -> None:
    with session(tmp_path / "first", planned(2)) as one:
        one.process.send({"do": "stop"})
        finished = one.until("made", "finished", "failed")
        assert finished["event"] == "finished" and finished["ended_by"] == "stop"
        one.until("ended")
        assert not (one.folder / "files").exists()


def test_a_process_waits_until_all_have_their_files_and_answers_meanwhile(tmp_path: Path) -> None:
    plan = simulated(planned(2, process=1))
    with session(tmp_path / "second", plan, leash_s=5) as one:
        one.until("made")
        for _ in range(3):
            one.process.send({"do": "alive"})
            assert one.until("alive", "barrier", "ended")["event"] == "alive"
        one.process.send({"do": "go"})
        assert one.until("barrier", "failed", "ended")["event"] == "barrier"


def test_a_folder_that_takes_no_file_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "second"
    folder.mkdir()
    (folder / "files").write_text("in the way")
    with session(folder, planned(2, process=1)) as one:
        failed = one.until("made", "failed", "ended")
        assert failed["event"] == "failed" and "making input files: " in failed["message"]
        one.until("ended")
        assert one.process.close() == 1


def test_files_that_the_server_reads_stay_where_they_are() -> None:
    read = planned(2, AS_MADE, 'steps.load.files.way="server_file"')
    assert made_by(read)[0] == "drive" and not own_files.makes_own(read)
    placed = own_files.at_worker(at_inputs(read, Path("/shared")), Path("/own"))
    assert {of["folder"].split("/")[1] for of in own_files.inputs_of(placed)} == {"shared"}
    sent = planned(2)
    assert made_by(sent)[0] == "make_and_drive"
    for segment in own_files.at_worker(at_inputs(sent, Path("/shared")), Path("/own"))["segments"]:
        for role in segment.get("roles", ()) if segment["kind"] == "drive" else ():
            assert str(input_path(role["work"]["input"], 7)).startswith("/own/")


def simulated(plan: Any) -> Any:
    """On an engine that takes known times and keeps nothing."""
    plan["target"] |= {"engine": "simulated", "url": "simulated:", "options": {"service_ns": "2000000"}}
    for segment in plan["segments"]:
        segment.update({"proofs": []} if segment["kind"] == "proof" else {})
    return plan
