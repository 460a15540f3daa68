"""Which of an engine's counters say how many pages were read and asked for, and how large a page is. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inrush.engines.base.pages import bytes_of

#: What the kernel reads from a device at least.
KERNEL_PAGE_BYTES = 4096


@dataclass(frozen=True)
class PageCounters:
    """Names as the twin's probe of counters gives them; the counters of one kind are added."""

    #: Read from the kernel or the device, because the engine did not have them; empty: it does not count them, and the
    #: bytes that its process read from the device are taken.
    read: tuple[str, ...] = ()
    #: Asked for, in memory or not; empty: it does not count them.
    asked: tuple[str, ...] = ()
    #: They count bytes, not pages.
    in_bytes: bool = False
    #: They begin with 0 when the server starts.
    begin_anew: bool = True
    #: Setting of a page's size, and that size as shipped, bytes.
    page: tuple[str, int] = ("", KERNEL_PAGE_BYTES)

    def document(self, settings: Mapping[str, str], embedded: bool = False) -> dict[str, Any]:
        """As `run.json` keeps it. settings: those that a run read back. embedded: it reads in the client's process."""
        name, shipped = self.page
        return {
            "read": list(self.read),
            "asked": list(self.asked),
            "in_bytes": self.in_bytes,
            "embedded": embedded,
            "begin_anew": self.begin_anew,
            "page_bytes": bytes_of(settings.get(name), shipped),
        }
