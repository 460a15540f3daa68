"""What engines with B-trees call a page and the memory that holds pages, in the settings that a run records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

UNITS = {"": 1, "B": 1, "kB": 1024, "KB": 1024, "MB": 1024**2, "GB": 1024**3}


@dataclass(frozen=True)
class Pages:
    """Of one engine. Settings that a run does not have are as the engine was shipped: only changed ones are recorded."""

    #: Setting of a page's size, and that size as shipped, bytes.
    page: str
    page_bytes: int
    #: Setting of the memory for pages, and that size as shipped, bytes.
    cache: str
    cache_bytes: int
    #: Setting with which the engine goes round the kernel's cache, and the beginning of its value.
    direct: tuple[str, str] | None = None
    #: A negative size of the memory is in KiB, a positive one in pages.
    counts_pages: bool = False

    def page_of(self, settings: Mapping[str, str]) -> int:
        return bytes_of(settings.get(self.page), self.page_bytes)

    def cache_of(self, settings: Mapping[str, str]) -> int:
        if not self.counts_pages:
            return bytes_of(settings.get(self.cache), self.cache_bytes)
        held = settings.get(self.cache, "")
        if not re.fullmatch(r"-?\d+", held):
            return self.cache_bytes
        return -int(held) * 1024 if held.startswith("-") else int(held) * self.page_of(settings)

    def goes_round_kernel(self, settings: Mapping[str, str]) -> bool:
        return self.direct is not None and settings.get(self.direct[0], "").startswith(self.direct[1])


def bytes_of(value: str | None, otherwise: int) -> int:
    """`16384 8kB`, `134217728`, `128 MB`; `otherwise` for what is absent or no size."""
    found = re.fullmatch(r"(\d+)\s*(\d*)\s*([kKMG]?B)?", value or "")
    if not found:
        return otherwise
    return int(found[1]) * int(found[2] or 1) * UNITS[found[3] or ""]
