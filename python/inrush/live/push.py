"""Metrics sent to a Prometheus Pushgateway while a study runs, for networks in which nothing may ask this machine.

A thread of the process that directs the study sends them. A gateway that does not answer ends nothing: it is reported
once, and tried again.
"""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Callable
from http.client import HTTPException
from urllib.parse import quote, urlsplit, urlunsplit
from urllib.request import Request, urlopen

from inrush.errors import UsageError
from inrush.live.view import View

EVERY_S = 10.0
LIMIT_S = 5.0
JOB = "inrush"


def push_url(gateway: str, results: str) -> tuple[str, dict[str, str]]:
    """Address of the group of one study, and headers. User and password of the URL are sent as such, and not in the address.

    Raises UsageError for what is no address of HTTP.
    """
    try:
        parts = urlsplit(gateway if "://" in gateway else f"http://{gateway}")
        port = parts.port
        known = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:  # a port, or an address in brackets, that cannot be
        known = False
    if not known:
        shown = gateway.rpartition("@")[2]  # what is before it is a secret
        raise UsageError(f"--live-push {shown}: write the gateway's address, as http://gateway:9091")
    group = f"/metrics/job/{JOB}/instance/{quote(socket.gethostname(), safe='')}/results/{quote(results, safe='')}"
    name = str(parts.hostname)
    host = f"[{name}]" if ":" in name else name
    at = urlunsplit(
        (parts.scheme, f"{host}:{port}" if port else host, parts.path.rstrip("/") + group, "", "")
    )
    if parts.username is None:
        return at, {}
    secret = base64.b64encode(f"{parts.username}:{parts.password or ''}".encode()).decode()
    return at, {"Authorization": f"Basic {secret}"}


class Pusher:
    """Sends from its making on until `end`, which sends the last state."""

    def __init__(self, view: View, gateway: str, note: Callable[[str], None]) -> None:
        self.view, self.note = view, note
        self.url, self.headers = push_url(gateway, view.folder.path.name)
        self._failed = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="push metrics", daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(EVERY_S):
            self.push()
        self.push()

    def push(self) -> None:
        """What the group held before is replaced."""
        kind, body = self.view.metrics("")
        request = Request(self.url, body, {"Content-Type": kind, **self.headers}, method="PUT")
        try:
            with urlopen(request, timeout=LIMIT_S):
                self._failed = False
        except (OSError, HTTPException) as e:  # HTTPException: what answers does not speak HTTP
            if not self._failed:
                why = str(getattr(e, "reason", e)).strip() or type(e).__name__
                self.note(f"metrics were not pushed to {self.url}: {why}; the study goes on, and so do tries")
            self._failed = True
