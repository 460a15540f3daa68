"""Users of this machine."""

from __future__ import annotations

import os

#: The user that ran `sudo`, whose folders are named on purpose.
SUDO = "SUDO_UID"


def trusted() -> set[int]:
    """Ids of those whose folders are as good as our own: root, ourselves, and who became root by `sudo`."""
    known = {0, os.geteuid()}
    if os.geteuid() == 0 and (sudo := os.environ.get(SUDO, "")).isdigit():
        known.add(int(sudo))
    return known
