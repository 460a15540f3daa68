"""The live page as its readers get it: many, slow ones, those that come again, those without the token; and its end."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from inrush.errors import UsageError
from inrush.report.live import access, app, connections, hub, opened, server
from inrush.report.live.access import Access, Address, listening_socket, read_address
from inrush.report.live.charts import specs
from inrush.report.live.server import LiveServer
from inrush.report.live.view import SeriesPlace, View
from tests.live_events import progress, role
from tests.test_live import Run
from tests.test_run import begin

TOKEN = "0123456789abcdef-token"
SENT = {"Authorization": f"Bearer {TOKEN}"}
LIMIT_S = 20.0


class Study:
    """A view of a study with one run in hand, and its server."""

    def __init__(self, folder: Any, token: str = TOKEN, host: str = "127.0.0.1") -> None:
        self.view = View(lambda _: None, folder, [Run(0, []), Run(1, [])])  # type: ignore[list-item]
        self.folder = folder
        at = Address(host)
        themes = json.dumps({"specs": specs(), "themes": {}})
        self.access = Access(token)
        self.server = LiveServer(
            self.view, at, self.access, listening_socket(at), "window.vegaEmbed = 0;", themes
        )
        self.host = host
        self.port = int(re.findall(r":(\d+)/", self.server.url)[0])
        self.halves = 0
        self.view.begun(1, 2, self.view.seen.planned[0])

    def goes_on(self, halves: int = 2) -> None:
        for _ in range(halves):
            self.halves += 1
            now = role(500 * self.halves, 5 * self.halves, [2_000_000] * 5)
            self.view.event(progress(self.halves / 2, {"writers": now}))

    def get(
        self, path: str, method: str = "GET", body: str | None = None, **headers: str
    ) -> tuple[int, Any, str]:
        """Status, headers and text, of one who has the token."""
        return self.get_without(path, method, body, **{**SENT, **headers})

    def get_without(
        self, path: str, method: str = "GET", body: str | None = None, **headers: str
    ) -> tuple[int, Any, str]:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=LIMIT_S)
        try:
            connection.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()


class Reader:
    """Reads events, one after the other."""

    def __init__(self, port: int, last_id: str = "", **headers: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
        given = {**SENT, **headers, **({"Last-Event-ID": last_id} if last_id else {})}
        self.connection.request("GET", "/events", headers=given)
        self.answer = self.connection.getresponse()
        self.id = ""

    def beat(self) -> dict[str, Any] | None:
        """The next one; None where the stream has ended."""
        while line := self.answer.readline():
            text = line.decode().rstrip("\n")
            if text.startswith("id: "):
                self.id = text[4:]
            elif text.startswith("data: "):
                found: dict[str, Any] = json.loads(text[6:])
                return found
        return None

    def close(self) -> None:
        self.answer.close()
        self.connection.close()


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    found = Study(begin(tmp_path))
    yield found
    found.server.end(None)


def until(holds: Callable[[], bool], what: str) -> None:
    limit = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < limit, what
        time.sleep(0.02)


# --- readers


@pytest.mark.ci
def test_a_reader_sees_what_happens_within_two_seconds(study: Study) -> None:
    reader = Reader(study.port)
    assert reader.beat() is not None
    for _ in range(3):
        study.goes_on()
        said = time.monotonic()
        while (beat := reader.beat()) and beat["snapshot"]["roles"].get("writers", {}).get(
            "rows"
        ) != 500 * study.halves:
            pass
        assert beat is not None and time.monotonic() - said < 2.0
    reader.close()


def test_a_page_that_is_loaded_again_has_all_steps_and_one_that_lost_its_connection_the_rest(
    study: Study,
) -> None:
    first = Reader(study.port)
    first.beat()
    study.goes_on(6)
    assert len(study.view.seen.series.steps) == 3
    shown = 0
    while shown < 3:
        beat = first.beat()
        assert beat is not None
        shown += len(beat["steps"])
    again = Reader(study.port)
    whole = again.beat()
    assert whole is not None and whole["begins"] and len(whole["steps"]) == len(study.view.seen.series.steps)
    again.close()
    behind = Reader(study.port, last_id=f"{again.id.rpartition(' ')[0]} 1")
    rest = behind.beat()
    assert rest is not None and not rest["begins"] and rest["steps"] == whole["steps"][1:]
    behind.close()
    first.close()


def test_steps_of_another_run_begin_anew(study: Study) -> None:
    study.goes_on(6)
    reader = Reader(study.port)
    before = reader.beat()
    assert before is not None and len(before["steps"]) == 3
    study.view.begun(2, 2, study.view.seen.planned[1])
    beat = reader.beat()
    assert beat is not None and not beat["begins"], "the charts stay until it works"
    study.halves = 0
    study.goes_on(2)
    while beat is not None and not beat["begins"]:
        beat = reader.beat()
    assert beat is not None and len(beat["steps"]) == 1, "none of the run before"
    reader.close()


@pytest.mark.slow
def test_fifty_readers_see_the_same_look_that_was_made_once(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[float] = []
    look = study.view.look
    monkeypatch.setattr(study.view, "look", lambda: (looks.append(time.monotonic()), look())[1])
    readers = [Reader(study.port) for _ in range(50)]
    for reader in readers:
        assert reader.beat() is not None
    until(lambda: study.server.hub.readers == 50, "fifty readers")
    before, began_s = len(looks), time.monotonic()
    seen = [{beat["snapshot"]["now_s"] for _ in range(3) if (beat := reader.beat())} for reader in readers]
    assert all(len(times) == 3 for times in seen)
    made, passed_s = len(looks) - before, time.monotonic() - began_s
    assert made <= passed_s / hub.EVERY_S + 1, "one a second for all of them"
    assert len(set.union(*seen)) <= made + 2, "and no other is shown"
    for reader in readers:
        reader.close()
    until(lambda: study.server.hub.readers == 0, "readers that leave are gone")


@pytest.mark.ci
def test_a_reader_that_takes_nothing_is_let_go_and_keeps_no_other_waiting(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Long enough for a quick one to have many snapshots on a busy machine.
    monkeypatch.setattr(app, "SLOW_S", 3.0)
    monkeypatch.setattr(hub, "EVERY_S", 0.02)
    for k in range(30):
        study.view.note(f"{k} {'x' * 20_000}")
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    slow.connect(("127.0.0.1", study.port))
    slow.sendall(f"GET /events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
    until(lambda: study.server.hub.readers == 1, "the slow reader is there")
    quick = Reader(study.port)
    numbers = []
    until(
        lambda: (numbers.append(quick.beat()), study.server.hub.readers == 1)[1], "the slow reader is let go"
    )
    assert len(numbers) > 20, "the other one went on meanwhile"
    quick.close()
    slow.close()


def test_a_reader_too_many_is_refused_and_let_in_when_another_has_left(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "MOST_READERS", 2)
    readers = [Reader(study.port) for _ in range(2)]
    until(lambda: study.server.hub.readers == 2, "two readers")
    refused = Reader(study.port)
    assert (refused.answer.status, study.server.hub.readers) == (503, 2)
    refused.close()
    readers[0].close()
    until(lambda: study.server.hub.readers == 1, "one has left")
    third = Reader(study.port)
    assert third.answer.status == 200 and third.beat() is not None
    third.close()
    readers[1].close()


def test_steps_are_written_once_for_all_readers_at_the_same_place() -> None:
    asked: list[SeriesPlace] = []

    def steps_since(place: SeriesPlace) -> tuple[SeriesPlace, list[dict[str, Any]]]:
        asked.append(place)
        return SeriesPlace("a run", 3), []

    beat = hub.Beat(1, "{}", steps_since)
    made = [beat.event(SeriesPlace("a run", at)) for at in (1, 1, 2, 1)]
    assert made[0] is made[1] is made[3] and [place.steps for place in asked] == [1, 2]


def test_no_look_is_made_while_there_is_no_reader(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "EVERY_S", 0.02)
    looks: list[int] = []
    look = study.view.look
    monkeypatch.setattr(study.view, "look", lambda: (looks.append(1), look())[1])
    time.sleep(1.2)
    assert len(looks) <= 1
    reader = Reader(study.port)
    assert reader.beat() is not None and looks
    reader.close()


# --- what is served


def test_everything_comes_from_the_server_itself(study: Study) -> None:
    for path in ("/", "/live.js", "/live.css"):
        status, headers, text = study.get(path, Host="localhost")
        assert status == 200 and not re.search(r"https?://|//[a-z0-9.-]+\.[a-z]{2,}/", text), path
        assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert json.loads(study.get("/snapshot.json")[2])["study"]["id"] == study.folder.path.name
    assert set(json.loads(study.get("/themes.json")[2])) == {"specs", "themes"}


def test_a_page_elsewhere_whose_name_leads_here_reads_nothing(study: Study) -> None:
    # Its reader's browser has the cookie for the printed address, and none for that name.
    assert study.get_without("/snapshot.json", Host=f"evil.example:{study.port}")[0] == 401


def test_the_address_that_is_printed_is_answered(tmp_path: Path) -> None:
    study = Study(begin(tmp_path), host="127.0.0.2")
    try:
        assert study.server.url == f"http://127.0.0.2:{study.port}/"
        assert study.get("/snapshot.json")[0] == 200
    finally:
        study.server.end(None)


def test_the_page_becomes_the_report_and_the_server_ends(tmp_path: Path) -> None:
    study = Study(begin(tmp_path))
    report = study.folder.path / "report.html"
    report.write_text("<!doctype html><title>the report</title>", encoding="utf-8")
    reader = Reader(study.port)
    reader.beat()
    study.view.finished("done")
    ending = threading.Thread(target=study.server.end, args=(report,))
    ending.start()
    beats = []
    while (beat := reader.beat()) is not None:
        beats.append(beat)
    reader.close()
    assert beats[-1]["last"] and beats[-1]["report"] and beats[-1]["snapshot"]["status"] == "done"
    assert study.get("/")[2] == report.read_text(encoding="utf-8")
    ending.join(LIMIT_S)
    assert not ending.is_alive()
    with pytest.raises(ConnectionError):
        study.get("/")


def test_a_server_that_nobody_reads_waits_for_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # So long that a busy machine is far from it.
    monkeypatch.setattr(server, "LEAVING_S", 120.0)
    study = Study(begin(tmp_path))
    began_s = time.monotonic()
    study.server.end(None)
    assert time.monotonic() - began_s < 60


# --- what it may cost the process that directs a study


def closed(connection: socket.socket) -> bool:
    """By the server, within the time that a reader has."""
    connection.settimeout(LIMIT_S)
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize(
    "said",
    [b"", b"GET / HTTP/1.1\r\nHost: a", b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nt"],
)  # fmt: skip
def test_a_connection_that_asks_for_nothing_whole_is_closed_and_one_that_reads_is_not(
    study: Study, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(connections, "LOOK_S", 0.2)
    reader = Reader(study.port)
    with socket.create_connection(("127.0.0.1", study.port)) as idle:
        idle.sendall(said)
        began_s = time.monotonic()
        assert closed(idle) and time.monotonic() - began_s < 5
    assert reader.beat() is not None and reader.beat() is not None
    reader.close()


def test_connections_are_so_few_that_the_study_can_open_files(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MOST", 5)
    kept = [socket.create_connection(("127.0.0.1", study.port)) for _ in range(5)]
    until(lambda: len(study.server.connections) == 5, "five of them")
    with socket.create_connection(("127.0.0.1", study.port)):
        assert closed(kept[0])
        assert len(study.server.connections) == 5
    for one in kept:
        one.close()


def test_connections_without_the_token_keep_nobody_out_who_has_it(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of another user, who reaches the port: without a word, with half a request, and with a wrong token that waits."""
    monkeypatch.setattr(connections, "MOST", 6)
    wrong = b"GET /snapshot.json HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer wrong\r\n\r\n"
    for said in (b"", b"GET / HTTP/1.1\r\nHost: a", wrong, b"GET /login HTTP/1.1\r\nHost: a\r\n\r\n"):
        kept = [socket.create_connection(("127.0.0.1", study.port)) for _ in range(9)]
        for one in kept:
            with contextlib.suppress(ConnectionError):
                one.sendall(said)
        reader = Reader(study.port)
        assert reader.answer.status == 200 and reader.beat() is not None, said
        more = [socket.create_connection(("127.0.0.1", study.port)) for _ in range(9)]
        assert study.get("/snapshot.json")[0] == 200, said
        assert reader.beat() is not None and reader.beat() is not None, "and who is in stays"
        for connection in (*kept, *more, reader):
            connection.close()


