"""`inrush load-server`: its address and how to reach it on stdout, what happens on stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from inrush.commands.printing import say, show, show_json

if TYPE_CHECKING:
    from inrush.load.serve import ServerAddress, Serving


def load_server(call: Serving, as_json: bool) -> int:
    """The exit code: 0 once it was asked to end."""
    from inrush.load.serve import serve
    from inrush.results.store import Root

    Root().refuse_unwritable()

    def ready(shown: ServerAddress) -> None:
        if as_json:
            show_json(shown.document())
        else:
            show(shown.lines())
        sys.stdout.flush()

    serve(call, Root().loads_path / "load-server", say, ready)
    return 0
