"""Between the choice of a port and a server that listens there, another user of the machine may listen: it gets no password."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from inrush.engines import ENGINES, server
from inrush.engines.base.instance import Release
from inrush.engines.questdb import life as questdb_life
from inrush.engines.servers import life, ports, private, secret
from inrush.engines.servers.own_server import OwnServer, ServerPlace
from inrush.errors import TargetError
from tests.stranger import UID

WITH_PASSWORD = [
    name for name in ENGINES if isinstance(own := server(name).lifecycle, OwnServer) and own.account
]


@contextlib.contextmanager
def somebody_else() -> Iterator[tuple[int, list[bytes]]]:
    """A port at which a program takes what it gets, and answers nothing."""
    got: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def take() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    connection.settimeout(0.2)
                    with connection, contextlib.suppress(OSError):
                        got.append(connection.recv(4096))

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield listener.getsockname()[1], got
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)


@pytest.mark.parametrize("engine", WITH_PASSWORD)
def test_a_server_of_somebody_else_at_the_port_is_sent_nothing(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = server(engine).lifecycle
    assert isinstance(own, OwnServer)
    monkeypatch.setattr(type(own), "command", lambda self, place: ["true"])
    home = private.folder(tmp_path / own.home)
    secret.make(tmp_path)
    with somebody_else() as (port, got):
        private.folder(home / "conf")
        private.write(questdb_life.config_file(home), f"{questdb_life.HTTP}=127.0.0.1:{port}\n")
        (home / "postmaster.pid").write_text("\n".join([*"1234567", "ready"]))
        place = ServerPlace(Release(engine, "1", tmp_path, ""), tmp_path, home, life.User(), port, {})
        assert not own.processes(place)[0].is_ready()
    assert got == []


def test_a_port_at_which_nothing_listens_is_nobodys_and_no_process_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(life, "working_in", lambda folder: pytest.fail("looked at processes"))
    assert not ports.serves(ports.free_port(), tmp_path)


#: As another user, in a root of its own in which a path is spelled as that of our folder: stands there, writes a file there,
#: and listens.
FORGED = """
import ctypes, os, socket, sys, time
folder, above, uid = sys.argv[1], sys.argv[2].encode(), int(sys.argv[3])
libc = ctypes.CDLL(None, use_errno=True)
if os.geteuid() == 0:
    os.setgroups([]), os.setgid(uid), os.setuid(uid)
    libc.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: it may name itself root of what follows
me, mine = os.geteuid(), os.getegid()
if libc.unshare(0x10000000 | 0x00020000):  # CLONE_NEWUSER, CLONE_NEWNS
    sys.exit(print("refused"))
for name, text in ("uid_map", f"0 {me} 1"), ("setgroups", "deny"), ("gid_map", f"0 {mine} 1"):
    with open(f"/proc/self/{name}", "w") as file:
        file.write(text)
if libc.mount(b"none", above, b"tmpfs", 0, None):
    sys.exit(print("refused"))
os.makedirs(folder)
os.chdir(folder)
held = open("log", "w")
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
time.sleep(120)
"""


@pytest.fixture
def forged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int, int]]:
    """A folder that another user may not enter, the process of one who has forged its path, and its port."""
    folder = tmp_path_factory.mktemp("ours") / "files"
    folder.mkdir(mode=0o700)
    above = Path("/", folder.parts[1])  # which everybody may enter
    words = [sys.executable, "-c", FORGED, str(folder), str(above), str(UID)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline().strip()
        try:
            if said == "refused":
                pytest.skip("a user of this machine has no root of its own")
            assert Path(f"/proc/{process.pid}/cwd").readlink() == folder, "it looks like ours"
            yield folder, process.pid, int(said)
        finally:
            process.kill()


def test_a_process_that_forges_the_path_of_a_server_s_folder_does_not_work_there(
    forged: tuple[Path, int, int],
) -> None:
    folder, pid, port = forged
    assert not ports.serves(port, folder) and pid not in life.working_in(folder.parent)
    with subprocess.Popen(["sleep", "60"], cwd=folder) as own:
        assert set(life.working_in(folder)) == {own.pid}, "it keeps no server from its folder either"
        own.kill()


def test_a_server_that_has_ended_is_not_ready_whoever_answers(tmp_path: Path) -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    ended = life.Launched(process, tmp_path / "log")
    with pytest.raises(TargetError, match="ended while starting"):
        life.wait_for([ended], lambda: True, 5)
