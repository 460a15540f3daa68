"""A scheduler or a worker of a fleet on this machine: Dask's own program, which ends with its parent.

`python -m inrush.fleet.node scheduler|worker WORDS…` (inrush run --fleet local:N starts it).
"""

from __future__ import annotations

import sys

from inrush.agent.worker import die_with_parent


def main(arguments: list[str]) -> None:
    die_with_parent()
    if arguments[0] == "scheduler":
        from distributed.cli import dask_scheduler

        dask_scheduler.main(arguments[1:])
    else:
        from distributed.cli import dask_worker

        dask_worker.main(arguments[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
