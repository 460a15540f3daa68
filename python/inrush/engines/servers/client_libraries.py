"""Client libraries that a process has to load before others."""

from __future__ import annotations

import contextlib
import ctypes
import os
from pathlib import Path

from inrush.engines.servers.life import cache_folder

#: The library that the core loads, and the variable that names another one. Twin of rust/engines/src/engine/ndb/library.rs.
NDB, NDB_NAMED = "libinrush_ndb.so", "INRUSH_NDB_LIBRARY"


def load_before_others() -> None:
    """That of NDB wants libstdc++'s variables of threads at a fixed place. Once pyarrow has loaded libstdc++, the loader says
    "cannot allocate memory in static TLS block", and the server could not be asked which study holds it.

    Where it is not fetched, or is of another build, nothing is loaded: the run that wants it says why it cannot.
    """
    named = os.environ.get(NDB_NAMED, "")
    path = named or str(cache_folder() / "ndb" / NDB)
    if Path(path).exists():
        with contextlib.suppress(OSError):
            ctypes.CDLL(path)
