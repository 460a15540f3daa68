"""What another user of this machine gets from servers that inrush started: nothing, without the file of the password."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from inrush.engines import ENGINES, server
from inrush.engines.base.instance import Target
from inrush.engines.servers import life, secret
from inrush.engines.servers.own_server import OwnServer
from inrush.targets import instances

from .servers import control, own_server

STARTED = [name for name in ENGINES if isinstance(server(name).lifecycle, OwnServer)]
LOCKED = [name for name in STARTED if own_server(name).account]
#: Who another user may be: one of the system's, and the one that servers of root run as.
STRANGERS = [1, 65_534]

#: Becomes another user before it connects: its own copy of the core is loaded by then.
AS_STRANGER = """
import json, os, sys, urllib.request
from pathlib import Path
from inrush import _core
"h".encode("idna")  # a codec that is looked for when it is first used
uid, engine, ask, urls, pages, files = json.loads(sys.stdin.read())
if uid is not None:
    os.setgroups([]); os.setgid(uid); os.setuid(uid)
os.environ["HOME"] = "/nonexistent"
said = {"entered": [], "read": [], "messages": []}
for url in urls:
    try:
        _core.control(json.dumps({"engine": engine, "url": url, "options": {}}), ask, 10.0)
        said["entered"].append(url)
    except _core.CoreFailure as failure:
        said["messages"].append(str(failure))
for page in pages:
    try:
        with urllib.request.urlopen(page, timeout=10) as answer:
            said["entered"].append(page + " " + answer.read().decode(errors="replace")[:200])
    except OSError as error:
        said["messages"].append(str(error))
for file in files:
    try:
        said["read"] += [file] if Path(file).is_dir() and os.listdir(file) else []
        said["read"] += [file] if Path(file).is_file() and open(file, "rb").read() else []
    except OSError:
        pass
