"""The view of a study while it runs, opened where it is wanted: on a terminal, as a page, or both."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inrush.extras import need
from inrush.report.live.access import Access, Address, access, listening_socket, read_address

if TYPE_CHECKING:
    import socket
    from pathlib import Path

    from inrush.plan.planned import PlannedRun
    from inrush.report.live.push import Pusher
    from inrush.report.live.server import LiveServer
    from inrush.report.live.view import View

REPORT = "report.html"
INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class PageOptions:
    """A page, as the command line asks for it; refused before anything is planned."""

    address: Address
    access: Access
    socket: socket.socket
    #: The page is served until Ctrl-C, with the report on it; not where none was written.
    stay: bool = False
    #: Address of a gateway that metrics are pushed to.
    push: str | None = None

    @property
    def url(self) -> str:
        """As it is printed: the one who reads it may see the page."""
        return self.address.url(self.socket.getsockname()[1]) + self.access.path()


def wanted(address: str | None, stay: bool = False, push: str | None = None) -> PageOptions:
    """Raises UsageError for an address or a token that will not do, and for packages that are not installed."""
    from inrush.report.live.push import push_url

    need("--live", "live", "report")
    at = read_address(address)
    if push is not None:
        push_url(push, "")
    return PageOptions(at, access(at), listening_socket(at), stay, push)


def replanned(listener: object, runs: Sequence[PlannedRun]) -> None:
    """The runs of a study that was planned anew, for a view of it."""
    from inrush.report.live.view import View

    if isinstance(listener, View):
        listener.plan(runs)


class LivePage:
    """Serves a view from `open` on, until the study has ended."""

    def __init__(self, of: PageOptions) -> None:
        self.of = of
        self.view: View | None = None
        self.server: LiveServer | None = None
        self.pusher: Pusher | None = None
        #: Before this study went on: one of an earlier try says nothing of it.
        self._report_before: tuple[int, int] | None = None

    def open(self, view: View) -> None:
        from inrush.report.draw import script, themes
        from inrush.report.live.charts import specs
        from inrush.report.live.push import Pusher
        from inrush.report.live.server import LiveServer

        drawn = json.dumps({"specs": specs(), "themes": themes()})
        self.view = view
        self._report_before = written(view.folder.path / REPORT)
        # The bundle is made now: it takes seconds of a processor where it is not cached, and no run has begun.
        self.server = LiveServer(view, self.of.address, self.of.access, self.of.socket, script(), drawn)
        if self.of.push is not None:
            self.pusher = Pusher(view, self.of.push, view.note)

    def close(self) -> None:
        if self.server is None or self.view is None:
            self.of.socket.close()
            return
        folder = self.view.folder
        status = str(folder.doc.get("status", INTERRUPTED))
        self.view.finished(INTERRUPTED if status == "running" else status)
        if self.pusher is not None:
            self.pusher.end()
        report = folder.path / REPORT
        # Without a report something went wrong: the command ends, and says it.
        is_new = written(report) not in (None, self._report_before)
        self.server.end(report if is_new else None, self.of.stay and is_new)


def written(file: Path) -> tuple[int, int] | None:
    """What changes when it is written anew; None: there is none."""
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns


@contextlib.contextmanager
def page(of: PageOptions | None) -> Iterator[LivePage | None]:
    """Of a study to come; what is left of it is served once more when the block is left."""
    if of is None:
        yield None
        return
    found = LivePage(of)
    try:
        yield found
    finally:
        found.close()
