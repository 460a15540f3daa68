"""The workers of a Dask cluster as the place of a run's client processes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import queue
import socket
import threading
import time
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

from inrush.agent.clocks import Clock
from inrush.agent.place import Client, Hear, Host, Part, watch_of
from inrush.border import address
from inrush.border.words import Does, Word
from inrush.errors import CoreError, TargetError
from inrush.fleet import checks, remote
from inrush.fleet.dealing import Homes
from inrush.fleet.echo import Echo, Offset, Witnesses, agree, between, contradicts, known, offset
from inrush.fleet.link import LIMIT_S, Link, Lost
from inrush.fleet.taken import looked_at, on_all, refused

#: Echoes of a look at a clock.
ECHOES = 40
#: A call that waits for events is answered after so long without any, s.
WAIT_S = 0.4
#: A client process that lives answers a word within so long, s; a worker looks for words every 0.1 s.
SILENT_S = 1.5
#: The latest echoes of a run that its clocks are read by.
LATEST = 20
#: Clocks that are looked at at once: the scheduler takes one call after the other, and a call that waits for others says
#: little of a clock (`benches.fleet_starts`).
LOOKS = 8
#: Between the word to start and the start: what a busy worker takes to hear it, so many ways there and back, and what the
#: scheduler takes to say it to one more worker, between calls of others.
START_AFTER_NS, WAYS, WORD_NS = 500_000_000, 20, 2_000_000
#: What a process of a lost worker ended with, for want of anything better.
LOST = -9
#: A worker that is lost is asked to end its process, and not waited for, s: the process ends by its leash anyway.
LOST_S = 0.1


class OnWorkers:
    """Raises TargetError, by name, of workers that are not there, not alike or at work for others."""

    def __init__(
        self,
        link: Link,
        owner: str,
        wanted: int,
        names: Sequence[str] = (),
        shown: Sequence[str] = (),
        among: Sequence[str] = (),
        does: Does = "drive",
        watchers: Sequence[str] = (),
    ) -> None:
        """wanted: processes, one on each worker; watchers: workers of those behind them, which do no more than watch their hosts.
        names: of the secrets that the target needs; shown: of the other variables that its client reads; among: as of `looked_at`;
        does: each process."""
        self.link, self.owner, self.does = link, owner, does
        self.workers, self.facts, self.rates = looked_at(link, wanted, names, shown, among, watchers)
        self.spaces = remote.spaces()
        with refused():
            self.looks = dict(enumerate(on_all(self.look, self.workers, LOOKS)))
        self.before = dict(self.looks)
        self.recent: dict[int, deque[Echo]] = {n: deque(maxlen=LATEST) for n in self.looks}
        self.witnesses = {n: Witnesses() for n in self.looks}
        self.final: dict[int, Clock] = {}
        self.clients: list[RemoteClient] = []
        #: Worker -> hosts of the target's addresses that it is on; those that this process is on.
        self.homes: Homes = {}
        self.own_homes: Sequence[str] = ()
        self.start_after_ns = start_after_ns(
            len(self.workers), max(look.error_ns for look in self.looks.values())
        )

    def with_target(self, homes: Homes, own: Sequence[str]) -> None:
        self.homes, self.own_homes = homes, own

    def look(self, worker: str) -> Offset:
        """Raises Lost, also of a clock that cannot be."""
        echoes = []
        for _ in range(ECHOES):
            asked_ns = time.monotonic_ns()
            heard_ns, answered_ns = self.link.call(worker, LIMIT_S, remote.echo)
            echoes.append(Echo(asked_ns, heard_ns, answered_ns, time.monotonic_ns()))
        try:
            found = offset(echoes)
        except ValueError as e:
            raise Lost(f"worker {worker}: its clock cannot be: {e}") from None
        if self.shares(worker, "clock") and abs(found.ahead_ns) > found.error_ns:
            raise Lost(
                f"worker {worker}: its clock is {found.ahead_ns / 1e6:+.3f} ms off, though it runs on this kernel"
            )
        return found

    def shares(self, worker: str, space: str) -> bool:
        return bool(self.facts[worker]["spaces"][space] == self.spaces[space])

    def address(self, process: int) -> str:
        """Its scheduler and the other workers reach a worker there."""
        return address.read(self.workers[process]).host

    def start(self, process: int, plan: Part, folder: Path, hear: Hear) -> Client:
        worker = self.workers[process]
        if not self.shares(worker, "processes"):
            # Process ids and folders are of this machine, or of this container.
            plan = {**plan, "watch": watch_of(plan, plan["watch"].get("machine", False))}
        document = json.dumps({"does": self.does, "plan": plan})
        client = RemoteClient(self, process, f"{self.owner}/{process}", document, folder, hear)
        self.clients.append(client)
        return client

    def clock(self, process: int) -> Clock:
        if process in self.final:
            return self.final[process]
        recent = [*self.recent[process]]
        if len(recent) < LATEST:
            return known(self.looks[process])
        found = offset(recent)
        return known(min(found, self.looks[process], key=lambda look: look.error_ns + drifted(look, found)))

    def heard(self, process: int, echo: Echo) -> None:
        """Raises Lost of a clock that was set, or lies."""
        if contradicts(self.before[process], echo):
            before = self.before[process]
            off_ns = echo.ahead_ns - before.ahead_ns
            # One that was set between the question and the answer shows half of it: what it took there cannot be.
            error_ns = echo.error_ns if echo.error_ns >= 0 else abs(off_ns)
            off, error = off_ns / 1e6, (error_ns + before.error_ns) / 1e6
            raise Lost(
                f"its clock cannot be: it is {off:+.3f} ms off what it showed when the run began (± {error:.3f} ms, more if it was "
                "set while it answered), and no clock drifts so much"
            )
        self.recent[process].append(echo)
        self.witnesses[process].heard(echo)

    def name(self, process: int) -> str:
        return checks.named(self.workers[process], self.facts[self.workers[process]])

    def host(self, process: int) -> Host:
        fact = self.facts[self.workers[process]]
        return Host(f"{fact['spaces']['kernel']} {fact['spaces']['network']}", str(fact["host"]))

    def finish(self, interval_ns: int) -> None:
        try:
            after = dict(enumerate(on_all(self.look, self.workers, LOOKS)))
        except Lost as e:
            raise CoreError(f"{e}: the clocks were not compared when the run had ended") from None
        for process, look in after.items():
            if not agree(self.before[process], look):
                raise CoreError(f"{self.name(process)}: its clock was set while the run went on")
            self.final[process] = clock = self.witnesses[process].judged(between(self.before[process], look))
            if unfit := self.unfit(process, clock.error_ns, interval_ns):
                raise CoreError(unfit)

    def refuse_unfit(self, interval_ns: int) -> None:
        """Before anything runs. Raises TargetError where the way to a worker is so long that its run could not be valid."""
        found = (self.unfit(process, look.error_ns, interval_ns) for process, look in self.looks.items())
        if said := [*filter(None, found)]:
            raise TargetError("\n".join(said))

    def unfit(self, process: int, error_ns: int, interval_ns: int) -> str:
        """Why times of a clock that is known so well are of no use; empty where they are."""
        if 4 * error_ns <= interval_ns:
            return ""
        return (
            f"{self.name(process)}: its clock is known to ± {error_ns / 1e6:.1f} ms, and an interval of the tables is "
            f"{interval_ns / 1e6:.0f} ms: its times cannot be put beside those of others; see that nothing sets it "
            "meanwhile, use a faster network, or a longer record.interval_s"
        )

    def document(self) -> Mapping[str, Any]:
        return {
            "scheduler": self.link.address,
            "own": {
                "host": socket.gethostname(),
                "boot": self.spaces["kernel"],
                "spaces": self.spaces,
                **on_target(self.own_homes),
            },
            "workers": [
                {
                    "address": worker,
                    **{
                        key: self.facts[worker][key]
                        for key in ("host", "boot", "spaces", "pid", "cores", "cpus", "machine", "same")
                    },
                    # A watcher's core is not looked at.
                    "rows_per_cpu_s": self.rates.get(worker),
                    "clock": vars(self.clock(process)),
                    "clock_before": vars(self.before[process]),
                    **on_target(self.homes.get(worker, ())),
                }
                for process, worker in enumerate(self.workers)
            ],
        }

    def end(self) -> None:
        for client in self.clients:
            client.kill()
        with ThreadPoolExecutor(max_workers=max(1, len(self.clients))) as pool:
            list(pool.map(RemoteClient.discard, self.clients))


class RemoteClient:
    """A client process on a worker: two threads of ours, one that hears it and one that speaks to it."""

    def __init__(
        self, place: OnWorkers, process: int, key: str, document: str, folder: Path, hear: Hear
    ) -> None:
        self.place, self.process, self.key = place, process, key
        self.document, self.folder, self.hear = document, folder, hear
        self.worker, self.link = place.workers[process], place.link
        self.code = LOST
        self.log: Path | None = None
        self.lost = False
        self.killed, self.over = threading.Event(), threading.Event()
        self.had: dict[str, int] = {}
        #: None: there are no more.
        self.words: queue.SimpleQueue[Word | Literal["kill"] | None] = queue.SimpleQueue()
        self.threads = [threading.Thread(target=run, daemon=True) for run in (self._hear, self._speak)]
        for thread in self.threads:
            thread.start()

    def send(self, word: Word) -> None:
        if word["do"] == "resume" and not self.place.shares(self.worker, "processes"):
            word = {"do": "resume"}  # the processes that it names are of another machine
        self.words.put(word)

    def kill(self) -> None:
        """Said by the thread that speaks, for the other one may wait for events up to WAIT_S before it says so."""
        self.killed.set()
        self.words.put("kill")

    def close(self) -> int:
        self.threads[0].join()
        self.words.put(None)
        self.threads[1].join()
        return self.code

    def _speak(self) -> None:
        while (word := self.words.get()) is not None:
            if word == "kill":
                with contextlib.suppress(Lost):
                    self.link.call(self.worker, LOST_S, remote.kill, self.key)
                continue
            try:
                self.link.call(self.worker, LIMIT_S, remote.word, self.key, word)
            except Lost as e:
                # The process may be heard all the same, and would wait for the word for ever.
                if not self.killed.is_set():
                    self.hear({"event": "failed", "kind": "fleet", "message": str(e)})

    def _hear(self) -> None:
        try:
            self._start()
            while not self._ended():
                pass
        except Lost as e:
            self.lost = True
            if not self.killed.is_set():
                self.hear({"event": "failed", "kind": "fleet", "message": str(e)})
            with contextlib.suppress(Lost):
                self.link.call(self.worker, LOST_S, remote.discard, self.key)
        except OSError as e:
            self.hear(
                {
                    "event": "failed",
                    "kind": "disk",
                    "message": f"its tables cannot be kept in {self.folder}: {e}",
                }
            )
        finally:
            self.hear({"event": "ended"})

    def discard(self) -> None:
        """Nothing of it is left there when it has ended, unless its worker is lost."""
        self.close()
        if not self.lost:
            with contextlib.suppress(Lost):
                self.link.call(self.worker, LIMIT_S, remote.discard, self.key)

    def _start(self) -> None:
        said = self.link.call(
            self.worker, 2 * LIMIT_S, remote.start, self.key, self.place.owner, self.document
        )
        if "busy" in said:
            raise Lost(f"it is at work for {said['busy']}: wait for its end, or end it there")
        if "failed" in said:
            raise Lost(said["failed"])
        if said["digest"] != hashlib.sha256(self.document.encode()).hexdigest():
            raise Lost("its plan is not the one that was sent")

    def _ended(self) -> bool:
        """One call for what there is; whether it was the last."""
        if self.killed.is_set():
            self.link.call(self.worker, LIMIT_S, remote.kill, self.key)
        asked_ns = time.monotonic_ns()
        wait_s = 0.0 if self.killed.is_set() else WAIT_S
        answer = self.link.call(self.worker, LIMIT_S, remote.poll, self.key, wait_s, self.had)
        back_ns = time.monotonic_ns()
        if answer is None:
            raise Lost("it does not know the run any more: the worker was started anew")
        self._keep(answer["grown"])
        for event in answer["events"]:
            self.hear(event)
        if answer["more"]:
            return False
        if "code" in answer:
            self.code = answer["code"]
            self.log = Path(answer["log"]) if "log" in answer else None
            return True
        self.place.heard(self.process, Echo(asked_ns, answer["heard_ns"], answer["answered_ns"], back_ns))
        if answer["silent_s"] > SILENT_S:
            raise Lost(f"the client process there said nothing for {answer['silent_s']:.1f} s: it hangs")
        return False

    def _keep(self, grown: Mapping[str, bytes]) -> None:
        for name, more in grown.items():
            with (self.folder / name).open("ab") as file:
                file.write(more)
            self.had[name] = self.had.get(name, 0) + len(more)


def on_target(hosts: Collection[str]) -> Mapping[str, Any]:
    """What run.json says of a machine that servers of the run may be on: names and addresses of theirs that are its own."""
    return {"target_hosts": [*hosts]} if hosts else {}


def start_after_ns(workers: int, error_ns: int) -> int:
    """Between the word and the start. error_ns: of the clock that is known worst, half of a way there and back."""
    return START_AFTER_NS + WAYS * 2 * error_ns + WORD_NS * workers


def drifted(look: Offset, now: Offset) -> int:
    """What a clock may have gained since, ns: that of a good quartz."""
    return round(abs(now.at_ns - look.at_ns) * 20e-6)
