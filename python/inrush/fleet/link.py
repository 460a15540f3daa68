"""Calls of a Dask cluster, each within a limit: what is called is a function of ours on a worker, and no task."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from inrush.errors import TargetError

T = TypeVar("T")

#: A worker answers within so long, or is lost, s.
LIMIT_S = 1.6
#: Until a scheduler is connected to; and until its workers are there.
CONNECT_S = 10.0


class Lost(Exception):
    """A worker, its scheduler or the way to them."""


class Link:
    """One connection to a scheduler, for several threads at once."""

    def __init__(self, address: str) -> None:
        """Raises TargetError if there is no scheduler. Certificates are those of Dask's own configuration."""
        from distributed import Client

        # What a lost worker makes Dask log, is said by us in one line.
        for name in ("distributed", "tornado.application"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self.address = address
        try:
            connect: Any = Client
            self.client: Any = connect(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, TypeError, ValueError) as e:
            reason = str(e).splitlines()[0] if str(e) else type(e).__name__
            raise TargetError(
                f"{address}: no scheduler of Dask answers there ({reason}); start one with `dask scheduler`, and workers "
                "with `dask worker`"
            ) from None

    def workers(self) -> Mapping[str, Mapping[str, Any]]:
        """SchedulerAddress -> what the scheduler says of it. Raises Lost."""
        with explained(f"the scheduler {self.address}", LIMIT_S):
            found = self.client.sync(self._identity, callback_timeout=LIMIT_S)
            workers: Mapping[str, Mapping[str, Any]] = found["workers"]
            return workers

    async def _identity(self) -> Any:
        return await self.client.scheduler.identity(n_workers=-1)

    def call(self, worker: str, limit_s: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """What the function returns there. Raises Lost, also when it raised: an exception of another host may hold anything."""
        with explained(f"worker {worker}", limit_s):
            return self.client.sync(self._call, worker, function, arguments, callback_timeout=limit_s)

    async def _call(self, worker: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        return (await self.client.run(function, *arguments, workers=[worker]))[worker]

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.client.close(timeout=1.0)


@contextlib.contextmanager
def explained(whom: str, limit_s: float) -> Iterator[None]:
    from distributed.comm.core import CommClosedError

    try:
        yield
    except (TimeoutError, CommClosedError, OSError) as e:
        # Dask says both by the same classes: it waited too long, or the connection is closed.
        said = str(e).splitlines()[0][:200] if str(e) else ""
        timed = isinstance(e, TimeoutError) or "imed out" in said
        raise Lost(
            f"{whom} gave no answer for {limit_s:g} s" if timed else f"{whom} is gone ({type(e).__name__})"
        ) from None
    except Exception as e:
        raise Lost(f"{whom} failed: {type(e).__name__}") from None
