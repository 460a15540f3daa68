"""The fleet of a study: there before its first run, looked at, and gone with its end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence

from inrush.border.pipeline import AnyPlan, ShardServer, hosts_of, shards_of
from inrush.border.words import FleetOfRun
from inrush.errors import Problem, TargetError, UsageError
from inrush.extras import need
from inrush.fleet.address import OPTION, parse
from inrush.fleet.waiting import WaitingTime


def workers_of(
    text: str | None,
    insecure: bool,
    waiting: WaitingTime | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> Callable[[], int]:
    """How many client processes a run has by default: one on each worker. Without a fleet there is one.

    It is called where neither the study nor the command says how many: then it asks the scheduler, and raises TargetError
    if nothing answers there. Raises UsageError of an address that is none. waiting: for the scheduler; None: as long as one
    that is there may take.
    """
    if text is None:
        return lambda: 1
    address = parse(text, insecure)
    need(f"{OPTION} {text}", "fleet")
    if address.local:
        return lambda: address.local
    return lambda: workers_there(address.scheduler, waiting, note)


def workers_there(scheduler: str, waiting: WaitingTime | None, note: Callable[[str], None]) -> int:
    from inrush.fleet.arrival import connected
    from inrush.fleet.link import Link, Lost

    link = Link(scheduler) if waiting is None else connected(scheduler, waiting, note)
    try:
        if not (workers := len(link.workers())):
            raise TargetError(
                f"{scheduler}: has no worker; start some with `dask worker`, and say how many are waited for: -P clients=N"
            )
        return workers
    except Lost as e:
        raise TargetError(str(e)) from None
    finally:
        link.close()


def plan_problems(text: str | None, insecure: bool, plans: Sequence[AnyPlan]) -> Iterator[Problem]:
    """What runs ask that is not done there, by what their plans and the address say. text, insecure: as the command has them."""
    from inrush.fleet import checks

    if text is None:
        if why := checks.not_here(plans):
            yield Problem.sentence(why)
        return
    if why := checks.not_there(plans):
        yield Problem.sentence(f"{OPTION} {text}: {why}")
    wanted = max(map(hosts_of, plans))
    if 0 < parse(text, insecure).local < wanted:
        yield Problem.sentence(
            f"{OPTION} {text}: a run of the study takes {wanted} workers; say {OPTION} local:{wanted}"
        )


@contextlib.contextmanager
def opened(
    text: str | None,
    insecure: bool,
    waiting: WaitingTime,
    plans: Sequence[AnyPlan],
    note: Callable[[str], None],
    servers: Callable[[], Sequence[ShardServer]] = tuple,
    row_bytes: Callable[[str], float] = lambda stream: 0.0,
) -> Iterator[Mapping[str, object]]:
    """What documents of its runs have more; nothing without a fleet. Raises UsageError where its workers are not there or not alike.

    waiting: for a scheduler and its workers together; plans: of all runs; servers: of their shards, where inrush does not watch
    them itself; row_bytes: of a row of a stream in a file of a load."""
    if text is None:
        yield {}
        return
    from inrush.fleet import checks
    from inrush.fleet.arrival import await_workers, connected
    from inrush.fleet.dealing import NotThere, dealt_as_named, said_dealt, said_unseen
    from inrush.fleet.homes import asked, known_as
    from inrush.fleet.local import started
    from inrush.fleet.room import short_of_room
    from inrush.fleet.taken import looked_at, refused

    address, wanted = parse(text, insecure), max(map(hosts_of, plans))
    with contextlib.ExitStack() as held:
        here = held.enter_context(started(address.local)) if address.local else None
        scheduler = here.address if here else address.scheduler
        link = here.link() if here else connected(scheduler, waiting, note)
        try:
            if not address.local:
                await_workers(link, wanted, waiting, note)
            beside = [*servers()]
            with refused():
                there = link.workers()
            row = checks.chosen(there, len(there))
            homes = asked(link, row, beside)
            on = max(map(checks.names_of, plans), key=len, default=())
            of = dealt_as_named(row, wanted, homes, on, known_as(link, there, on))
            _, facts, _ = looked_at(link, wanted, among=of.ends, watchers=of.watchers)
            lines = [*checks.crowded(facts), *short_of_room(link, of.ends, facts, plans, row_bytes)]
        except NotThere as e:
            raise UsageError(f"{e}; workers: {checks.workers_said(there)}") from None
        except TargetError as e:
            raise UsageError(f"{OPTION} {text}: {e}") from None
        finally:
            link.close()
        note(f"fleet: {len(of.ends)} workers, alike in version and speed")
        if any(map(shards_of, plans)):
            names = {worker: str(fact["host"]) for worker, fact in facts.items()}
            lines += [said_dealt(of, names, beside, homes), said_unseen(beside, homes)]
        for line in filter(None, lines):
            note(f"fleet: {line}")
        fleet: FleetOfRun = {
            "scheduler": scheduler,
            "folder": str(here.folder) if here else "",
            "workers": of.ends,
            "homes": {w: homes[w] for w in of.all if homes.get(w)},
        }
        yield {"does": "fleet", "fleet": fleet}
