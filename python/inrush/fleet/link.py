"""Calls of a Dask cluster, each within a limit: what is called is a function of ours on a worker, and no task."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from inrush.errors import TargetError

T = TypeVar("T")

#: In a run a worker answers within so long, or is lost, s.
LIMIT_S = 1.6
#: Until a scheduler is connected to; and until it says which workers it has, s.
CONNECT_S = 10.0


class Lost(Exception):
    """A worker, its scheduler or the way to them."""


class Unreached(TargetError):
    """No scheduler answers; it may come yet."""


class Link:
    """One connection to a scheduler, for several threads at once."""

    def __init__(self, address: str, connect_s: float | None = None, certificate: Path | None = None) -> None:
        """Raises TargetError if there is no scheduler.

        certificate: of a fleet on this machine, with its key; None: those of Dask's own configuration."""
        from distributed import Client
        from distributed.comm.core import FatalCommClosedError

        # What a lost worker makes Dask log, is said by us in one line.
        for name in ("distributed", "tornado.application"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self.address = address
        security = None if certificate is None else trusting(certificate)
        if security is None:
            refuse_without_certificates(address)
        try:
            connect: Any = Client
            self.client: Any = connect(
                address, timeout=connect_s or CONNECT_S, set_as_default=False, security=security
            )
        except FatalCommClosedError as e:
            raise TargetError(f"{address}: {cause(e)}; {CERTIFICATES}") from None
        except (OSError, RuntimeError, TypeError, ValueError) as e:
            raise Unreached(
                f"{address}: no scheduler of Dask answers there ({cause(e)}); start one with `dask scheduler`, and workers "
                "with `dask worker`"
            ) from None

    def workers(self) -> Mapping[str, Mapping[str, Any]]:
        """SchedulerAddress -> what the scheduler says of it. Raises Lost."""
        # It is asked when no run goes on: one that is busy with workers that come is not lost.
        with explained(f"the scheduler {self.address}", CONNECT_S):
            found = self.client.sync(self._identity, callback_timeout=CONNECT_S)
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


def trusting(certificate: Path) -> Any:
    """Settings by which Dask shows this certificate and takes no other."""
    from distributed.security import Security

    file, security = str(certificate), cast("Callable[..., Any]", Security)
    return security(require_encryption=True, tls_ca_file=file, tls_client_cert=file, tls_client_key=file)


#: What is to be done where both ends do not speak TLS with each other.
CERTIFICATES = (
    "DASK_DISTRIBUTED__COMM__TLS__CA_FILE, …__CLIENT__CERT and …__CLIENT__KEY name the files of the certificates that the "
    "scheduler and its workers have too (docs/fleet.md)"
)


def refuse_without_certificates(address: str) -> None:
    """Dask says it only when it connects, of a type in its program."""
    from distributed import security

    configured: Any = security.Security
    try:
        ours = configured().get_connection_args("client").get("ssl_context")
    except (OSError, ValueError) as e:
        raise TargetError(f"{address}: the certificates here are not read ({e}); {CERTIFICATES}") from None
    if address.startswith("tls://") and ours is None:
        raise TargetError(f"{address}: no certificates are configured here; {CERTIFICATES}")


def cause(error: BaseException) -> str:
    """The first one: Dask says of all that it waited."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error).splitlines()[0] if str(error) else type(error).__name__


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
