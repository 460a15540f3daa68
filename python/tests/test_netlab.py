"""The laboratory of hosts is what it says: delay, loss, throttled and cut ways, clocks, names, and an end in every case."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benches.netlab import lab as laboratory
from benches.netlab.lab import Host, Lab, Running, lab
from tests.needed import need_lab

need_lab()
AHEAD_NS = {"left": 3_600_250_000_000, "right": 86_400_000_000_000}
#: What a busy machine adds to the shortest of many echoes, s.
MORE_S = 0.004

#: Answers each packet; a packet without bytes asks for the numbers of all that came.
ECHO = """
import json, socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    s.bind(("0.0.0.0", 7))
    print("ready", flush=True)
    came = []
    while True:
        data, who = s.recvfrom(2000)
        if data == b"end":
            break
        came.append(int(data))
        s.sendto(data, who)
print(json.dumps(came), flush=True)
"""
#: Echoes one after the other; the times of those that came back, s.
ASK = """
import json, socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.settimeout(0.5)
    found = []
    for n in range(int(sys.argv[2])):
        asked = time.monotonic()
        s.sendto(str(n).encode(), (sys.argv[1], 7))
        try:
            s.recvfrom(2000)
        except TimeoutError:
            continue
        found.append(time.monotonic() - asked)
print(json.dumps(found), flush=True)
"""
#: Packets of 100 bytes, and the word that ends the echo, which goes the way without loss.
FLOOD = """
import socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    for n in range(int(sys.argv[2])):
        s.sendto(f"{n:0100}".encode(), (sys.argv[1], 7))
        time.sleep(0.0002)
    time.sleep(0.5)
    s.sendto(b"end", (sys.argv[3], 7))
"""
TAKE = """
import socket, time
with socket.create_server(("0.0.0.0", 7)) as s:
    print("ready", flush=True)
    c, _ = s.accept()
    size, began = len(c.recv(1 << 16)), time.monotonic()
    while data := c.recv(1 << 16):
        size += len(data)
    print(size, time.monotonic() - began, flush=True)
"""
GIVE = """
import socket, sys
with socket.create_connection((sys.argv[1], 7)) as s:
    s.sendall(bytes(int(sys.argv[2])))
