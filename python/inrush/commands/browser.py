"""A report in a browser of this machine."""

from __future__ import annotations

import os
from pathlib import Path

from inrush.commands.printing import say

#: One of these is set where a browser has a screen to open on, or was chosen.
SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


def open_page(path: Path) -> None:
    """Opens a page; prints its path where there is no browser. A text browser would take the terminal."""
    import webbrowser

    if any(os.environ.get(name) for name in SCREENS):
        try:
            if webbrowser.open(path.absolute().as_uri()):
                return
        except webbrowser.Error:
            pass
    say(f"no browser to open it with; the page is {path.absolute()}")
