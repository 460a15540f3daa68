"""Kill −9 of workers, of the scheduler and of inrush, frozen workers and hosts cut off, on a cluster in a laboratory.

`python -m benches.fleet_kills --times 20 --frozen 5 --cut 3`, as root: a scheduler and inrush on one host, a worker on each of four
others, with a delay between them. Each fault comes at a seeded moment of a measured segment. How long until the run has ended
as failed, and until no client process is left, is printed; what is wrong is named: a worker that is not named, tables that
were not kept, processes that are left. The next run is the resumed study, on the same cluster; the last one is let finish.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import queue
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benches.netlab.cluster import HEAD, Cluster, cluster
from benches.netlab.lab import Running
from inrush.results.parts import read
from inrush.results.store import Results, Store

VICTIMS = ("worker", "scheduler", "inrush", "frozen", "cut")
#: The run that is disturbed: look-ups on an engine without a server, so many a second, that a busy machine has cores left.
STUDY = (
    "run", "keylookup-clients", "null", "--scale", "xs", "-P", "repeats.count=1", "-P", "schedule.mode=constant",
    "-P", "schedule.rate_per_s=200", "-P", "schedule.measure_s=20",
)  # fmt: skip
#: A run ends as failed within so long, and every client process with it, s.
FAILS_S, GONE_S = 2.5, 3.0
#: Until sessions are measured; and until a run that nothing disturbs has ended.
LIMIT_S = 120.0
#: Of a measured segment, before the fault, s at most.
LATEST_S = 1.0
TRIES = 3


@dataclass(frozen=True)
class Kill:
    victim: str
    #: Of a worker or a host: which one.
    name: str
    #: From the fault until inrush said that the run had failed; None: it was killed itself.
    failed_s: float | None
    #: And until the run had ended for it.
    ended_s: float | None
    #: From the fault until no client process worked any more.
    gone_s: float
    wrong: tuple[str, ...]


class Campaign:
    #: What inrush says of a run that has failed, or is being ended for it.
    SAYS = "failed after"

    def __init__(self, at: Cluster, folder: Path, seed: int) -> None:
        self.at, self.folder, self.draw = at, folder, random.Random(seed)
        self.store = Store(folder / "results")
        self.count = 0

    def study(self) -> Sequence[str]:
        return (*STUDY, "-P", f"factors.clients=[{len(self.at.names)}]")

    def begun(self) -> tuple[Running, queue.SimpleQueue[tuple[float, str]]]:
        """inrush at work on the study, and its lines with their times; the study is resumed where it is there."""
        self.count += 1
        studies = [study.name for study in self.store.studies()]
        fleet = ("--fleet", self.at.address, "--fleet-insecure")
        words = ("run", "--resume", studies[-1]) if studies else (*self.study(), *fleet)
        env = {"INRUSH_RESULTS": str(self.store.root), "NO_COLOR": "1"}
        # It says how it went on stderr, and here both are one.
        running = self.at.lab[HEAD].start(
            ["sh", "-c", 'exec "$@" 2>&1', "sh", sys.executable, "-m", "inrush.cli", *words],
            self.folder / "inrush.log", env, pipes=True, cwd=self.folder,
        )  # fmt: skip
        lines: queue.SimpleQueue[tuple[float, str]] = queue.SimpleQueue()
        threading.Thread(target=hear, args=(running, lines), daemon=True).start()
        return running, lines

    def measured(self, running: Running) -> bool:
        """Waits until the run is one that can be disturbed; whether it is."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end and running.code() is None:
            if self.at_work():
                return True
            time.sleep(0.05)
        return False

    def at_work(self) -> bool:
        """Sessions of all hosts are measured."""
        whole = len(self.at.clients()) == len(self.at.names)
        return whole and any(warmed(s.path) for s in self.store.studies())

    def working(self) -> bool:
        """Whether a process of the run works on a worker's host."""
        return bool(self.at.clients())

    def where(self, victim: str) -> tuple[str, str]:
        """The fault, and the host that it comes to."""
        return victim, self.draw.choice(self.at.names)

    def killed(self, victim: str) -> Kill:
        for _ in range(TRIES):
            running, lines = self.begun()
            if self.measured(running):
                break
            running.kill()
            running.wait(10.0)
        else:
            last = "".join(text for _, text in drained(lines))[-300:]
            return Kill(victim, "", None, None, 0.0, (f"no run began: {last}",))
        fault, name = self.where(victim)
        time.sleep(self.draw.uniform(0.0, LATEST_S))
        since = time.monotonic()
        self.strike(fault, name, running)
        gone_s = self.gone(since)
        wrong = []
        if gone_s > GONE_S:
            wrong.append(f"processes of the run work after {gone_s:.1f} s")
        failed_s = ended_s = None
        try:
            code = running.wait(30.0)
        except TimeoutError:
            running.kill()
            code = running.wait(10.0)
            wrong.append("inrush did not end")
        said = drained(lines)
        if victim != "inrush":
            failed_s, ended_s = (
                next((at - since for at, text in said if words in text), None)
                for words in (self.SAYS, "failed after")
            )
            wrong += self.failure(victim, name, code, failed_s, said)
        if left := self.left():
            wrong.append(f"left on the hosts: {left}")
        self.healed(fault, name)
        return Kill(
            victim,
            name if victim not in ("scheduler", "inrush") else "",
            failed_s,
            ended_s,
            gone_s,
            tuple(wrong),
        )

    def strike(self, fault: str, name: str, running: Running) -> None:
        match fault:
            case "worker":
                self.at.workers[name].kill()
            case "frozen":
                self.at.workers[name].kill(signal.SIGSTOP)
            case "cut":
                self.at.lab.cut(name)
            case "scheduler":
                assert self.at.scheduler is not None
                self.at.scheduler.kill()
            case "inrush":
                running.kill()

    def gone(self, since: float) -> float:
        """How long processes of the run have worked."""
        while self.working() and time.monotonic() < since + 30.0:
            time.sleep(0.01)
        return time.monotonic() - since

    def failure(
        self, victim: str, name: str, code: int, failed_s: float | None, said: Sequence[tuple[float, str]]
    ) -> Iterator[str]:
        if failed_s is None:
            yield f"inrush ended with {code} and named no failed run: {said[-1:]}"
            return
        if failed_s > FAILS_S:
            yield f"it failed after {failed_s:.1f} s"
        (run,) = [path for study in self.store.studies() for path in study.path.glob("*/run.json")]
        document: dict[str, Any] = json.loads(run.read_text())
        message = str((document.get("failure") or {}).get("message"))
        if document["status"] != "failed" or code == 0:
            yield f"the run is {document['status']}, and inrush ended with {code}"
        if not self.named(victim, name, message):
            yield f"{name} is not named: {message}"
        if not self.kept(run.parent.parent):
            yield "its tables were not kept"

    def named(self, victim: str, name: str, message: str) -> bool:
        return victim == "scheduler" or f"on {name}" in message

    def kept(self, study: Path) -> bool:
        (found,) = Results(study).runs
        return "warm" in found.table("segments")["label"].to_pylist()

    def left(self) -> list[str]:
        """Processes of the run that work on a host: its own parts have their own ends."""
        end = time.monotonic() + 5.0
        while found := [
            f"{host.name}: {' '.join(words)[:200]}"
            for host in self.at.lab.hosts.values()
            for words in host.processes().values()
            if any(word.startswith("inrush.") for word in words)
        ]:
            if time.monotonic() > end:
                break
            time.sleep(0.05)
        return found

    def healed(self, fault: str, name: str) -> None:
        match fault:
            case "frozen":
                self.at.workers[name].kill(signal.SIGCONT)
            case "cut":
                self.at.lab.mend(name)
            case "worker":
                self.at.workers[name].wait(10.0)
                self.at.start()
            case "scheduler":
                # Its workers have lost it; some end by themselves, and some would look for it.
                self.at.stop()
                self.at.start()

    def finished(self) -> list[str]:
        """What is wrong with the study when it is resumed and let finish."""
        running, lines = self.begun()
        code = running.wait(LIMIT_S)
        (study,) = self.store.studies()
        # 3: the machine was too busy for a figure; the run is whole all the same.
        if code in (0, 3) and study.doc["status"] == "done":
            return []
        return [f"the resumed study is {study.doc['status']} with {code}: {drained(lines)[-2:]}"]


