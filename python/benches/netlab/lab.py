"""A laboratory: several hosts on this machine, whose packets to each other are late, lost or held up as one says.

Each host has a network, a host name, a monotonic clock, process ids and mounts of its own (`keeper`). It has two addresses.
Packets between the first ones go through the switch (`switch`), those between the second ones through a bridge of the
kernel, without any delay. Files are those of this machine. It needs root, /dev/net/tun, and ip(8) and nsenter(1).
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from benches.netlab.keeper import DEVICE

PACKAGE = Path(__file__).parents[2]
#: Networks of the first and of the second addresses: they exist in namespaces alone.
SLOW, FAST = "10.77.0", "10.78.0"
#: Holds the bridge of the second addresses, and is no host that anything runs on.
FABRIC = "fabric"
#: A way that holds bytes up has room for so long a time of them, s.
QUEUE_S = 0.1
#: Until a host is there, s: a busy machine takes long to start an interpreter.
READY_S = 60.0


def lacks() -> str:
    """What a laboratory lacks here, as one line; empty where nothing does."""
    if os.geteuid() != 0:
        return "a laboratory of hosts needs root: it makes network namespaces"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return (
            "a laboratory of hosts needs /dev/net/tun: load the module tun, or give the container the device"
        )
    for program in ("ip", "nsenter"):
        if shutil.which(program) is None:
            return f"a laboratory of hosts needs {program}: install iproute2 and util-linux"
    if not Path("/proc/self/timens_offsets").exists():
        return "a laboratory of hosts needs time namespaces: a kernel from 5.6 on with CONFIG_TIME_NS"
    return ""


@dataclass
class Running:
    """A process on a host."""

    host: Host
    #: As this machine numbers it, and as its host does.
    pid: int
    inner: int
    stdin: IO[bytes] | None = None
    stdout: IO[bytes] | None = None

    def code(self) -> int | None:
        """Its exit code, negative for a signal; None while it works."""
        found: int | None = self.host.ask({"code": self.inner})["code"]
        return found

    def wait(self, within_s: float) -> int:
        end = time.monotonic() + within_s
        while (code := self.code()) is None:
            if time.monotonic() > end:
                raise TimeoutError(f"process {self.pid} on {self.host.name} works after {within_s:g} s")
            time.sleep(0.02)
        return code

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        # 0 would be every process of the caller's group; one that has ended may have left its number to another.
        if self.pid and self.code() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, how)


class Host:
    def __init__(self, name: str, number: int, ahead_ns: int) -> None:
        self.name, self.ahead_ns = name, ahead_ns
        self.address, self.fast = f"{SLOW}.{number}", f"{FAST}.{number}"
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control = ours
        with theirs:
            self.keeper = subprocess.Popen(
                [sys.executable, "-m", "benches.netlab.keeper", str(theirs.fileno()), name, str(ahead_ns)],
                env=ours_alone(), pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                start_new_session=True,
            )  # fmt: skip
        self.device = -1
        self.first = 0
        self.pipes: list[IO[bytes]] = []

    def ready(self) -> None:
        """Its namespaces are there. Raises RuntimeError if they cannot be."""
        assert self.keeper.stdout is not None
        self.control.settimeout(READY_S)
        found: list[int] = []
        with contextlib.suppress(OSError):
            _, found, _, _ = socket.recv_fds(self.control, 16, 1)
        if not found:
            raise RuntimeError(f"the host {self.name} of the laboratory did not start")
        (self.device,) = found
        self.first = int(self.keeper.stdout.readline())

    def ask(self, what: Mapping[str, Any], fds: Sequence[int] = ()) -> dict[str, Any]:
        socket.send_fds(self.control, [json.dumps(what).encode()], list(fds))
        if not (text := self.control.recv(1 << 16)):
            raise RuntimeError(f"the host {self.name} of the laboratory is gone")
        said: dict[str, Any] = json.loads(text)
        return said

    def network(self, *lines: str) -> None:
        """ip(8), in the network of this host."""
        subprocess.run(
            ["nsenter", f"--net=/proc/{self.first}/ns/net", "ip", "-batch", "-"],
            input="\n".join(lines), text=True, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip

    def parameter(self, name: str, value: str) -> None:
        """Of the kernel, for the network of this host alone: `net.ipv4.tcp_congestion_control`."""
        path = "/proc/sys/" + name.replace(".", "/")
        subprocess.run(
            ["nsenter", f"--net=/proc/{self.first}/ns/net", "tee", path],
            input=value, text=True, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip

    def start(
        self,
        command: Sequence[str],
        log: Path,
        env: Mapping[str, str] | None = None,
        pipes: bool = False,
        cwd: Path | None = None,
        user: int | None = None,
    ) -> Running:
        """log: of what it prints; with pipes its stdin and stdout are ours, and the log has its stderr. env: beside ours."""
        asked: dict[str, Any] = {
            "run": list(command), "env": {**environment(), **(env or {})}, "cwd": str(cwd or PACKAGE),
        }  # fmt: skip
        if user is not None:
            asked["user"] = user
        with contextlib.ExitStack() as held:
            to_log = held.enter_context(log.open("ab")).fileno()
            ends: list[Any] = [None, None]
            if pipes:
                (read_in, write_in), (read_out, write_out) = os.pipe(), os.pipe()
                held.callback(os.close, read_in)
                held.callback(os.close, write_out)
                ends = [os.fdopen(write_in, "wb", buffering=0), os.fdopen(read_out, "rb")]
                self.pipes += ends
                fds = [read_in, write_out, to_log]
            else:
                fds = [held.enter_context(Path(os.devnull).open("rb")).fileno(), to_log, to_log]
            inner = int(self.ask(asked, fds)["pid"])
        return Running(self, self.outer(inner), inner, *ends)

    def outer(self, inner: int) -> int:
        """The id on this machine of a process of the host."""
        mine = namespace(Path(f"/proc/{self.first}"))
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if namespace(entry) == mine and numbers(entry)[-1] == inner:
                    return int(entry.name)
        return 0  # it has ended

    def processes(self) -> dict[int, list[str]]:
        """Id on this machine -> words, of all that work there but its keeper."""
        mine = namespace(Path(f"/proc/{self.first}"))
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if namespace(entry) == mine and int(entry.name) != self.first:
                    words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                    if any(words):  # a dead one has none
                        found[int(entry.name)] = words[:-1]
        return found

    def end(self) -> None:
        self.control.close()
        self.keeper.kill()
        self.keeper.wait()
        if self.first:
            until_gone(self.first)
        if self.device >= 0:
            os.close(self.device)
        for pipe in self.pipes:
            pipe.close()
        assert self.keeper.stdout is not None
        self.keeper.stdout.close()


def until_gone(pid: int) -> None:
    """The kernel ends all processes of a namespace, and then its first one."""
    with contextlib.suppress(ProcessLookupError):
        fd = os.pidfd_open(pid)
        try:
            select.select([fd], [], [], READY_S)
        finally:
            os.close(fd)


def namespace(entry: Path) -> Path:
    return (entry / "ns" / "pid").readlink()


def numbers(entry: Path) -> list[int]:
    """Of a process, in each namespace that it is in, ours first."""
    for line in (entry / "status").read_text().splitlines():
        if line.startswith("NSpid:"):
            return [int(word) for word in line.split()[1:]]
    return [0]


def environment() -> dict[str, str]:
    path = os.pathsep.join(dict.fromkeys([str(PACKAGE), *filter(None, sys.path)]))
    found = {**os.environ, "PYTHONPATH": path}
    found.pop("INRUSH_PARENT", None)  # of the process that we are, if it is one of inrush's
    return found


def ours_alone() -> dict[str, str]:
    """Of a process that ends with this one, also where this one is gone before it asks for that."""
    return {**environment(), "INRUSH_PARENT": str(os.getpid())}


class Lab:
    def __init__(self, hosts: Sequence[Host], switch: subprocess.Popen[str]) -> None:
        self.hosts, self.switch = {host.name: host for host in hosts}, switch

    def __getitem__(self, name: str) -> Host:
        return self.hosts[name]

    def tell(self, word: Mapping[str, Any]) -> dict[str, dict[str, int]]:
        """To the switch; what it has counted of each way."""
        assert self.switch.stdin is not None and self.switch.stdout is not None
        self.switch.stdin.write(json.dumps(word) + "\n")
        self.switch.stdin.flush()
        found: dict[str, dict[str, int]] = json.loads(self.switch.stdout.readline())
        return found

    def way(
        self,
        a: str,
        b: str,
        delay_s: float = 0.0,
        loss: float = 0.0,
        bytes_per_s: float = 0.0,
        queue_bytes: int = 0,
    ) -> None:
        """Between two hosts, the same in both directions. delay_s: one way; loss: share of packets."""
        for pair in ((a, b), (b, a)):
            self.tell({
                "way": [self[name].address for name in pair], "delay_s": delay_s, "loss": loss,
                "bytes_per_s": bytes_per_s, "queue_bytes": queue_bytes or round(QUEUE_S * bytes_per_s),
            })  # fmt: skip

    def port(self, name: str, packets_per_s: float, queue_packets: int = 0) -> None:
        """What comes to a host on its first address: so many packets a second of all hosts together, and so many that wait."""
        self.tell({
            "port": self[name].address, "packets_per_s": packets_per_s, "queue_packets": queue_packets,
        })  # fmt: skip

    def cut(self, name: str) -> None:
        """Nothing goes to the host or comes from it, on its first address."""
        self.tell({"cut": self[name].address})

    def mend(self, name: str) -> None:
        self.tell({"mend": self[name].address})

    def counted(self, a: str, b: str) -> dict[str, int]:
        """Packets from one host to another since the laboratory is there."""
        return self.tell({})[f"{self[a].address} {self[b].address}"]


@contextlib.contextmanager
def lab(names: Sequence[str], ahead_ns: Mapping[str, int] | None = None, seed: int = 1) -> Iterator[Lab]:
    """ahead_ns: how far the monotonic clock of a host is ahead of this machine's. Raises RuntimeError, with `lacks`."""
    if said := lacks():
        raise RuntimeError(said)
    with contextlib.ExitStack() as held:
        hosts = []
        for number, name in enumerate((FABRIC, *names)):
            hosts.append(Host(name, number, (ahead_ns or {}).get(name, 0)))
            held.callback(hosts[-1].end)
        for host in hosts:
            host.ready()
        fabric, *hosts = hosts
        fabric.network("link add name bridge0 type bridge forward_delay 0", "link set bridge0 up")
        for host in hosts:
            port = f"port{host.name}"[:15]
            host.network(
                "link set lo up", f"link set {DEVICE} up mtu 1500", f"addr add {host.address}/24 dev {DEVICE}",
                f"link add fast0 type veth peer name {port} netns {fabric.first}", "link set fast0 up",
                f"addr add {host.fast}/24 dev fast0",
            )  # fmt: skip
            fabric.network(f"link set {port} master bridge0 up")
        devices = [f"{host.address}={host.device}" for host in hosts]
        switch = subprocess.Popen(
            [sys.executable, "-m", "benches.netlab.switch", str(seed), *devices], env=ours_alone(),
            pass_fds=[host.device for host in hosts], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        held.callback(ended, switch)
        yield Lab(hosts, switch)


def ended(switch: subprocess.Popen[str]) -> None:
    switch.kill()
    switch.communicate()
