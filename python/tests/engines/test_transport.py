"""The option `transport`: sessions of a run reach a server of ours by the network or by its Unix socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inrush.engines import server
from inrush.engines.base.instance import TRANSPORT, Instance, Stop, Target
from inrush.errors import TargetError
from inrush.targets.deployment import Deployment, at_deployment

from .border import run
from .servers import control, need, own_server, scratch
from .test_contract import planned
from .test_tls import refusal

#: A query whose answer says how the connection that asks it came.
HOW = {
    "postgresql": ("SELECT inet_client_addr() IS NULL", "false", "true"),
    "mysql": (
        "SELECT connection_type FROM performance_schema.threads WHERE processlist_id = connection_id()",
        "TCP/IP", "Socket",
    ),
    "mariadb": ("SELECT SUBSTRING_INDEX(host, ':', 1) FROM information_schema.processlist WHERE id = connection_id()", "127.0.0.1", "localhost"),
}  # fmt: skip
SMALL = {"postgresql": {"shared_buffers": "16MB"}}


@pytest.fixture(scope="module", params=sorted(HOW))
def instance(request: pytest.FixtureRequest) -> Iterator[Instance]:
    engine: str = request.param
    need(engine)
    own = own_server(engine)
    with scratch() as folder:
        # A percent sign has to be escaped in a URL; MariaDB cannot be made in a folder with a blank.
        instance = own.start(folder / "my%data", SMALL.get(engine, {"profile": "default"}))
        try:
            yield instance
        finally:
            own.stop(instance, Stop.CLEAN)


def deployment(instance: Instance) -> Deployment:
    return Deployment(server(instance.engine), Target(instance.engine, instance.url, {}, instance))


def wanting(plan: dict[str, Any], transport: str) -> dict[str, Any]:
    return {**plan, "target": {**plan["target"], "options": {TRANSPORT: transport}}}


def test_a_run_reaches_its_server_as_it_was_asked_to(instance: Instance, folder: Path) -> None:
    how, by_tcp, by_socket = HOW[instance.engine]
    plan = planned(instance.engine, "bulk").plan
    for transport, expected in (("tcp", by_tcp), ("unix", by_socket)):
        url = at_deployment(wanting(plan, transport), deployment(instance), folder)["target"]["url"]
        assert control(Target(instance.engine, url), how) == [[expected]], url


def test_rows_that_came_by_the_socket_are_proven(instance: Instance, folder: Path) -> None:
    plan = wanting(planned(instance.engine, "bulk").plan, "unix")
    ran = run(deployment(instance), plan, folder)
    assert ran.last == {"event": "finished", "ended_by": "work"}, ran.last
    assert not ran.broken() and not ran.tables["failures"]
    assert {p["item"] for p in ran.tables["proofs"]} >= {"rows", "read_back"}
    assert ran.totals("writers")["rows"] == 10_000


def test_a_folder_too_deep_for_a_socket_is_said_before_the_run(instance: Instance, folder: Path) -> None:
    deep = Instance(**{**vars(instance), "data": folder / ("d" * 120)})
    with pytest.raises(TargetError, match=r"has no Unix socket.*transport=tcp"):
        at_deployment(wanting(planned(instance.engine, "bulk").plan, "unix"), deployment(deep), folder)


def test_a_socket_without_a_server_is_one_line_that_names_it() -> None:
    message = refusal(Target("mysql", "mysql://me@localhost/?socket=/tmp/none/mysql.sock"))
    assert "there is no socket at /tmp/none/mysql.sock;" in message
