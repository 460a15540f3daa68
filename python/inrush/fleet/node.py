"""A scheduler or a worker of a fleet on this machine: Dask's own program."""

from __future__ import annotations

from inrush.agent.parent import Parent
from inrush.border.words import Document


def work(document: Document, parent: Parent) -> int:
    """Of its arguments the first says which of the two."""
    role, *arguments = document["arguments"]
    if role == "scheduler":
        from distributed.cli import dask_scheduler

        dask_scheduler.main(arguments)
    else:
        from distributed.cli import dask_worker

        dask_worker.main(arguments)
    return 0
