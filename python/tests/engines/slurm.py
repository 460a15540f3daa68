"""A Slurm of the test's own: a controller and several nodes on this host, in one folder, ended by their process ids."""

from __future__ import annotations

import contextlib
import getpass
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.needed import need_program

PACKAGES = "slurmctld slurmd slurm-client"
#: A busy machine takes long to start them, s.
READY_S = 90


def need_slurm() -> None:
    for name in ("slurmctld", "slurmd", "sbatch"):
        need_program(name, PACKAGES)


@contextlib.contextmanager
def slurm(folder: Path, nodes: int) -> Iterator[Mapping[str, str]]:
    """What the environment of its commands needs."""
    folder.mkdir()
    conf, env = folder / "slurm.conf", {"SLURM_CONF": str(folder / "slurm.conf")}
    conf.write_text(configuration(folder, nodes))
    with contextlib.ExitStack() as held:

        def start(program: str, log: str, *words: str) -> None:
            with (folder / log).open("w") as file:
                daemon = subprocess.Popen(
                    [need_program(program, PACKAGES), "-D", *words], env={**os.environ, **env}, stdout=file, stderr=file,
                    start_new_session=True,
                )  # fmt: skip
            held.callback(end, daemon)

        for place in ("state", *(f"spool-n{n}" for n in range(1, nodes + 1))):
            (folder / place).mkdir(mode=0o755)
        start("slurmctld", "slurmctld.log")
        for n in range(1, nodes + 1):
            start("slurmd", f"slurmd-n{n}.log", "-N", f"n{n}")
        limit = time.monotonic() + READY_S
        while "\n".join(["idle"] * nodes) != (said := command(env, "sinfo", "-h", "-N", "-o", "%T")):
            assert time.monotonic() < limit, said + "".join(p.read_text() for p in folder.glob("*.log"))
            time.sleep(0.2)
        held.callback(command, env, "scancel", "--full", "-u", getpass.getuser())
        yield env


def end(daemon: subprocess.Popen[bytes]) -> None:
    daemon.send_signal(signal.SIGTERM)
    try:
        daemon.wait(15)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()


def command(env: Mapping[str, str], *words: str) -> str:
    done = subprocess.run(
        words, env={**os.environ, **env}, capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout.strip() or done.stderr.strip()


def configuration(folder: Path, nodes: int) -> str:
    with contextlib.ExitStack() as held:
        ports = [
            held.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
            for _ in range(nodes + 1)
        ]
    host = socket.gethostname()
    # No daemon of passwords, no groups of the kernel, no accounting: it is for one user of one host.
    return "\n".join([
        "ClusterName=recipe", f"SlurmctldHost={host}(127.0.0.1)", f"SlurmctldPort={ports[0]}",
        f"SlurmUser={getpass.getuser()}", f"SlurmdUser={getpass.getuser()}", "AuthType=auth/none", "CredType=cred/none",
        f"StateSaveLocation={folder}/state", f"SlurmdSpoolDir={folder}/spool-%n", f"SlurmctldPidFile={folder}/slurmctld.pid",
        f"SlurmdPidFile={folder}/slurmd-%n.pid", "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none",
        "SelectType=select/linear", "MpiDefault=none", "JobAcctGatherType=jobacct_gather/none", "ReturnToService=2",
        "SlurmdParameters=config_overrides", "KillWait=5",
        *(f"NodeName=n{n} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[n]} CPUs=1 State=UNKNOWN" for n in range(1, nodes + 1)),
        f"PartitionName=main Nodes=n[1-{nodes}] Default=YES MaxTime=INFINITE State=UP", "",
    ])  # fmt: skip
