"""The recipe over ssh of docs/fleet.md, block by block as it stands there, on two "hosts" of an sshd of the test's own."""

from __future__ import annotations

import contextlib
import getpass
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.needed import need_distributed, need_program
from tests.recipes import blocks, with_own
from tests.strategies import ENVIRONMENT

from .recipe_server import Eyes, asking_server, files_with, gone, pasted, proven, tried

need_distributed()
SSHD = need_program("sshd", "openssh-server")
HOSTS = ("load1", "load2")


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [s.getsockname()[1] for s in sockets]


@contextlib.contextmanager
def separated() -> Iterator[None]:
    """sshd of root wants an empty folder, which the system's own makes when it starts."""
    folder = Path("/run/sshd")
    if os.getuid() or folder.exists():
        yield
        return
    folder.mkdir(mode=0o755)
    try:
        yield
    finally:
        folder.rmdir()


@contextlib.contextmanager
def hosts(folder: Path) -> Iterator[Path]:
    """The folder of an `ssh` that reaches them. Each has a home of its own below `folder`, and nothing of the user's."""
    for key in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)], check=True)
    ports = dict(zip(HOSTS, free_ports(len(HOSTS)), strict=True))
    daemon = [
        f"HostKey {folder}/host_key", f"AuthorizedKeysFile {folder}/user_key.pub", "ListenAddress 127.0.0.1",
        "PidFile none", "StrictModes no", "UsePAM no", "PasswordAuthentication no",
        *(f"Port {port}" for port in ports.values()),
    ]  # fmt: skip
    client = [word for host, port in ports.items() for word in (f"Host {host}", f"Port {port}")]
    client += [
        "Host *",
        f"IdentityFile {folder}/user_key",
        f"UserKnownHostsFile {folder}/known",
        "HostName 127.0.0.1",
    ]
    client += [
        f"User {getpass.getuser()}",
        "StrictHostKeyChecking accept-new",
        "IdentitiesOnly yes",
        "LogLevel ERROR",
    ]
    for host, port in ports.items():
        (folder / host).mkdir()
        enter = folder / f"enter-{host}"
        enter.write_text(
            f"#!/bin/bash\nexport HOME={folder / host} PYTHONPATH={ENVIRONMENT['PYTHONPATH']}\n"
            'cd && exec bash -c "$SSH_ORIGINAL_COMMAND"\n'
        )
        enter.chmod(0o755)
        daemon += [f"Match LocalPort {port}", f"ForceCommand {enter}"]
    (folder / "sshd_config").write_text("\n".join(daemon) + "\n")
    (folder / "ssh_config").write_text("\n".join(client) + "\n")
    programs = folder / "bin"
    programs.mkdir()
    (programs / "ssh").write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {folder}/ssh_config "$@"\n')
    (programs / "ssh").chmod(0o755)
    with separated(), (folder / "sshd.log").open("w") as log:
        sshd = subprocess.Popen([SSHD, "-D", "-e", "-f", str(folder / "sshd_config")], stderr=log)
        try:
            end = time.monotonic() + 30
            while "listening on 127.0.0.1 port" not in (folder / "sshd.log").read_text():
                assert sshd.poll() is None and time.monotonic() < end, (folder / "sshd.log").read_text()
                time.sleep(0.05)
            yield programs
        finally:
            sshd.kill()
            sshd.wait()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_recipe_over_ssh_runs_a_study_proves_its_rows_and_shows_its_password_nowhere(
    folder: Path,
) -> None:
    yours, *rest = blocks("ssh")
    assert len(rest) == 5
    home = folder / "home"
    home.mkdir()
    own = {
        "HOSTS": f'"{" ".join(HOSTS)}"', "SCHEDULER": "127.0.0.1", "PORT": str(free_ports(1)[0]), "TARGET": "",
        "PATH": f"{Path(sys.executable).parent}:$PATH",
    }  # fmt: skip
    with asking_server(folder) as server, hosts(folder) as programs:
        own["TARGET"] = server.url
        # The smallest scale and one point: the rest of the page is as it stands.
        study = rest[3].replace("--scale s ", "--scale xs -P factors.threads=[2] -P repeats.count=1 ")
        assert study != rest[3]
        study = tried(study)
        # As they are left behind: to be looked at before the page removes them.
        look = "cp -rp ~/inrush-fleet ~/kept; cat ~/inrush-fleet/*.pid > ~/pids; echo >> ~/pids\n"
        look += "".join(f"ssh {host} 'cat inrush-fleet/*.pid; echo' >> ~/pids\n" for host in HOSTS)
        # What a script that fails has begun, is ended all the same.
        end = "trap '[ $? = 0 ] || kill $(cat ~/inrush-fleet/scheduler.pid)' EXIT\n"
        script = "".join([end, with_own(yours, own), *rest[:3], study, look, rest[4]])
        eyes = Eyes(server.password.encode())
        with eyes.watching():
            done = pasted(script, home, server.password, {"PATH": f"{programs}:{os.environ['PATH']}"})
        logs = "".join(path.read_text() for path in folder.rglob("inrush-fleet/*.log"))
        assert done.returncode == 0, done.stdout + logs
        found = proven(home, len(HOSTS))
        names = {w["address"] for w in found.runs[-1].doc["clients"]["workers"]}
        assert all(address.startswith("tls://") for address in names), names
        assert logs.count("Registered to") == len(HOSTS), logs
        # The password: in the file that the page makes, which is the user's alone, and nowhere else.
        kept = home / "kept" / "secrets"
        assert eyes.seen == set() and {"ssh", "drive"} <= eyes.words
        assert kept.stat().st_mode & 0o777 == 0o600 == (home / "kept" / "fleet.key").stat().st_mode & 0o777
        assert server.password not in done.stdout
        server_files = folder / "postgresql"
        left = [p for p in files_with(server.password, folder) if server_files not in p.parents]
        assert left == [kept], left
        # And all is ended: what the page began, it ended.
        pids = [int(line) for line in (home / "pids").read_text().split()]
        assert len(pids) == 1 + len(HOSTS)
        assert [pid for pid in pids if not gone(pid, 30.0)] == []
