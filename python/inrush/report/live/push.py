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
from urllib.parse import quote
from urllib.request import Request, urlopen

from inrush.border import address
from inrush.errors import UsageError
from inrush.report.live.view import View

EVERY_S = 10.0
LIMIT_S = 5.0
JOB = "inrush"


def push_url(gateway: str, results: str) -> tuple[str, dict[str, str]]:
    """Address of the group of one study, and headers. User and password of the URL are sent as such, and not in the address.

    Raises UsageError for what is no address of HTTP.
    """
    at = address.read(gateway if address.is_url(gateway) else f"http://{gateway}")
    if at.problems or at.scheme not in ("http", "https") or not at.host:
        shown = at.shown if at.problems else "the address"  # a gateway's path may be a secret, too
        raise UsageError(f"--live-push {shown}: write the gateway's address, as http://gateway:9091")
    group = f"/metrics/job/{JOB}/instance/{quote(socket.gethostname(), safe='')}/results/{quote(results, safe='')}"
    (name, port), path = at.hosts[0], quote(at.database.rstrip("/"))
    host = f"[{name}]" if ":" in name else name
    url = f"{at.scheme}://{host}{f':{port}' if port else ''}{f'/{path}' if path else ''}{group}"
    if not at.user and at.password is None:
        return url, {}
    secret = base64.b64encode(f"{at.user}:{at.password or ''}".encode()).decode()
    return url, {"Authorization": f"Basic {secret}"}


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
