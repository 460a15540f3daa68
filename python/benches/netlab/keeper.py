"""One host of a laboratory: `python -m benches.netlab.keeper CONTROL_FD NAME AHEAD_NS`.

It makes namespaces of the network, of the host's name, of the clock, of processes and of mounts, and is the first process in
them: when it ends, the kernel ends everything else there. CONTROL_FD is a socket of the laboratory; when that one is gone, so
is the host. What is asked for on it is one document a packet: {"run": argv, "env": {…}, "cwd": …} with three file
descriptors -> {"pid": N}; {"code": N} -> {"code": exit code, or null of a process that works}.
"""

from __future__ import annotations

import array
import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import Any

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWTIME = (
    0x20000,
    0x4000000,
    0x20000000,
    0x40000000,
    0x80,
)
MS_REC, MS_PRIVATE = 0x4000, 0x40000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
#: The device of a host that leads to the switch.
DEVICE = "lab0"
REQUEST_BYTES = 1 << 20
#: How often ended processes are looked for, s.
LOOK_S = 0.05

libc = ctypes.CDLL(None, use_errno=True)


def checked(result: int, what: str) -> None:
    if result:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def main(arguments: list[str]) -> int:
    from inrush.agent.parent import PR_SET_PDEATHSIG, die_with_parent

    control, name, ahead_ns = socket.socket(fileno=int(arguments[0])), arguments[1], int(arguments[2])
    die_with_parent()
    everything = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWTIME
    checked(libc.unshare(everything), "unshare")
    seconds, nanoseconds = divmod(ahead_ns, 10**9)
    # Before anything is in the new namespace of time.
    offsets = f"monotonic {seconds} {nanoseconds}\nboottime {seconds} {nanoseconds}\n"
    Path("/proc/self/timens_offsets").write_text(offsets)
    first = os.fork()
    if first:
        print(first, flush=True)
        return os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    checked(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "mount /")
    checked(libc.mount(b"proc", b"/proc", b"proc", 0, None), "mount /proc")
    socket.sethostname(name)
    Path("/proc/sys/net/ipv6/conf/all/disable_ipv6").write_text("1")
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
    socket.send_fds(control, [b"{}"], [device])
    os.close(device)
    serve(control)
    return 0


def serve(control: socket.socket) -> None:
    codes: dict[int, int] = {}
    while True:
        ready = select.select([control], [], [], LOOK_S)[0]
        reap(codes)
        if not ready:
            continue
        text, fds = received(control)
        if not text:
            return
        asked = json.loads(text)
        said: dict[str, Any] = (
            {"code": codes.get(asked["code"])} if "code" in asked else {"pid": run(asked, fds)}
        )
        for fd in fds:
            os.close(fd)
        control.send(json.dumps(said).encode())


def received(control: socket.socket) -> tuple[bytes, list[int]]:
    text, attached, _, _ = control.recvmsg(REQUEST_BYTES, socket.CMSG_SPACE(3 * array.array("i").itemsize))
    fds = array.array("i")
    for _, _, data in attached:
        fds.frombytes(data)
    return text, [*fds]


def reap(codes: dict[int, int]) -> None:
    """Of all processes of the host: the first one is the parent of those that have lost theirs."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        codes[pid] = os.waitstatus_to_exitcode(status)


def run(asked: dict[str, Any], fds: list[int]) -> int:
    """Returns when it is the program that was asked for, or has ended."""
    begun, held = os.pipe()  # closed by the kernel when the program begins
    pid = os.fork()
    if pid:
        os.close(held)
        os.read(begun, 1)
        os.close(begun)
        return pid
    try:
        os.setsid()
        os.chdir(asked["cwd"])
        for n, fd in enumerate(fds):
            os.dup2(fd, n)
        if "user" in asked:
            os.setgroups([])
            os.setgid(asked["user"])
            os.setuid(asked["user"])
        os.execvpe(asked["run"][0], asked["run"], asked["env"])
    except OSError as e:
        os.write(2, f"{asked['run'][0]}: {e}\n".encode())
    finally:
        os._exit(127)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
