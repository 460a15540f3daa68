"""A load server on another host, from the client's side: the way there, and shards that only it can reach."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from inrush.border import plan as border
from inrush.border.load import LinkPlan, Scan
from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.errors import Problem, UsageError, from_core, problems_of
from inrush.load.call import Call
from inrush.load.shards import LOOK_S, loading_of
from inrush.plan import ends

#: A shorter token could be guessed.
TOKEN_CHARACTERS = 16


def remote_problems(call: Call) -> Iterator[Problem]:
    """What a load by a load server cannot say, or must."""
    if call.into or call.shards:
        yield Problem.sentence(
            "--into and --shard: the load server says where rows go; leave them out with --server"
        )
    if call.hash_threads:
        yield Problem.sentence("--hash-threads: the load server has its own; give it to `inrush load-server`")
    yield from problems_of(partial(link, str(call.server), call.token_file, call.ca, call.fingerprint))


def link(address: str, token_file: str | None, ca: str | None, fingerprint: str | None) -> LinkPlan:
    """Raises UsageError where the token would travel in clear."""
    if token_file is None:
        raise UsageError(
            f"--server {address}: --token-file FILE must hold the token that it was started with"
        )
    if ca is not None and fingerprint is not None:
        raise UsageError("--ca and --fingerprint: one of them says which certificate is trusted")
    if ca is None and fingerprint is None and not is_loopback(host_of("--server", address)):
        raise UsageError(
            f"--server {address}: is not on this machine, so the way there needs TLS: --ca FILE or --fingerprint SHA256"
        )
    tls = {"ca": ca} if ca is not None else {"fingerprint": fingerprint} if fingerprint is not None else None
    return ends.link_plan(address, read_token(Path(token_file)), tls)


def read_token(path: Path) -> str:
    try:
        token = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--token-file {path}: cannot be read ({error})") from error
    if len(token) < TOKEN_CHARACTERS or not token.isprintable():
        raise UsageError(
            f"--token-file {path}: a token has {TOKEN_CHARACTERS} printable characters at least; "
            "`openssl rand -hex 16` makes one"
        )
    return token


def host_of(option: str, address: str) -> str:
    """`127.0.0.1:7000` -> `127.0.0.1`; `[::1]:7000` -> `::1`."""
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdigit():
        raise UsageError(f"{option} {address}: it is HOST:PORT")
    return host.removeprefix("[").removesuffix("]")


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass
class RemoteShards:
    """Stands for `run.Shards` where only the load server reaches them: every statement goes through it."""

    link: LinkPlan
    engine: str = field(init=False)
    targets: list[Target] = field(init=False)
    coordinator: str | None = field(init=False)

    def __post_init__(self) -> None:
        serves = self._asked({"ask": "targets"})
        self.engine = serves["engine"]
        self.coordinator = serves["coordinator"]
        self.twin = server(self.engine)
        self.loading = loading_of(self.twin)
        self.targets = [Target(self.engine, url) for url in serves["shards"]]
        #: The load server has them.
        self.secrets: dict[str, str] = {}

    def documents(self) -> list[tuple[str, border.Target]]:
        """The load server puts its own targets in their place: it knows their passwords."""
        return [(t.url, {"engine": self.engine, "url": t.url, "options": {}}) for t in self.targets]

    def ask(self, target: border.Target, statement: str, limit_s: float = LOOK_S) -> list[list[Any]]:
        """Rows of one statement. Raises CoreFailure of the core."""
        urls = [t.url for t in self.targets]
        return self._statement(urls.index(target["url"]), statement, limit_s)

    def scan(self, target: border.Target, scan: Scan) -> dict[str, Any]:
        """As of `Shards`; the load server reads."""
        from inrush import _core

        shard = [t.url for t in self.targets].index(target["url"])
        question = {"ask": "scan", "shard": shard, "scan": scan}
        found: dict[str, Any] = json.loads(_core.ask_load_server(json.dumps(self.link), json.dumps(question)))
        return found

    def held_open(self) -> AbstractContextManager[None]:
        """As of `Shards`; the load server opens for each statement."""
        return nullcontext()

    def ask_coordinator(self, statement: str) -> list[list[Any]]:
        return self._statement(None, statement)

    def _statement(self, shard: int | None, statement: str, limit_s: float = LOOK_S) -> list[list[Any]]:
        from inrush import _core

        question = {"ask": "statement", "shard": shard, "statement": statement, "limit_s": limit_s}
        rows: list[list[Any]] = json.loads(_core.ask_load_server(json.dumps(self.link), json.dumps(question)))
        return rows

    def _asked(self, question: dict[str, Any]) -> dict[str, Any]:
        from inrush import _core

        try:
            found: dict[str, Any] = json.loads(
                _core.ask_load_server(json.dumps(self.link), json.dumps(question))
            )
            return found
        except _core.CoreFailure as failure:
            raise from_core(*failure.args) from None
