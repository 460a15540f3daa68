"""Tests beside a test take processors from its runs, which makes their figures INVALID, as it has to. Here is what keeps that
out of tests of anything else.

`python -m tests.undisturbed run …` is `inrush run …` that leaves out what other processes took.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import pytest

from inrush import cli
from inrush.stats.stalls import Stalls


@contextlib.contextmanager
def first_served() -> Iterator[None]:
    """What is started meanwhile gets the processors before other programs of this machine; root alone may give it that."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    if os.geteuid() != 0:
        yield
        return
    os.setpriority(os.PRIO_PROCESS, 0, -20)
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, before)


def leave_others_out(patch: pytest.MonkeyPatch) -> None:
    """Runs are judged as if no other process had taken a processor from the client."""
    patch.setattr("inrush.stats.starved.others_of_client", lambda run: (0.0, 0.0))


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Runs are served first, and judged as if no other process had taken what client or server needed, nor stopped one."""
    with first_served(), pytest.MonkeyPatch.context() as patch:
        leave_others_out(patch)
        for counted in ("known_stalls", "told_stalls"):
            patch.setattr(f"inrush.stats.starved.{counted}", lambda run: Stalls(0, 0.0))
        for user in ("guards.lacking", "analysis.deciding", "analysis.lack"):
            try:
                patch.setattr(f"inrush.{user}.lack_of", lambda run: None)
            except ImportError as e:  # a test that keeps a package from being there judges nothing
                if "halted" not in str(e):
                    raise
        yield


if __name__ == "__main__":
    with undisturbed():
        cli.main()
