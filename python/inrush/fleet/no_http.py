"""Dask's nodes serve pages about themselves over HTTP to everyone. A node that loads this module does not.

Dask has no option for it: `--no-dashboard` leaves out the plots alone. Its settings `distributed.scheduler.preload` and
`distributed.worker.preload` name this module; both load it before they would listen.
"""

from __future__ import annotations

from typing import Any

from distributed.node import ServerNode

#: An AttributeError ends the node where a release of Dask calls it otherwise: it would listen in spite of this.
_REPLACED = ServerNode.start_http_server


def start_nothing(_node: ServerNode, *_words: Any, **_options: Any) -> None:
    pass


setattr(ServerNode, _REPLACED.__name__, start_nothing)
