"""Addresses: one reader for both halves, and no password in what is said, written or handed on."""

from __future__ import annotations

import contextlib
import io
import os
import re
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

import inrush
from inrush.border.address import SECRET, ServerUrl, masked, read, shown, without_password
from inrush.cli import main
from inrush.cli.passwords import Masked, masks
from inrush.engines import ENGINES, engine_of_url, server
from inrush.errors import InrushError, UsageError
from inrush.targets.deployments import named_targets
from inrush.targets.passwords import split_password

#: Both halves are looked for: a piece of a password is shown where one of them is.
LEFT, RIGHT = "S3crLeft", "RightS3cr"
#: `{}` is the password, `{s}` a scheme.
FORMS = (
    "{s}://u:{}@127.0.0.1:1/d",
    "{s}://:{}@127.0.0.1:1/d",
    "{s}://127.0.0.1:1/d?user=u&password={}",
    "{s}://127.0.0.1:1/d?password={}&user=u",
    "{s}://u:{}@127.0.0.1:1/d?gzip=1",
    "{s}://u:{}@[::1/d",
    "{s}://u:{}@127.0.0.1:port/d",
    "{s}:/u:{}@127.0.0.1/d",
    "{s}//u:{}@127.0.0.1/d",
    "nosuch://u:{}@127.0.0.1/d",
    "u:{}@127.0.0.1/d",
)
SERVERS = (
    "postgresql",
    "mysql",
    "clickhouse",
    "influxdb",
    "valkey",
    "questdb",
    "mariadb",
    "timescaledb",
    "ndb",
)
CHARACTERS = (
    *map(chr, range(1, 128)),
    *(f"%{byte:02X}" for byte in range(256)),
    *("%", "%zz", "ä", "密", "🔑", "\u202e", "\udcff", "\r\n", "''", "://", "&&", "%25%"),
)
ADDRESSES = 100_000
#: Of characters, forms and schemes it leaves none out.
STRIDE = 29