print(json.dumps(said))
"""
#: A statement that each answers to whoever is let in.
ASK = {"influxdb": "SHOW DATABASES", "valkey": "PING", "questdb": "SELECT 1"}
#: Further accounts that makers of servers give to new ones.
OTHER_ACCOUNTS = {
    "postgresql": ["nobody", "root"],
    "timescaledb": ["nobody", "root"],
    "mysql": ["root", "mysql"],
    "mariadb": ["root", "mysql", "mariadb.sys", "nobody"],
    "clickhouse": ["readonly"],
    "influxdb": ["", "admin"],
    "valkey": [""],
    "questdb": ["user", "reader"],
}
#: Requests without a login that answer with data or change something.
PAGES = {
    "clickhouse": ["/?query=SELECT+1", "/?user=default&query=SELECT+1"],
    "influxdb": ["/query?q=SHOW+DATABASES", "/debug/pprof/heap?debug=1"],
    "questdb": ["/exec?query=SELECT+1", "/exp?query=SELECT+1"],
}


@pytest.fixture(params=LOCKED)
def target(request: pytest.FixtureRequest) -> Target:
    found: Target = request.getfixturevalue(request.param)
    if not secret.file_in(found.url):
        pytest.skip("inrush did not start this server")
    return found


def test_each_engine_has_a_password_or_says_what_is_open() -> None:
    assert {name for name in STARTED if not own_server(name).account} == {"ndb"}
    assert {name for name in STARTED if own_server(name).left_open} == {"ndb", "influxdb"}


def without_file(url: str, login: str) -> str:
    parts = urlsplit(url)
    query = "&".join(pair for pair in parts.query.split("&") if pair and not pair.startswith("passfile="))
    return urlunsplit(parts._replace(netloc=f"{login}@{parts.hostname}:{parts.port}", query=query))


def visited(target: Target, uid: int | None) -> dict[str, list[str]]:
    own, data = own_server(target.engine), Path(secret.file_in(target.url)).parent
    accounts = [own.account, *OTHER_ACCOUNTS[target.engine]]
    logins = [login for account in accounts for login in (account, f"{account}:", f"{account}:wrong")]
    urls = [without_file(target.url, login) for login in logins]
    if uid is not None:  # ourselves may read it
        urls.append(target.url)
    http = re.search(r"http=(\d+)", target.url)
    port = int(http[1]) if http else urlsplit(target.url).port
    pages = [f"http://127.0.0.1:{port}{page}" for page in PAGES.get(target.engine, ())]
    files = [str(path) for path in (data, *data.rglob("*")) if uid == 1 or path.name == secret.FILE]
    done = subprocess.run(
        [sys.executable, "-c", AS_STRANGER],
        input=json.dumps(
            [
                uid,
                target.engine,
                ASK.get(target.engine, "SELECT 1"),
                urls,
                pages,
                files if uid is not None else [],
            ]
        ),
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    assert len(found["messages"]) + len(found["entered"]) == len(urls) + len(pages)
    return found


@pytest.mark.timeout(300)
@pytest.mark.parametrize("uid", STRANGERS if os.geteuid() == 0 else [None])
def test_another_user_gets_nothing_without_the_password(target: Target, uid: int | None) -> None:
    control(target, ASK.get(target.engine, "SELECT 1"))  # it is there, and lets us in
    found = visited(target, uid)
    assert found["entered"] == [] and found["read"] == []
    password = secret.in_file(Path(secret.file_in(target.url)))
    assert password is not None and not any(password in message for message in found["messages"])
    refused = re.compile("refused|reset", re.IGNORECASE)
    assert not any(refused.search(m) and "password" not in m for m in found["messages"]), "somebody answered"


#: Accounts that let in without a password, by the server's own lists.
OPEN_ACCOUNTS = {
    "postgresql": "SELECT type, database, user_name, auth_method FROM pg_hba_file_rules WHERE auth_method <> 'scram-sha-256'",
    "mysql": "SELECT user, host FROM mysql.user WHERE authentication_string = '' AND account_locked <> 'Y'",
    "mariadb": "SELECT user, host, plugin FROM mysql.user WHERE authentication_string = '' AND user <> 'mariadb.sys'",
}
OPEN_ACCOUNTS["timescaledb"] = OPEN_ACCOUNTS["postgresql"]


@pytest.mark.parametrize("target", OPEN_ACCOUNTS, indirect=True)
def test_no_account_of_it_is_without_a_password(target: Target) -> None:
    assert control(target, OPEN_ACCOUNTS[target.engine]) == []


def test_its_password_stands_in_no_process_and_in_no_record(target: Target) -> None:
    data = Path(secret.file_in(target.url)).parent
    password = secret.in_file(data / secret.FILE)
    assert password
    processes = life.working_in(data)
    assert processes
    for pid in processes:
        for file in ("cmdline", "environ"):
            assert password.encode() not in Path(f"/proc/{pid}/{file}").read_bytes(), file
    holding = {
        path.relative_to(data).as_posix()
        for path in data.rglob("*")
        if path.is_file() and password.encode() in path.read_bytes()
    }
    # QuestDB's own configuration has it as it is, of the server's user alone.
    assert holding == {secret.FILE} | ({"files/conf/server.conf"} if target.engine == "questdb" else set())


@pytest.mark.parametrize("target", LOCKED, indirect=True)
def test_the_command_that_status_prints_works_as_it_stands(target: Target) -> None:
    if target.instance is None:
        pytest.skip("inrush of another process started this server")
    row = instances.row(server(target.engine), target.instance, True)
    asked = {"mysql": "SELECT 'here';", "mariadb": "SELECT 'here';"}.get(target.engine, "SELECT 'here';")
    done = subprocess.run(
        ["sh", "-c", row[instances.COMMAND]],
        input="ECHO here\n" if target.engine == "valkey" else asked,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    shown = {"clickhouse": r"^\d+\.\d+", "influxdb": "databases", "questdb": "QuestDB"}
    assert re.search(shown.get(target.engine, "here"), done.stdout), done.stdout + done.stderr
