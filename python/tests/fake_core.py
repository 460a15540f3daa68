"""A core for tests of what surrounds it: does what the plan's label `script` says, step by step.

Steps: an event (dict) is said; "pause" waits for `resume`, and a note says with which processes; "hang" waits for `stop`; "crash" is a segmentation fault;
"spin" keeps a core busy and ignores everything, `stop` too; "fail" is a CoreFailure at start; "secret" says the variable of this name; "table" writes one batch into `parts/repetitions.arrows`; "cut" half of a second one.
Run as a program it is a worker with this core in place of the built one.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

# As a program it starts in this folder; the package is beside it, installed or not.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


class CoreFailure(Exception):
    pass


class Run:
    def __init__(self, script: list[Any], parts: Path) -> None:
        self.script = list(script)
        self.parts = parts
        self.waiting = ""

    def poll(self, timeout_s: float) -> list[str]:
        if self.waiting:
            time.sleep(min(timeout_s, 0.005))
            return []
        if not self.script:
            return []
        step = self.script.pop(0)
        if isinstance(step, dict):
            return [json.dumps(step)]
        if step == "pause":
            self.waiting = "resume"
            return [json.dumps({"event": "paused", "index": 3, "action": "make_cold"})]
        if step == "hang":
            self.waiting = "stop"
        elif step == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        elif step == "spin":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True:
                pass
        elif step == "secret":
            return [json.dumps({"event": "note", "text": os.environ["INRUSH_TEST_SECRET"]})]
        elif step == "table":
            write(self.parts / "repetitions.arrows", cut=False)
        elif step == "cut":
            write(self.parts / "repetitions.arrows", cut=True)
        else:
            raise AssertionError(f"no such step: {step}")
        return []

    def resume(self, processes: dict[str, list[int]], threads: dict[int, str]) -> None:
        assert self.waiting == "resume"
        self.script.insert(0, {"event": "note", "text": f"resumed with {processes}, {threads}"})
        self.waiting = ""

    def stop(self) -> None:
        if "spin" in self.script:
            return
        self.waiting = ""
        self.script = [{"event": "finished", "ended_by": "stop"}]

    def done(self) -> bool:
        return not self.script and not self.waiting


def start(plan_json: str, parts_dir: str) -> Run:
    script = json.loads(plan_json)["labels"]["script"]
    if script[0] == "fail":
        raise CoreFailure("target", "postgresql://localhost:1/x: connection refused; is the server up?")
    return Run(script, Path(parts_dir))


def build_profile() -> str:
    return "release"


def version() -> str:
    return "0.0.0-fake"


def control(target_json: str, statement: str, limit_s: float) -> str:
    return json.dumps({"names": [], "rows": []})


def write(path: Path, cut: bool) -> None:
    import pyarrow as pa
    import pyarrow.ipc

    from inrush.results.schema import SCHEMAS

    schema = SCHEMAS["repetitions"]
    row = {f.name: ["writers"] if pa.types.is_string(f.type) else [1] for f in schema}
    batch = pa.record_batch(row, schema=schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(batch)
        whole = sink.tell()
        writer.write_batch(batch)
        both = sink.tell()
    path.write_bytes(sink.getvalue().to_pybytes()[: (whole + both) // 2 if cut else both])


if __name__ == "__main__":
    sys.modules["inrush._core"] = sys.modules["__main__"]
    from inrush.agent.program import main

    sys.exit(main())