def made(n: int) -> str:
    character = CHARACTERS[n % len(CHARACTERS)]
    form = FORMS[n // len(CHARACTERS) % len(FORMS)]
    scheme = SERVERS[n // len(CHARACTERS) // len(FORMS) % len(SERVERS)]
    secret = (f"{character}{LEFT}{RIGHT}", f"{LEFT}{RIGHT}{character}", f"{LEFT}{character}{RIGHT}")[n % 3]
    return form.replace("{s}", scheme).replace("{}", secret)


def hidden(text: str, address: object) -> None:
    assert LEFT not in text and RIGHT not in text, f"{address!r}: {text}"


@pytest.mark.parametrize("stride", [STRIDE, pytest.param(1, marks=pytest.mark.slow)])
def test_of_a_hundred_thousand_addresses_none_shows_its_password(stride: int) -> None:
    usable, numbers = 0, range(0, ADDRESSES, stride)
    for n in numbers:
        text = made(n)
        at = read(text)
        hidden(repr(at), text)
        hidden(f"{at.shown}{at.before}{at.behind}{at.problems}", text)
        usable += at.password is not None
        if n % 11:
            continue
        for ask in (
            split_password,
            engine_of_url,
            without_password,
            lambda word: named_targets(["sqlite"], [word]),
        ):
            try:
                ask(text)
            except InrushError as error:
                hidden("".join(traceback.format_exception(error)).replace(repr(text), ""), text)
        hidden(shown(text) + masked(f"value {text}"), text)
    assert len(numbers) / 10 < usable < len(numbers), "some can be used, some cannot"


@pytest.mark.parametrize("name", ENGINES)
def test_the_schemes_of_an_engine_are_known_to_the_core(name: str) -> None:
    for scheme in server(name).schemes:
        at = read(f"{scheme}:///d" if not server(name).embedded else f"{scheme}:///folder/file")
        assert not any("no engine speaks" in problem for problem in at.problems), scheme


def test_a_port_that_is_left_out_is_the_usual_one() -> None:
    ports = {
        "postgresql": 5432, "mysql": 3306, "clickhouse": 8123, "influxdb": 8086, "valkey": 6379, "questdb": 8812, "ndb": 1186,
    }  # fmt: skip
    assert {scheme: read(f"{scheme}://h").hosts for scheme in ports} == {
        s: (("h", n),) for s, n in ports.items()
    }


def test_an_address_is_read_as_the_core_connects() -> None:
    at = read("postgresql://me:p%40w@a:1,b/my%20data?connect_timeout=3")
    assert (at.user, at.password, at.hosts) == ("me", "p@w", (("a", 1), ("b", 5432)))
    assert at.shown == "postgresql://me@a:1,b/my%20data?connect_timeout=3"
    assert at.with_database("x y") == "postgresql://me@a:1,b/x%20y?connect_timeout=3"
    assert "p@w" not in repr(at)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgresql://u:S3crLeft/x@h/d", "%2F"),
        ("postgresql://u:S3crLeft?x@h/d", "%3F"),
        ("postgresql://[::1/db", "no closing bracket"),
        ("postgresql://u@h/d?gzip=1", "option gzip is not known"),
        ("mysql://u@h/d?gzip=1", "option gzip is not known"),
        ("clickhouse://u@h/d?gzip=1", "option gzip is not known"),
        ("nosuch://u:S3crLeft@h/d", "no engine speaks nosuch://"),
        ("postgresql://u:\udcff@h/d", "no UTF-8"),
    ],
)
def test_what_cannot_be_read_is_refused_with_exit_code_2_and_what_to_write(url: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        engine_of_url(url)
    assert says in str(refused.value) and refused.value.exit_code == 2
    hidden(str(refused.value), url)


# Through each command, in this process.

SAMPLE = ("#", "/", "?", "@", "%40", "&", "\n", "'", "ä", " ")
#: `{}` is the address.
COMMANDS = (
    "run quickstart {} --scale xs",
    "plan quickstart {} --scale xs",
    "plan {}",
    "load rows.csv --table t --into {}",
    "load rows.csv --table t --shard {} --shard {}",
    "load rows.csv --table t --into={} --create",
    "load {} --table t --into sqlite:///x/y.db",
    "load-server --into {} --listen 127.0.0.1:nope",
    "prove latest --target {}",
    "runs {}",
    "show {}",
    "engines start {}",
    "plan telemetry-quickstart sqlite -P options.sqlite.shards={}",
    "run quickstart --live-push {} sqlite --live-adress x",
    "run quickstart sqlite --fleet {}",
    "nosuch {}",
)


#: Where an address has no scheme, and no password is expected. `{}` is the secret.
ODD = (
    "load rows.csv --table t --server 127.0.0.1:7000?token={}",
    "load rows.csv --table t --server host:7000?a=1&access_token={} --token-file rows.csv",
    "load-server --into sqlite:///x.db --listen 127.0.0.1:0?token={}",
    "run quickstart sqlite --live --live-address 127.0.0.1:0?token={}",
    "run quickstart sqlite --live --live-push 127.0.0.1:1/x?token={} --scale nosuch",
    "run quickstart sqlite --fleet 127.0.0.1:1?Secret={}",
    "run quickstart sqlite -P writers.sessions=127.0.0.1:1/d?password={}",
    "run quickstart 127.0.0.1:1/d?password={}",
    "show 127.0.0.1:1/d?api_key={}",
    "nosuch 127.0.0.1:1/d;pwd={}",
)


@pytest.mark.parametrize("command", ODD)
def test_no_command_says_a_secret_of_an_address_without_a_scheme(
    command: str, place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for character in ("", "&", "@", "\n", "'", "ä"):
        words = [word.replace("{}", f"{LEFT}{character}{RIGHT}") for word in command.split()]
        monkeypatch.setattr(sys, "argv", ["inrush", *words])
        monkeypatch.setattr(sys, "stdout", sys.stdout)
        monkeypatch.setattr(sys, "stderr", sys.stderr)
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code not in (0, None), words
        said = capfd.readouterr()
        hidden(said.out + said.err, words)
    for path in place.rglob("*"):
        hidden(str(path), command)


@pytest.mark.parametrize("command", ["runs", "report x"])
def test_no_command_says_a_secret_of_an_address_in_a_variable(
    command: str, place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("INRUSH_RESULTS", f"postgresql://u:{LEFT}@{RIGHT}@h/d")
    monkeypatch.setattr(sys, "argv", ["inrush", *command.split()])
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    with contextlib.suppress(SystemExit):
        main()
    said = capfd.readouterr()
    assert "postgresql:" in said.out + said.err, "where there are no results"
    hidden(said.out + said.err, [command])


def test_a_text_is_shown_up_to_a_secret_in_it() -> None:
    for text in (
        f"h:7000?token={LEFT}{RIGHT}",
        f"u@h:7000?a=1&Access_Token={LEFT}@{RIGHT}",
        f"x;pwd={RIGHT}",
    ):
        hidden(masked(text), text)
        assert masked(text).endswith("=…")
    assert masked("sort_key=5, key 7, what? tokens = 3") == "sort_key=5, key 7, what? tokens = 3"


def test_an_address_is_named_up_to_a_secret_among_its_options() -> None:
    address = f"postgresql://u@h:5432/d?passfile={RIGHT}"
    shown = io.StringIO()
    Masked(shown, masks(["inrush", "load", "--into", address])).write(f"{address}: there is no table t")
    assert shown.getvalue() == "postgresql://u@h:5432/d?passfile=…: there is no table t"


def test_words_for_a_secret_are_those_of_the_core() -> None:
    source = Path(__file__).parents[2] / "rust" / "engines" / "src" / "engine" / "address.rs"
    (words,) = re.findall(r"const SECRET_WORDS: \[&str; \d+\] = \[(.*)\];", source.read_text())
    for word in re.findall(r'"(\w+)"', words):
        assert SECRET.search(f"h:1?x_{word.upper()}_y=1"), word
    (ours,) = re.findall(r"\(\?:(.*?)\)", SECRET.pattern)
    assert sorted(ours.split("|")) == sorted(re.findall(r'"(\w+)"', words))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that results and loads of commands in this process go to."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "rows.csv").write_text("id,n\n1,2\n")
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_says_or_writes_a_password(
    command: str, place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for n, character in enumerate(SAMPLE):
        for form in (FORMS[n % len(FORMS)], FORMS[0], FORMS[2]):
            address = form.replace("{s}", SERVERS[n % 3]).replace("{}", f"{LEFT}{character}{RIGHT}")
            words = [word.replace("{}", address) for word in command.split()]
            monkeypatch.setattr(sys, "argv", ["inrush", *words])
            monkeypatch.setattr(sys, "stdout", sys.stdout)
            monkeypatch.setattr(sys, "stderr", sys.stderr)
            before = dict(os.environ)
            with pytest.raises(SystemExit) as ended:
                main()
            # What can be planned without its server is planned.
            assert command.startswith("plan") or ended.value.code not in (0, None), words
            assert dict(os.environ) == before
            said = capfd.readouterr()
            hidden(said.out + said.err, words)
    for path in place.rglob("*"):
        hidden(str(path), command)
        if path.is_file():
            hidden(path.read_text(errors="replace"), f"{command} wrote {path}")


# With a server that is there, as processes.


@pytest.fixture
def deaf() -> Iterator[int]:
    """A port that takes a connection, and closes it some seconds later: long enough to look at who asks."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(4096)
                connection.sendall(b"E\0\0\0\x0fSFATAL\0Mno\0\0")

    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1]
    listener.close()


def test_processes_that_a_command_starts_have_no_password_among_their_arguments(
    deaf: int, tmp_path: Path
) -> None:
    (tmp_path / "rows.csv").write_text("id,n\n1,2\n")
    file = f"sqlite:///{tmp_path}/own.db"
    environment = {**os.environ, "PYTHONPATH": str(Path(inrush.__file__).parents[1])}
    url = f"postgresql://u:{LEFT}%23{RIGHT}@127.0.0.1:{deaf}/d"
    for words in (
        ["run", "telemetry-quickstart", file, url, "--scale", "xs"],
        ["load", "rows.csv", "--table", "t", "--create", "--into", url],
    ):
        child = subprocess.Popen(
            [sys.executable, "-m", "inrush.cli", *words],
            cwd=tmp_path, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        while child.poll() is None:
            for line in arguments_below(child.pid):
                hidden(line, words)
            time.sleep(0.01)
        hidden(child.communicate()[0], words)
        assert child.returncode in (1, 2)
    for path in tmp_path.rglob("*"):
        if path.is_file():
            hidden(path.read_text(errors="replace"), path)


def arguments_below(pid: int) -> list[str]:
    """Command lines of a process's children and theirs; its own is what its user typed."""
    found: list[str] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:
            continue
        for child in children:
            try:
                found.append(Path(f"/proc/{child}/cmdline").read_text(errors="replace"))
            except OSError:
                continue
            found += arguments_below(int(child))
    return found


def test_an_address_is_compared_without_its_secret() -> None:
    assert isinstance(read("postgresql://u:S3cr@h/d"), ServerUrl)
    assert "S3cr" not in repr(read("postgresql://u:S3cr@h/d"))


def test_a_statement_that_fails_shows_no_password_of_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    from inrush import _core
    from inrush.load import create
    from inrush.load.call import Call
    from inrush.load.shards import Shards, shards_at

    def refused(self: Shards, target: object, statement: str, limit_s: float = 0.0) -> list[list[object]]:
        raise _core.CoreFailure("statement", f"db: statement failed: near {LEFT}{RIGHT}\n  in: {statement}")

    monkeypatch.setattr(Shards, "ask", refused)
    url = f"postgresql://u:{LEFT}{RIGHT}@127.0.0.1:1/d"
    call = Call((), "t", into="postgresql://u@127.0.0.1:2/d", shards=(url,), key=("id",))
    with pytest.raises(InrushError, match="statement failed") as failed:
        create.coordinate(call, shards_at([url], lambda _: None), [("id", "bigint", True)], lambda _: None)
    hidden("".join(traceback.format_exception(failed.value)), call)


def test_a_server_that_repeats_a_password_is_quoted_without_it() -> None:
    import json

    from inrush import _core

    secret = LEFT + RIGHT
    said = b"SFATAL\0C28P01\0Mwrong: " + secret.encode() + b"\0\0"
    answers = [b"R\0\0\0\x08\0\0\0\x03", b"E" + (len(said) + 4).to_bytes(4, "big") + said]
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                for answer in answers:
                    connection.recv(4096)
                    connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        url = f"postgresql://u:{secret}@127.0.0.1:{listener.getsockname()[1]}/d"
        with pytest.raises(_core.CoreFailure, match="wrong: …") as failed:
            _core.control(json.dumps({"engine": "postgresql", "url": url}), "SELECT 1", 5.0)
    hidden(str(failed.value), url)