"""
FACTS = "import os, socket, time; print(time.monotonic_ns(), socket.gethostname(), os.getppid())"


@contextlib.contextmanager
def two(seed: int = 1) -> Iterator[Lab]:
    with lab(["left", "right"], AHEAD_NS, seed) as found:
        yield found


@pytest.fixture(scope="module")
def pair() -> Iterator[Lab]:
    with two() as found:
        yield found


def python(host: Host, folder: Path, program: str, *words: Any) -> Running:
    return host.start([sys.executable, "-c", program, *map(str, words)], folder / "log", pipes=True)


def line(of: Running) -> str:
    assert of.stdout is not None
    return of.stdout.readline().decode().strip()


@contextlib.contextmanager
def echoing(at: Host, folder: Path, program: str = ECHO) -> Iterator[Running]:
    server = python(at, folder, program)
    try:
        assert line(server) == "ready", (folder / "log").read_text()
        yield server
    finally:
        server.kill()
        server.wait(5.0)


def echoes(pair: Lab, folder: Path, address: str, count: int = 30) -> list[float]:
    with echoing(pair["right"], folder):
        found: list[float] = json.loads(line(python(pair["left"], folder, ASK, address, count)))
    return found


@pytest.mark.parametrize("delay_s", [0.0, 0.001, 0.02])
def test_an_echo_takes_twice_the_delay_and_none_on_the_second_addresses(
    pair: Lab, tmp_path: Path, delay_s: float
) -> None:
    pair.way("left", "right", delay_s=delay_s)
    found = echoes(pair, tmp_path, pair["right"].address)
    assert len(found) == 30 and 2 * delay_s <= min(found) < 2 * delay_s + MORE_S, sorted(found)
    assert min(echoes(pair, tmp_path, pair["right"].fast)) < MORE_S


@pytest.mark.slow
def test_so_many_packets_are_lost_and_with_a_seed_the_same_ones(tmp_path: Path) -> None:
    count, loss = 2_000, 0.1
    came = []
    for seed in (1, 1, 2):
        with two(seed) as pair:
            pair.way("left", "right", loss=loss)
            with echoing(pair["right"], tmp_path) as server:
                python(pair["left"], tmp_path, FLOOD, pair["right"].address, count, pair["right"].fast)
                came.append(json.loads(line(server)))
            counts = pair.counted("left", "right")
        assert counts == {"carried": len(came[-1]), "lost": count - len(came[-1]), "full": 0, "cut": 0}
        spread = (loss * (1 - loss) / count) ** 0.5
        assert abs(counts["lost"] / count - loss) < 4 * spread
    assert came[0] == came[1] != came[2]


def test_a_throttled_way_carries_so_many_bytes_a_second(pair: Lab, tmp_path: Path) -> None:
    size, rate = 2_000_000, 1_000_000
    pair.way("left", "right", delay_s=0.001, bytes_per_s=rate)
    with echoing(pair["right"], tmp_path, TAKE) as server:
        python(pair["left"], tmp_path, GIVE, pair["right"].address, size)
        came, took_s = line(server).split()
    assert int(came) == size
    # Headers of IP and TCP are 52 of 1,500 bytes; what was sent twice takes its time, too.
    assert 0.8 * rate < size / float(took_s) <= 1.02 * rate


def test_the_queue_of_a_throttled_way_is_finite(pair: Lab, tmp_path: Path) -> None:
    pair.way("left", "right", bytes_per_s=100_000, queue_bytes=10_000)
    before = pair.counted("left", "right")
    with echoing(pair["right"], tmp_path) as server:
        python(pair["left"], tmp_path, FLOOD, pair["right"].address, 1_000, pair["right"].fast)
        came = len(json.loads(line(server)))
    after = pair.counted("left", "right")
    found = {what: after[what] - before[what] for what in after}
    assert found == {"carried": came, "lost": 0, "full": 1_000 - came, "cut": 0}
    # 128 bytes each with their headers: the queue holds 78 of them, and what leaves it meanwhile is as many for each 0.1 s.
    assert 78 <= came < 900


def test_a_port_takes_so_many_packets_a_second_and_loses_what_finds_its_queue_full(
    pair: Lab, tmp_path: Path
) -> None:
    per_s, queue = 50, 20
    pair.way("left", "right")
    pair.port("right", per_s, queue)
    before = pair.counted("left", "right")
    try:
        with echoing(pair["right"], tmp_path) as server:
            began = time.monotonic()
            python(pair["left"], tmp_path, FLOOD, pair["right"].address, 1_000, pair["right"].fast)
            came = json.loads(line(server))
            took_s = time.monotonic() - began
    finally:
        pair.port("right", 0)
    after = pair.counted("left", "right")
    found = {what: after[what] - before[what] for what in after}
    assert found == {"carried": len(came), "lost": 0, "full": 1_000 - len(came), "cut": 0}
    # At first the queue takes them all, then as many as leave it.
    assert came[:queue] == [*range(queue)] and queue < len(came) <= queue + per_s * took_s < 1_000, took_s
    # The port of the other host is its own.
    assert len(echoes(pair, tmp_path, pair["right"].address, 5)) == 5


def test_a_parameter_of_the_kernel_is_set_for_one_host(pair: Lab, tmp_path: Path) -> None:
    name = "net.ipv4.tcp_no_metrics_save"
    read = f"print(open('/proc/sys/{name.replace('.', '/')}').read())"
    before = line(python(pair["right"], tmp_path, read))
    value = str(1 - int(before))
    pair["left"].parameter(name, value)
    assert line(python(pair["left"], tmp_path, read)) == value
    assert line(python(pair["right"], tmp_path, read)) == before


def test_a_host_that_is_cut_off_hears_nothing_until_it_is_mended(pair: Lab, tmp_path: Path) -> None:
    pair.way("left", "right")
    pair.cut("right")
    assert not echoes(pair, tmp_path, pair["right"].address, 2)
    assert pair.counted("left", "right")["cut"] >= 2
    assert len(echoes(pair, tmp_path, pair["right"].fast, 2)) == 2, "its second address is another network"
    pair.mend("right")
    assert len(echoes(pair, tmp_path, pair["right"].address, 5)) == 5


@pytest.mark.parametrize("name", ["left", "right"])
def test_a_host_has_a_name_and_a_clock_of_its_own(pair: Lab, tmp_path: Path, name: str) -> None:
    before = time.monotonic_ns()
    running = python(pair[name], tmp_path, FACTS)
    shown_ns, host, parent = line(running).split()
    assert before <= int(shown_ns) - AHEAD_NS[name] <= time.monotonic_ns()
    assert host == name != socket.gethostname() and parent == "1", "its keeper is its first process"
    assert running.wait(5.0) == 0


def test_what_runs_on_a_host_is_known_and_ended_by_its_number_here(pair: Lab, tmp_path: Path) -> None:
    running = pair["left"].start(["sleep", "600"], tmp_path / "log")
    assert pair["left"].processes() == {running.pid: ["sleep", "600"]} and running.code() is None
    assert not pair["right"].processes()
    running.kill(signal.SIGTERM)
    assert running.wait(5.0) == -signal.SIGTERM
    assert pair["left"].start(["no-such-program"], tmp_path / "log").wait(5.0) == 127
    assert "no-such-program: " in (tmp_path / "log").read_text()


def test_kill_9_of_its_owner_ends_everything(tmp_path: Path) -> None:
    program = f"""
import os, time
from pathlib import Path
from benches.netlab.lab import lab
with lab(["left", "right"]) as found:
    # Two without a process that waits for them: the second one's parent is gone (it counts until it is).
    found["left"].start(["sleep", "601"], Path({str(tmp_path / "log")!r}))
    found["right"].start(["sh", "-c", "setsid sleep 601 & exit"], Path({str(tmp_path / "log")!r}))
    while any(list(host.processes().values()) != [["sleep", "601"]] for host in found.hosts.values()):
        time.sleep(0.02)
    of = [host.first for host in found.hosts.values()] + [host.keeper.pid for host in found.hosts.values()]
    print(*of, found.switch.pid, *(pid for host in found.hosts.values() for pid in host.processes()), flush=True)
    time.sleep(600)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], env=laboratory.environment(), stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        pids = [int(word) for word in owner.stdout.readline().split()]
        owner.kill()
    assert len(pids) == 7
    end = time.monotonic() + 5.0
    while left := [pid for pid in pids if Path(f"/proc/{pid}/exe").exists() and alive(pid)]:
        assert time.monotonic() < end, left
        time.sleep(0.02)


def alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


def test_what_it_lacks_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with (
        pytest.raises(RuntimeError, match=r"^a laboratory of hosts needs root: it makes network namespaces$"),
        two(),
    ):
        pass
