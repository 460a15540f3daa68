"""A MySQL Cluster in a laboratory: its management server and each data node on a host of its own, clients on another."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from benches.netlab.lab import Host, Lab, Running, lab
from inrush.engines.ndb import config as ndb_config
from inrush.engines.ndb import life as ndb_life

MANAGEMENT, CLIENT = "management", "client"
#: The client library looks for the first one where nothing else is said.
PORT, NODE_PORT = 1186, 2202
#: A busy machine takes long to start them, s.
READY_S = 120.0
STOP_S = 10.0
#: Little memory and a short log: these clusters are read from.
SMALL: Mapping[str, str] = {
    "DataMemory": "100M", "TransactionMemory": "64M", "SharedGlobalMemory": "32M", "DiskPageBufferMemory": "4M",
    "RedoBuffer": "32M", "NoOfFragmentLogFiles": "4", "FragmentLogFileSize": "32M", "InitFragmentLogFiles": "sparse",
    "api_slots": "16",
}  # fmt: skip
#: Waits until all nodes have started, where the management server is.
READY = """
import sys, time
from inrush.engines.ndb import management as ndb_management
end = time.monotonic() + float(sys.argv[3])
while not ndb_management.all_started(int(sys.argv[1]), int(sys.argv[2])):
    if time.monotonic() > end:
        sys.exit(1)
    time.sleep(0.1)
"""


def names(nodes: int) -> list[str]:
    return [f"node-{k}" for k in range(1, nodes + 1)]


@contextlib.contextmanager
def hosts(nodes: int = 2, seed: int = 1) -> Iterator[Lab]:
    with lab([MANAGEMENT, *names(nodes), CLIENT], seed=seed) as found:
        yield found


@contextlib.contextmanager
def ndb(at: Lab, folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """Its URL on the host of the clients. folder: an empty one. settings: as `inrush engines start ndb` takes them.

    Raises RuntimeError, with the last words of its logs.
    """
    life = ndb_life.NdbLife()
    chosen = ndb_config.one_case(SMALL, settings or {})
    of = ndb_config.shape(chosen)
    program = life.program(life.fetch())
    for name in (ndb_life.MANAGEMENT, *of.names):
        (folder / name).mkdir(parents=True)
    places = ndb_config.Hosts(
        at[MANAGEMENT].address, tuple(at[name].address for name in names(of.nodes)), at[CLIENT].address
    )
    ports = [NODE_PORT] * of.nodes
    config = folder / ndb_life.CONFIG
    config.write_text(
        ndb_config.file(of, ndb_life.parameters(chosen), PORT, ports, folder, places), encoding="utf-8"
    )
    logs, running = [folder / "management.log"], list[Running]()

    def start(host: Host, words: list[str]) -> None:
        running.append(host.start(words, logs[-1], cwd=folder))

    try:
        start(
            at[MANAGEMENT],
            [str(program.with_name("ndb_mgmd")), "--nodaemon", "--config-cache=0", f"--config-file={config}",
             f"--configdir={folder / ndb_life.MANAGEMENT}"],
        )  # fmt: skip
        for k, name in enumerate(names(of.nodes), start=1):
            logs.append(folder / f"{name}.log")
            where = f"--ndb-connectstring={at[MANAGEMENT].address}:{PORT}"
            start(at[name], [str(program), "--foreground", "--initial", f"--ndb-nodeid={k}", where])
        words = [sys.executable, "-c", READY, str(PORT), str(of.nodes), str(READY_S)]
        ready = at[MANAGEMENT].start(words, folder / "ready.log")
        if ready.wait(2 * READY_S) != 0:
            said = "\n".join(log.read_text(errors="replace")[-500:] for log in logs)
            raise RuntimeError(f"the cluster did not start: {said}")
        yield f"ndb://{at[MANAGEMENT].address}:{PORT}/"
    finally:
        for one in running:
            one.kill()
            one.wait(STOP_S)
