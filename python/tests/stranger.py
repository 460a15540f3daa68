"""Another user of this machine, who tries what can be tried with what a test has started, and has no secret.

`python -m tests.stranger` reads a question from stdin, becomes another user if it is root, and answers on stdout: see `ask`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pickle
import socket
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.strategies import ENVIRONMENT

#: All addresses of loopback are this machine's; what listens at 127.0.0.1 alone is not reached at the second one.
HOSTS = ("127.0.0.1", "127.0.0.2", "::1")
LIMIT_S = 5.0
#: Not `nobody`: root's servers run as that user. No account has this number.
UID = 64_321
#: Whether it is another user: who is not root asks as the same one, and can read the own files.
IS_ANOTHER = os.getuid() == 0


def ask(what: str, **question: Any) -> Any:
    """What the other user got. Needs root to be another one; else it is this one, who is not told the secrets either."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.stranger"], input=json.dumps({"what": what, **question}), text=True,
        env=ENVIRONMENT, capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def can_read(paths: Sequence[Path]) -> set[str]:
    """Those of these files that the other user can read."""
    return set(ask("read", paths=[str(path) for path in paths]))


def read(paths: Sequence[str]) -> dict[str, str]:
    """Path -> what is in it, of those that can be read."""
    found = {}
    for path in paths:
        try:
            found[path] = Path(path).read_bytes().decode(errors="replace")
        except OSError:
            continue
    return found


def http(port: int, paths: Sequence[str], token: str = "") -> dict[str, str]:
    """Host and path -> what a server answers there."""
    found = {}
    for host in HOSTS:
        for path in paths:
            with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as way:
                way.settimeout(LIMIT_S)
                try:
                    way.connect((host, port))
                except OSError:
                    continue
                more = f"Authorization: Bearer {token}\r\n" if token else ""
                way.sendall(
                    f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n".encode()
                )
                said = b""
                try:
                    while (part := way.recv(65536)) and len(said) < 1_000_000:
                        said += part
                except OSError:
                    pass  # what came until then counts
                found[f"{host} {path}"] = said.decode(errors="replace")
    return found


def dask(ports: Sequence[int], certificate: str = "") -> list[str]:
    """Ways by which a node of Dask has run a function for us, and as whom. certificate: with its key, PEM."""
    from inrush.machine.secret_files import self_signed

    ways: Mapping[str, ssl.SSLContext | None] = {
        "without TLS": None,
        "without a certificate": context(""),
        "with a certificate of our own": context("".join(self_signed(["127.0.0.1"]))),
        **({"with theirs": context(certificate)} if certificate else {}),
    }
    # What Dask imports when it first connects is there then.
    asyncio.run(run_there("127.0.0.1", 1, ways["without a certificate"]))
    become_another()
    there = [(host, port) for host in HOSTS for port in ports if takes_connections(host, port)]
    tried = [(*at, way) for at in there for way in ways]

    async def everywhere() -> list[int | None]:
        return await asyncio.gather(*(run_there(host, port, ways[way]) for host, port, way in tried))

    users = zip(tried, asyncio.run(everywhere()), strict=True)
    return [
        f"{host}:{port} {way}: ran as user {user}" for (host, port, way), user in users if user is not None
    ]


def takes_connections(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), LIMIT_S):
            return True
    except OSError:
        return False


def context(pem: str) -> ssl.SSLContext:
    """We take every certificate of theirs."""
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    found.check_hostname, found.verify_mode = False, ssl.CERT_NONE
    if pem:
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(pem)
            file.flush()
            found.load_cert_chain(file.name)
    return found


async def run_there(host: str, port: int, tls: ssl.SSLContext | None) -> int | None:
    """As whom a function of ours ran; None: it did not. A worker has another word for it than a scheduler."""
    from distributed.core import rpc
    from distributed.protocol.serialize import Serialized, deserialize

    address = f"{'tls' if tls else 'tcp'}://{f'[{host}]' if ':' in host else host}:{port}"
    arguments = {"ssl_context": tls} if tls else {}
    function: Any = rpc
    there = function(address, connection_args=arguments, timeout=LIMIT_S)
    try:
        for word in ("run", "run_function"):
            with contextlib.suppress(Exception):  # whatever it is refused with
                asked = getattr(there, word)(function=pickle.dumps(os.getuid))
                result = (await asyncio.wait_for(asked, LIMIT_S))["result"]
                if isinstance(result, Serialized):
                    result = deserialize(result.header, result.frames)
                return int(getattr(result, "data", result))
        return None
    finally:
        await there.close_rpc()


def load_server(address: str, token: str = "") -> str:
    """What a load server says of its shards; empty: nothing."""
    from inrush import _core
    from inrush.plan import ends

    link = json.dumps(ends.link_plan(address, token or "0123456789abcdef", None))
    become_another()
    try:
        return _core.ask_load_server(link, json.dumps({"ask": "targets"}))
    except _core.CoreFailure:
        return ""


def become_another() -> None:
    """Last of all that a question needs: what is imported may lie where only root can read."""
    if IS_ANOTHER:
        os.setgroups([])
        os.setgid(UID)
        os.setuid(UID)


def main() -> None:
    question = json.loads(sys.stdin.read())
    asked: Any = {"dask": dask, "http": http, "load_server": load_server, "read": read}[question.pop("what")]
    if asked in (http, read):
        become_another()
    print(json.dumps(asked(**question)))


if __name__ == "__main__":
    main()