def test_where_all_have_shown_the_token_one_more_is_closed(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MOST", 3)
    readers = [Reader(study.port) for _ in range(3)]
    assert all(reader.beat() is not None for reader in readers)
    with socket.create_connection(("127.0.0.1", study.port)) as more:
        assert closed(more)
    for reader in readers:
        assert reader.beat() is not None
        reader.close()


def test_a_quarter_of_the_descriptors_is_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    for soft, found in ((1_024, 256), (256, 64), (2, 1), (connections.resource.RLIM_INFINITY, 256)):
        monkeypatch.setattr(connections.resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert connections.most() == found


@pytest.mark.parametrize(("own", "given"), [(0, 10), (15, 15)])
def test_its_thread_comes_behind_the_study_and_never_before_it(
    monkeypatch: pytest.MonkeyPatch, own: int, given: int
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(server.os, "getpriority", lambda *_: own)
    monkeypatch.setattr(server.os, "setpriority", lambda _, __, nice: asked.append(nice))
    server.comes_last()
    assert asked == [given]


def test_it_serves_where_its_priority_cannot_be_lowered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: int) -> None:
        raise PermissionError

    monkeypatch.setattr(server.os, "setpriority", refused)
    made: list[Study] = []
    making = threading.Thread(target=lambda: made.append(Study(begin(tmp_path))), daemon=True)
    making.start()
    making.join(LIMIT_S)
    assert made and made[0].get("/snapshot.json")[0] == 200
    made[0].server.end(None)


# --- who may see it


def test_a_path_in_the_name_of_the_host_opens_nothing(tmp_path: Path) -> None:
    study = Study(begin(tmp_path), TOKEN)
    try:
        for host in ("a/login?", "a/login#", "localhost/login?x="):
            for path in ("/snapshot.json", "/metrics", "/events"):
                assert study.get_without(path, Host=host)[0] in (400, 401), (host, path)
    finally:
        study.server.end(None)


def test_without_the_token_nothing_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "WRONG_S", 0.2)
    study = Study(begin(tmp_path), TOKEN)
    try:
        for path in ("/snapshot.json", "/events", "/live.js", "/metrics", "/themes.json"):
            status, headers, _ = study.get_without(path)
            assert (status, headers["WWW-Authenticate"]) == (401, "Bearer"), path
            began_s = time.monotonic()
            assert study.get(path, Authorization="Bearer wrong")[0] == 401
            assert time.monotonic() - began_s >= 0.2, "who tries many waits for each"
        assert study.get_without("/")[0] == 303
        assert study.get("/snapshot.json", Authorization=f"Bearer {TOKEN}")[0] == 200
        # From elsewhere it has another name.
        assert study.get("/snapshot.json", Authorization=f"Bearer {TOKEN}", Host="bench.example")[0] == 200
    finally:
        study.server.end(None)


def test_a_browser_gives_the_users_token_once_and_no_address_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "WRONG_S", 0.2)
    study = Study(begin(tmp_path))
    try:
        assert study.get_without("/login", "POST", "token=wrong")[0] == 403
        status, headers, text = study.get_without(f"/login?token={TOKEN}")
        assert status == 200 and headers["Set-Cookie"] is None and "<form" in text
        status, headers, _ = study.get_without("/login", "POST", f"token={TOKEN}")
        assert (status, headers["Location"]) == (303, "/")
        kept = headers["Set-Cookie"]
        assert "httponly" in kept.lower() and "samesite=lax" in kept.lower() and TOKEN not in kept
        cookie = kept.partition(";")[0]
        assert study.get_without("/snapshot.json", Cookie=cookie)[0] == 200
        assert study.get_without("/snapshot.json", Cookie=f"{cookie}x")[0] == 401
    finally:
        study.server.end(None)


