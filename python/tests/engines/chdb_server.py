"""ClickHouse's HTTP interface in front of chdb: the engine of today's server, where only servers of 2018 can be fetched.

A program of its own, for a Python that has `chdb-core` (`make chdb`), never inrush's own: `python chdb_server.py FOLDER
PORT`. SQL, types, formats, settings and system tables are the engine's. HTTP is made here, after the server's source:
an answer begins when a buffer of it is full; an exception before that has a status of its own, one behind it breaks the
answer off. What is not here: users and passwords, TLS, and `KILL QUERY` by id, because chdb names queries itself.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import chdb  # type: ignore[import-not-found, unused-ignore]
from chdb.state import sqlitelike  # type: ignore[import-not-found, unused-ignore]

#: Bytes of an answer that the server holds back before it begins to send: DBMS_DEFAULT_BUFFER_SIZE.
HELD_BYTES = 1 << 20
INSERT = re.compile(r"(?P<text>\s*INSERT\s.*)\sFORMAT\s+(?P<format>\w+)\s*", re.IGNORECASE | re.DOTALL)
READS = re.compile(r"\s*(SELECT|WITH|SHOW|DESCRIBE|EXPLAIN)\b", re.IGNORECASE)
CODE = re.compile(r"Code: (\d+)\. DB::Exception: ")
NAME = re.compile(r"\w+")
#: exceptionCodeToHTTPStatus.cpp; all others are 500.
STATUS = {
    **dict.fromkeys((6, 26, 27, 38, 41, 42, 43, 44, 53, 62, 70, 72, 115, 117), 400),
    **dict.fromkeys((46, 47, 50, 60, 81, 16), 404),
    161: 413,
}
TAG = "chdbserverexcept"


class Failed(Exception):
    """An exception of the engine, as its own text."""

    def __init__(self, error: Exception) -> None:
        text = str(error)
        found = CODE.search(text)
        self.code = int(found[1]) if found else 1000
        self.text = text[found.start() :] if found else f"Code: 1000. DB::Exception: {text}"
        super().__init__(self.text)


class Connections:
    """Connections to the engine by what was set on them, because a new one takes longer than a small statement."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.idle: defaultdict[tuple[str, ...], list[Any]] = defaultdict(list)

    @contextlib.contextmanager
    def one(self, settings: dict[str, str], database: str) -> Iterator[Any]:
        """For one request. One that failed is not used again."""
        set_to = (database, *(part for name, value in sorted(settings.items()) for part in (name, value)))
        idle = self.idle[set_to]
        try:
            connection = idle.pop()
        except IndexError:
            connection = sqlitelike.connect(self.folder)
            prepare(connection, settings, database)
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        idle.append(connection)


class Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    connections: Connections

    def do_GET(self) -> None:
        if urlsplit(self.path).path == "/ping":
            self.whole(200, b"Ok.\n")
        else:
            self.do_POST()

    def do_POST(self) -> None:
        body = self.body()
        asked = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        wanted = {name: asked.pop(name, "") for name in ("query", "database", "default_format", "query_id")}
        begun = False
        try:
            with self.connections.one(asked, wanted["database"]) as connection:
                held = bytearray()
                for piece in answer(connection, wanted["query"], body, wanted["default_format"]):
                    held += piece
                    if len(held) >= HELD_BYTES:
                        if not begun:
                            self.begin()
                        begun = True
                        self.chunk(held)
                        held.clear()
        except Exception as error:
            self.fail(Failed(error), begun)
            return
        if begun:
            self.chunk(held)
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.whole(200, held)

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        pieces = []
        while size := int(self.rfile.readline(), 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def whole(self, status: int, body: bytes | bytearray, code: int = 0) -> None:
        self.send_response(status)
        if code:
            self.send_header("X-ClickHouse-Exception-Code", str(code))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def begin(self) -> None:
        self.send_response(200)
        self.send_header("X-ClickHouse-Exception-Tag", TAG)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, piece: bytes | bytearray) -> None:
        if piece:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))

    def fail(self, failed: Failed, begun: bool) -> None:
        text = failed.text.rstrip("\n") + "\n"
        if not begun:
            self.whole(STATUS.get(failed.code, 500), text.encode(), failed.code)
            return
        # WriteBufferFromHTTPServerResponse::cancelWithException: its last chunk is no end, and the connection is closed.
        size = len(text.encode())
        self.chunk(f"\r\n__exception__\r\n{TAG}\r\n{text}{size} {TAG}\r\n__exception__\r\n".encode())
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        pass


def prepare(connection: Any, settings: dict[str, str], database: str) -> None:
    for name in settings:
        if not NAME.fullmatch(name):
            raise ValueError(f"{name} is no setting")
    if settings:
        connection.query("SET " + ", ".join(f"{name} = {literal(v)}" for name, v in settings.items()))
    if database:
        connection.query(f"USE `{database}`")


def answer(connection: Any, query: str, body: bytes, format: str) -> Iterator[bytes]:
    """The pieces of what comes back; nothing of an INSERT."""
    if rows := INSERT.fullmatch(query):
        with connection.send_insert(rows["text"], rows["format"]) as insert:
            insert.append(body)
            insert.finish()
        return
    text = query + body.decode()
    if not READS.match(text):
        yield connection.query(text, format or "TabSeparated").bytes()
        return
    with connection.send_query(text, format or "TabSeparated") as pieces:
        for piece in pieces:
            yield piece.bytes()


def literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def main() -> None:
    folder, port = sys.argv[1:]
    # The engine ends with its last connection, and this one stays.
    engine = sqlitelike.connect(folder)
    Request.connections = Connections(folder)
    server = ThreadingHTTPServer(("127.0.0.1", int(port)), Request)
    server.daemon_threads = True
    print(f"chdb {chdb.chdb_version}, engine {engine.query('SELECT version()')}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
