"""`inrush run --live`: from the command line to a reader, and to the report."""

from __future__ import annotations

import http.client
import json
import re
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from inrush.report.live.access import TOKEN
from inrush.results.store import Results, Store
from tests.strategies import ENVIRONMENT
from tests.terminal import Inrush

SECRET = "0123456789abcdef-secret"
WORDS = ("quickstart", "sqlite", "-P", "batch_rows=1000", "-P", "repeats.count=2")


def events_of(port: int, token: str) -> list[Mapping[str, Any]]:
    """All events of a study until its last."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/events", headers={"Authorization": f"Bearer {token}"})
    found = []
    with connection.getresponse() as answer:
        while line := answer.readline():
            if line.startswith(b"data: "):
                found.append(json.loads(line[6:]))
    connection.close()
    return found


def page_of(port: int, token: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/", headers={"Authorization": f"Bearer {token}"})
    page = connection.getresponse().read().decode()
    connection.close()
    return page


def watched(
    command: Sequence[str], folder: Path, given: Mapping[str, str]
) -> tuple[str, list[Mapping[str, Any]], str, str, int, Any]:
    """A command with a page, to its end: host of the address, all events, the last page, stderr, exit code and JSON."""
    with subprocess.Popen(
        command, cwd=folder, env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stderr is not None and run.stdout is not None
        line = next(line for line in run.stderr if line.startswith("live: "))
        host, port, path = re.fullmatch(r"live: http://(\S+):(\d+)/(\S*)\n", line).groups()  # type: ignore[union-attr]
        # One of the user's is sent as it is; one of the page's own is in its address.
        token = given.get(TOKEN) or path.removeprefix("login?token=")
        events = events_of(int(port), token)  # the page is there once its address is
        page = page_of(int(port), token)
        said, code = run.stderr.read(), run.wait(60)
        return host, events, page, said, code, json.loads(run.stdout.read())


@pytest.mark.parametrize(
    "address", [(), pytest.param(("--live-address", "0.0.0.0:0"), marks=pytest.mark.slow)]
)
@pytest.mark.ci
def test_a_reader_sees_a_study_from_its_first_run_to_its_report(
    tmp_path: Path, address: tuple[str, ...]
) -> None:
    # Twice as long as from one look of the page to the next, however fast the machine is.
    words = (*WORDS, "-P", "schedule.at_least_s=2.5")
    command = [sys.executable, "-m", "inrush.cli", "run", *words, "--live", *address, "--json"]
    given = {**ENVIRONMENT, TOKEN: SECRET}
    host, events, page, said, code, document = watched(command, tmp_path, given)
    assert host == (socket.gethostname() if address else "127.0.0.1")
    assert code in (0, 3), said
    written = [
        path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()
    ]
    assert SECRET not in said and not written, "the token is in no log and no result"
    results = Results(tmp_path / document["run_dir"])
    assert page == results.report_path.read_text(encoding="utf-8")
    snapshots = [event["snapshot"] for event in events]
    assert events[-1]["last"] and events[-1]["report"] and snapshots[-1]["status"] == "done"
    seen = {role for shown in snapshots for role in shown["roles"]}
    assert {"writers", "readers"} <= seen
    assert any(
        shown["roles"]["writers"]["times"]["p99"] for shown in snapshots if "writers" in shown["roles"]
    )
    assert any(used["role"] == "host" for shown in snapshots for used in shown["resources"])
    assert len(snapshots[-1]["points"]["rows"]) == 1 and snapshots[-1]["points"]["rows"][0]["runs"] == 2
    assert {limit["figure"] for limit in snapshots[-1]["limits"]} >= {"errors of writers"}


@pytest.mark.parametrize("words", [("--live-address", "127.0.0.1:0"), ("--live-stay",)])
def test_what_says_how_needs_live_itself(inrush: Inrush, words: tuple[str, ...]) -> None:
    said = inrush("run", *WORDS, *words)
    assert said.code == 2 and "add --live" in said.err


def test_an_address_that_others_reach_is_refused_before_anything_is_planned(inrush: Inrush) -> None:
    said = inrush("run", *WORDS, "--live", "--live-address", "0.0.0.0")
    assert said.code == 2 and "INRUSH_LIVE_TOKEN" in said.err
    assert Store(inrush.store.root).studies() == []


def test_a_study_that_is_refused_has_no_page_to_tell_of(inrush: Inrush) -> None:
    said = inrush("run", *WORDS, "-P", "nosuch=1", "--live")
    assert said.code == 2 and "nosuch" in said.err and "live: " not in said.err


@pytest.mark.slow
def test_a_proof_is_shown_while_it_runs_with_what_was_claimed_of_it(inrush: Inrush, tmp_path: Path) -> None:
    trained = inrush(
        "run", "quickstart", "sqlite", "--scale", "xs", "-P", "batch_rows=[100,2000]", "-P", "repeats.count=2"
    )
    assert trained.code in (0, 3), trained.err
    made = inrush("predict", "--to", "1000", "--where", "engine=sqlite", "--claim", "--json")
    (claim,) = made.json["claims"]
    command = [sys.executable, "-m", "inrush.cli", "prove", claim["id"], "--live", "--json"]
    _, events, page, said, code, score = watched(
        command, tmp_path, {**ENVIRONMENT, "INRUSH_RESULTS": str(inrush.store.root)}
    )
    assert code in (0, 3) and score["prediction"] == claim["id"], said
    shown = events[-1]["snapshot"]
    assert events[-1]["report"] and shown["status"] == "done", said
    points = shown["points"]["rows"]
    (beside,) = shown["claims"]
    assert points and beside["id"] == claim["id"] and beside["measured"] is not None, shown
    assert page == Results(inrush.store.find(score["results"]).path).report_path.read_text(encoding="utf-8")
