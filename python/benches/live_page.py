"""What the live page takes from the machine: CPU of its thread with no reader, one, and fifty.

`python -m benches.live_page [SECONDS]`, in the folder `python`. Readers are processes of their own, which are not counted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from inrush.border.events import Event, Usage
from inrush.live.access import Access, Address, listening_socket
from inrush.live.server import LiveServer
from inrush.live.view import View
from inrush.results.store import StudyFolder

READERS = (0, 1, 50)
ROLES = ("writers", "readers")
#: The page shows nothing without it.
TOKEN = "0123456789abcdef-of-the-bench"
BUCKETS = 300
#: A program that reads so many streams, all in one process.
READ = """
import selectors, socket, sys
port, count = int(sys.argv[1]), int(sys.argv[2])
each = selectors.DefaultSelector()
for _ in range(count):
    s = socket.create_connection(("127.0.0.1", port))
    s.sendall(f"GET /events HTTP/1.1\\r\\nHost: localhost\\r\\nAuthorization: Bearer {sys.argv[3]}\\r\\n\\r\\n".encode())
    each.register(s, selectors.EVENT_READ)
while True:
    for key, _ in each.select():
        if not key.fileobj.recv(1 << 16):
            sys.exit(0)
"""


def word(half: int) -> Event:
    """Of a run with two roles, 300 buckets of latencies each, and what a machine with two disks uses."""
    latency = {
        "bucket": list(range(2_000, 2_000 + BUCKETS)), "count": [7] * BUCKETS, "n": 7 * BUCKETS, "min": 10_000,
        "max": 10_000_000, "sum": 10**9,
    }  # fmt: skip
    role = {
        "rows": 10_000 * half, "ops": 1_000 * half, "rows_per_s": 20_000.0, "ops_per_s": 2_000.0, "p99_ms": 3.0, "errors": 0,
        "due": 1_000 * half, "backlog": 3, "lag_p99_ms": 0.1, "late": 0, "failed": {}, "latency": latency,
    }  # fmt: skip
    resources: list[Usage] = [
        {"role": name, "metric": metric, "device": device, "t_ns": half * 500_000_000, "value": 0.3 * half}
        for name, metric, device in (
            *((r, m, "") for r in ("client", "server", "host") for m in ("cpu_s", "rss_bytes", "read_bytes", "write_bytes")),
            *(("host", m, d) for d in ("vda", "vdb") for m in ("dev_write_bytes", "dev_read_bytes", "dev_busy_s", "dev_ios")),
        )
    ]  # fmt: skip
    event: Event = {
        "event": "progress", "t_ns": half * 500_000_000, "segment": 1, "label": "measure", "phase": "measure", "repetition": 0,
        "began_ns": 0, "share": 0.5, "left_s": 10.0, "roles": dict.fromkeys(ROLES, role), "client_cpu": 1.0,
        "resources": resources,
    }  # fmt: skip
    return event


def cpu_s(thread: threading.Thread) -> float:
    assert thread.ident is not None
    return time.clock_gettime(time.pthread_getcpuclockid(thread.ident))


def measured(readers: int, seconds: float) -> tuple[float, float]:
    """Share of a core: of the server's thread, and of hearing the events, which goes on with `--live` alone."""
    with tempfile.TemporaryDirectory() as place:
        folder = StudyFolder(Path(place))
        folder.write({"schema": 1, "study": "bench", "title": "bench", "status": "running"})
        view = View(lambda _: None, folder, [])
        at = Address("127.0.0.1")
        listening = listening_socket(at)
        port = listening.getsockname()[1]
        server = LiveServer(view, at, Access(TOKEN), listening, "", json.dumps({}))
        read = [sys.executable, "-c", READ, str(port), str(readers), TOKEN]
        reader = subprocess.Popen(read) if readers else None
        hearing_s = 0.0
        try:
            while server.hub.readers < readers:
                time.sleep(0.05)
            before, began_s, half = cpu_s(server._thread), time.monotonic(), 0
            while time.monotonic() - began_s < seconds:
                half += 1
                event, at_s = word(half), time.thread_time()
                view.event(event)
                hearing_s += time.thread_time() - at_s
                time.sleep(0.5)
            took_s = time.monotonic() - began_s
            return (cpu_s(server._thread) - before) / took_s, hearing_s / took_s
        finally:
            if reader is not None:
                reader.kill()
                reader.wait()
            server.end(None)


def main(arguments: list[str]) -> int:
    seconds = float(arguments[0]) if arguments else 30.0
    for readers in READERS:
        server, hearing = measured(readers, seconds)
        print(
            f"{readers:>3} readers: {100 * server:.2f} % of a core in the server's thread, {100 * hearing:.2f} % for hearing"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
