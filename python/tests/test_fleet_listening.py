"""What listens of a fleet on this machine, and what another user of the machine can do with it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import listening, stranger
from tests.listening import assert_nothing_secret_is_read, beyond_loopback
from tests.needed import need_distributed
from tests.test_clients_run import measuring
from tests.test_fleet_run import fleet, running, shared

need_distributed()
SECRET = "a-secret-of-the-test-7741"


def test_the_nodes_of_a_local_fleet_listen_on_loopback_alone_and_have_one_port_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", SECRET)
    with fleet() as at, running(at, tmp_path, shared(60)) as worker:
        measuring(worker)
        nodes = at.pids(b"node")
        everything = {pid for node in [*nodes, worker.pid] for pid in listening.family(node)}
        assert len(nodes) == 3 and {*at.clients()} < everything
        sockets = [s for s in listening.of_processes(everything) if s.kind != "unix"]
        assert beyond_loopback(sockets) == []
        assert sorted(s.pid for s in sockets) == nodes, "Dask's own protocol, and no HTTP"
        ports = sorted(s.port for s in sockets)
        # A function is run for who has the certificate, and for nobody else: neither by the scheduler nor by a worker.
        certificate = at.certificate.read_text()
        ran = stranger.ask("dask", ports=ports, certificate=certificate)
        assert ran == [f"127.0.0.1:{port} with theirs: ran as user {os.getuid()}" for port in ports]
        assert at.certificate.stat().st_mode & 0o777 == 0o600 and at.folder.stat().st_mode & 0o777 == 0o700
        assert_nothing_secret_is_read(everything, [SECRET, certificate], [*at.folder.rglob("*")])
    assert not at.folder.exists(), "the key goes with the fleet"