def hear(running: Running, lines: queue.SimpleQueue[tuple[float, str]]) -> None:
    assert running.stdout is not None
    with contextlib.suppress(ValueError):  # closed with the laboratory
        for text in running.stdout:
            lines.put((time.monotonic(), text.decode(errors="replace")))


def drained(lines: queue.SimpleQueue[tuple[float, str]]) -> list[tuple[float, str]]:
    found = []
    while not lines.empty():
        found.append(lines.get())
    return found


def warmed(study: Path) -> bool:
    """Whether a run of a study is past its warm-up."""
    with contextlib.suppress(OSError, ValueError):
        return any(
            "warm" in table["label"].to_pylist()
            for parts in study.glob("*/parts")
            for table in read("segments", parts)
        )
    return False


@contextlib.contextmanager
def campaign(folder: Path, seed: int, workers: int, delay_s: float, loss: float) -> Iterator[Campaign]:
    with cluster(workers, folder, seed) as at:
        at.between(delay_s, loss)
        yield Campaign(at, folder, seed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20, help="kills of each of worker, scheduler and inrush")
    parser.add_argument("--frozen", type=int, default=5)
    parser.add_argument("--cut", type=int, default=3)
    parser.add_argument("--workers", type=int, default=4)
    add_options(parser)
    asked = parser.parse_args()
    counts = dict(zip(VICTIMS, (asked.times,) * 3 + (asked.frozen, asked.cut), strict=True))
    with (
        tempfile.TemporaryDirectory(prefix="inrush-fleet-kills-", dir=asked.data) as name,
        campaign(Path(name), asked.seed, asked.workers, asked.delay_ms / 1e3, asked.loss) as at,
    ):
        return disturbed(at, counts, asked.seed, asked.within_min)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Of every campaign."""
    parser.add_argument(
        "--delay-ms", type=float, default=1.0, help="one way, between each worker and the scheduler"
    )
    parser.add_argument("--loss", type=float, default=0.0, help="share of packets")
    parser.add_argument(
        "--within-min", type=float, default=120.0, help="no fault is made after so many minutes"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, default=Path("/var/tmp"))


def disturbed(at: Campaign, counts: Mapping[str, int], seed: int, within_min: float) -> int:
    """So many faults of each kind, in a seeded order, and the study let finish; 0 where all was right."""
    order = [victim for victim, count in counts.items() for _ in range(count)]
    random.Random(seed).shuffle(order)
    found, until_s = [], time.monotonic() + 60.0 * within_min
    for victim in order:
        if time.monotonic() > until_s:
            break
        found.append(at.killed(victim))
        print(json.dumps(asdict(found[-1])), flush=True)
    wrong = at.finished()
    if len(found) < len(order):
        wrong.append(
            f"{len(order) - len(found)} of {len(order)} faults were not made within --within-min {within_min:g}"
        )
    print(table(found))
    print(*wrong, sep="\n")
    return 1 if wrong or any(kill.wrong for kill in found) else 0


def table(kills: Sequence[Kill]) -> str:
    """A line for each victim: least, median and most."""
    wide = max(10, *(len(kill.victim) for kill in kills))
    lines = [
        f"{'victim':<{wide}} {'faults':>6} {'right':>5}  {'failure said, s':<18} {'run ended, s':<18} {'no process left, s':<18}"
    ]
    for victim in dict.fromkeys(kill.victim for kill in kills):
        own = [kill for kill in kills if kill.victim == victim]
        failed, ended = (
            [s for s in times if s is not None]
            for times in ([kill.failed_s for kill in own], [kill.ended_s for kill in own])
        )
        lines.append(
            f"{victim:<{wide}} {len(own):>6} {sum(not kill.wrong for kill in own):>5}  {spread(failed):<18} "
            f"{spread(ended):<18} "
            f"{spread([kill.gone_s for kill in own]):<18}"
        )
    return "\n".join(lines)


def spread(seconds: Sequence[float]) -> str:
    if not seconds:
        return "–"
    ordered = sorted(seconds)
    return " / ".join(f"{s:.2f}" for s in (ordered[0], ordered[len(ordered) // 2], ordered[-1]))


if __name__ == "__main__":
    sys.exit(main())