def test_the_printed_address_opens_the_page_and_its_token_is_of_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "WRONG_S", 0.2)
    for name in (access.TOKEN, access.TOKEN_FILE):
        monkeypatch.delenv(name, raising=False)
    of, another = opened.wanted(None), access.access(Address("127.0.0.1"))
    study = Study(begin(tmp_path))
    study.access = study.server.served.access = of.access
    _, _, path = of.url.partition("/login")
    of.socket.close()
    try:
        assert len(path) > len("?token=") + access.SHORTEST_TOKEN
        status, headers, _ = study.get_without(f"/login{path}")
        assert (status, headers["Location"]) == (303, "/")
        cookie = headers["Set-Cookie"].partition(";")[0]
        assert study.get_without("/snapshot.json", Cookie=cookie)[0] == 200
        status, headers, _ = study.get_without(f"/{another.path()}")
        assert status == 403 and headers["Set-Cookie"] is None
    finally:
        study.server.end(None)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "bench.example"])
def test_what_others_can_reach_needs_a_token(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(access.TOKEN, raising=False)
    monkeypatch.delenv(access.TOKEN_FILE, raising=False)
    with pytest.raises(UsageError, match="others can reach it; give a token by INRUSH_LIVE_TOKEN"):
        access.access(Address(host))
    assert access.access(Address("127.0.0.1")).made_for_page
    monkeypatch.setenv(access.TOKEN, "short")
    with pytest.raises(UsageError, match="at least 16 characters"):
        access.access(Address(host))


def test_a_token_is_inherited_by_no_process_that_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n", encoding="utf-8")
    monkeypatch.setenv(access.TOKEN_FILE, str(file))
    assert access.access(Address("0.0.0.0")).is_token(TOKEN)
    monkeypatch.setenv(access.TOKEN, TOKEN)
    assert access.access(Address("0.0.0.0")).is_token(TOKEN)
    assert {access.TOKEN, access.TOKEN_FILE} & set(access.os.environ) == set()


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [(None, "127.0.0.1", 0), ("0.0.0.0", "0.0.0.0", 0), ("127.0.0.1:8080", "127.0.0.1", 8080), (":8080", "127.0.0.1", 8080),
     ("[::1]:90", "::1", 90), ("::1", "::1", 0), ("[::1]", "::1", 0), ("bench:1", "bench", 1)],
)  # fmt: skip
def test_an_address_is_a_host_with_or_without_a_port(text: str | None, host: str, port: int) -> None:
    assert read_address(text) == Address(host, port)


def test_an_address_that_cannot_be_is_refused_with_what_to_do(study: Study) -> None:
    with pytest.raises(UsageError, match="http is no port"):
        read_address("localhost:http")
    with pytest.raises(UsageError, match="a port alone; write :8124 for this machine alone, or HOST:8124"):
        read_address("8124")
    with pytest.raises(UsageError, match="name another port, or none"):
        listening_socket(Address("127.0.0.1", study.port))
