"""Two that would run the same study on one server: the first goes on, the second is told so."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.targets.deployment import Deployment
from inrush.targets.locks import Holder, holder, lock_name, ourselves
from tests.terminal import Inrush

from .servers import control, each_kind, password_of
from .small_studies import SERVERS, endless_words_of, words_of

LIMIT_S = 300.0
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(params=each_kind(SERVERS))
def deployment(request: pytest.FixtureRequest) -> Deployment:
    there: Target = request.getfixturevalue(request.param)
    return Deployment(server(request.param), there)


def words(deployment: Deployment) -> tuple[str, str]:
    return words_of(deployment.target.engine)[0], deployment.target.url


def quick(deployment: Deployment) -> tuple[str, ...]:
    return words_of(deployment.target.engine)[1]


def study_of(deployment: Deployment) -> str:
    name = words(deployment)[0]
    return name if name.startswith("keylookup-") else f"telemetry-{name.removeprefix('telemetry-')}"


def name_of(inrush: Inrush, deployment: Deployment) -> str:
    plan = inrush("plan", *words(deployment), *quick(deployment), "--json").json
    return lock_name(plan["name"], plan["seed"])


@contextlib.contextmanager
def another(deployment: Deployment, results: Path) -> Iterator[subprocess.Popen[str]]:
    """A second inrush that runs the study until it is ended."""
    environment = {**os.environ, "INRUSH_RESULTS": str(results)}
    command = [
        sys.executable,
        "-m",
        "inrush.cli",
        "run",
        *words(deployment),
        *endless_words_of(deployment.target.engine),
    ]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for_lock(deployment: Deployment, name: str, process: subprocess.Popen[str]) -> Holder:
    """The lock of this process, whatever a test that failed has left."""
    end_s = time.monotonic() + LIMIT_S
    while (found := holder(deployment, name)) is None or found.pid != str(process.pid):
        assert process.poll() is None and time.monotonic() < end_s, process.communicate()
        time.sleep(0.05)
    return found


def homes(deployment: Deployment, name: str) -> bool:
    """Whether anything of a lock is left: what inrush left behind bears its mark, so the query for foreign objects does not see it."""
    if deployment.target.engine == "ndb":
        return holder(deployment, name) is not None
    ask = {
        "postgresql": "SELECT nspname FROM pg_namespace",
        "timescaledb": "SELECT nspname FROM pg_namespace",
        "mysql": "SELECT schema_name FROM information_schema.schemata",
        "mariadb": "SELECT schema_name FROM information_schema.schemata",
        "clickhouse": "SELECT name FROM system.databases",
        "influxdb": "SHOW DATABASES",
        "valkey": "KEYS *",
        "questdb": "SELECT table_name FROM tables()",
    }
    # A home of QuestDB is a prefix of tables' names.
    found = (str(row[0]) for row in control(deployment.target, ask[deployment.target.engine]))
    return name in {there.partition(".")[0] for there in found}


def test_a_second_is_refused_and_told_and_takes_over_when_the_first_was_killed(
    inrush: Inrush, deployment: Deployment, tmp_path: Path
) -> None:
    name = name_of(inrush, deployment)
    with another(deployment, tmp_path / "first") as first:
        found = wait_for_lock(deployment, name, first)
        for force in ((), ("--force",)):
            said = inrush("run", *words(deployment), *quick(deployment), *force)
            assert said.code == 2, said.err
            assert f"process {first.pid} on" in said.err and str(tmp_path / "first") in said.err
            assert "another --seed" in said.err
        assert inrush.store.studies() == [], "nothing was begun"
        assert holder(deployment, name) == found and first.poll() is None
        beside = inrush("run", *words(deployment), *quick(deployment), "--seed", "99")
        # Another seed is another place, and the same server all the same.
        listed = bool(deployment.server.ask_locks())
        assert beside.code == 3 if listed else beside.code in (0, 3), beside.err
        assert (f"held this server meanwhile: {found}" in beside.out) == listed, beside.out
        assert first.poll() is None, "another seed is another place"
        first.kill()
        first.wait()
    after = inrush("run", *words(deployment), *quick(deployment))
    assert after.code in (0, 3), after.err
    assert (
        f"taken over from study {study_of(deployment)}" in after.err and f"process {found.pid}" in after.err
    )
    assert not homes(deployment, name), "it is given back at the end"


def test_a_lock_of_another_machine_takes_force(
    inrush: Inrush, deployment: Deployment, tmp_path: Path
) -> None:
    name = name_of(inrush, deployment)
    far = replace(ourselves(study_of(deployment), tmp_path), machine="another boot", host="far.example")
    # A test that failed may have left one.
    for statement in (
        *deployment.server.drop_namespace(name),
        *deployment.server.lock(name, far.text()),
    ):
        control(deployment.target, statement)
    try:
        assert holder(deployment, name) == far, "what is written is read again"
        said = inrush("run", *words(deployment), *quick(deployment))
        assert said.code == 2 and "far.example" in said.err and "say --force" in said.err, said.err
        assert holder(deployment, name) == far
        forced = inrush("run", *words(deployment), *quick(deployment), "--force")
        assert forced.code in (0, 3) and "taken over" in forced.err, forced.err
        assert "held this server" not in forced.out, "a study is not beside itself"
        assert not homes(deployment, name)
    finally:
        for statement in deployment.server.drop_namespace(name):
            control(deployment.target, statement)


def test_of_two_that_begin_at_once_one_runs(inrush: Inrush, postgresql: Target, tmp_path: Path) -> None:
    deployment = Deployment(server("postgresql"), postgresql)
    name = name_of(inrush, deployment)
    with another(deployment, tmp_path / "a") as a, another(deployment, tmp_path / "b") as b:
        end_s = time.monotonic() + LIMIT_S
        while a.poll() is None and b.poll() is None:
            assert time.monotonic() < end_s
            time.sleep(0.05)
        refused, runs = (a, b) if b.poll() is None else (b, a)
        assert refused.returncode == 2 and runs.poll() is None
        assert wait_for_lock(deployment, name, runs).pid == str(runs.pid)
        runs.terminate()
        assert runs.wait() == 130
    assert not homes(deployment, name), "one that is asked to end gives it back too"


def test_a_user_who_may_make_no_schema_is_told_before_the_run(inrush: Inrush, postgresql: Target) -> None:
    control(postgresql, f"CREATE ROLE reader LOGIN PASSWORD '{password_of(postgresql)}'")
    try:
        url = postgresql.url.replace("postgres@", "reader@")
        said = inrush("run", "quickstart", url, *words_of("postgresql")[1])
        assert said.code == 2 and "permission denied" in said.err, said.err
        assert "GRANT CREATE ON DATABASE" in said.err and inrush.store.studies() == []
    finally:
        control(postgresql, "DROP ROLE reader")
