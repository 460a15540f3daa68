"""Programs of Python that inrush starts, each in a process of its own."""

from __future__ import annotations

import sys

#: As `python -m MODULE`, which takes modules from the current folder before its own: another user may have put them there.
#: Python 3.10 has no option that leaves that folder out and nothing else.
START = (
    "import sys; sys.path = [p for p in sys.path if p]; import runpy; "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)


def program(module: str) -> tuple[str, ...]:
    """The words that start a module; those of its own follow."""
    return (sys.executable, "-c", START, module)
