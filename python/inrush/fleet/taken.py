"""Which workers of a Dask cluster a run takes, and what each says of itself."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from inrush.errors import TargetError
from inrush.fleet import checks, remote
from inrush.fleet.link import Link, Lost

#: Seconds of CPU time that a look at a core's rate takes.
RATE_S = 0.1
#: Of a core that looks slow.
LOOKS_AGAIN = 4


def looked_at(
    link: Link,
    wanted: int,
    names: Sequence[str] = (),
    shown: Sequence[str] = (),
    among: Sequence[str] = (),
    watchers: Sequence[str] = (),
) -> tuple[list[str], dict[str, Mapping[str, Any]], dict[str, float]]:
    """Workers that a run takes, what each says of itself, and its core's rate. Raises TargetError where they are not alike.

    among: those that the study began with, the first ones first, whatever others have come since; (): as `checks.chosen`.
    watchers: they connect to no server and send nothing, so that neither passwords nor their cores matter.
    """
    with refused():
        there = link.workers()
        if gone := [address for address in (*among[:wanted], *watchers) if address not in there]:
            raise TargetError(
                f"{link.address}: the study began with {', '.join(gone)}, which is gone; its other runs are made on the workers "
                "that are there when it is resumed"
            )
        workers = [*(among or checks.chosen(there, wanted))][:wanted]
        if len(workers) < wanted:
            raise TargetError(
                f"{link.address}: has {len(workers)} workers, and a run of the study takes {wanted}, one for each client "
                "process; start more, or give `clients` fewer"
            )
        every = [*workers, *watchers]
        said = on_all(lambda w: link.call(w, 10.0, remote.facts, names, shown), every)
        facts: dict[str, Mapping[str, Any]] = dict(zip(every, said, strict=True))
        of_ends = {worker: facts[worker] for worker in workers}
        ours = remote.facts((), shown)
        wrong = checks.unequal(facts, ours) or checks.readable(facts)
        wrong = wrong or checks.lacking(of_ends) or checks.other_variables(of_ends, ours)
        if wrong:
            raise TargetError("\n".join(wrong))
        # One after the other: several workers of one host would take each other's cores.
        rates = {worker: rate(link, worker) for worker in workers}
        for _ in range(LOOKS_AGAIN):
            # What else a machine does takes from a look; a core that is slow is so each time.
            for worker in checks.slower(rates):
                rates[worker] = max(rates[worker], rate(link, worker))
        if wrong := checks.slow(rates, facts):
            raise TargetError("\n".join(wrong))
    return every, facts, rates


def rate(link: Link, worker: str) -> float:
    return float(link.call(worker, 30.0, remote.rate, RATE_S))


@contextlib.contextmanager
def refused() -> Any:
    try:
        yield
    except Lost as e:
        raise TargetError(str(e)) from None


def on_all(function: Any, workers: Sequence[str], at_once: int = 0) -> list[Any]:
    """So many at once; 0: all. Raises the first Lost."""
    with ThreadPoolExecutor(max_workers=max(1, at_once or len(workers))) as pool:
        return [*pool.map(function, workers)]
