"""How far a run is, of all its processes together. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from inrush.agent.watched import CLIENT, HOST, LEVELS
from inrush.border.events import Latencies, Progress, RoleProgress, Usage

#: Segment and repetition: counts begin again with each.
Part = tuple[int, int]
#: Role, metric and device.
Used = tuple[str, str, str]


def together(each: Sequence[Progress]) -> Progress:
    """each: the last of every process in one part, the first process's first. Counts are added up; percentiles cannot be:
    the slowest process's is shown."""
    first = each[0]
    cpu = [one["client_cpu"] for one in each]
    return {
        **first,
        "share": least([one["share"] for one in each]),
        "left_s": most([one["left_s"] for one in each]),
        "client_cpu": None if None in cpu else sum(c for c in cpu if c is not None),
        "roles": {name: of_role([one["roles"][name] for one in each]) for name in first["roles"]},
    }


def of_role(each: Sequence[RoleProgress]) -> RoleProgress:
    return {
        "rows": sum(one["rows"] for one in each),
        "ops": sum(one["ops"] for one in each),
        "rows_per_s": sum(one["rows_per_s"] for one in each),
        "ops_per_s": sum(one["ops_per_s"] for one in each),
        "p99_ms": most([one["p99_ms"] for one in each]),
        "errors": sum(one["errors"] for one in each),
        "due": None if each[0]["due"] is None else sum(one["due"] or 0 for one in each),
        "backlog": sum(one["backlog"] for one in each),
        "lag_p99_ms": most([one["lag_p99_ms"] for one in each]),
        "late": sum(one["late"] for one in each),
        "failed": dict(sum((Counter(one["failed"]) for one in each), Counter[str]())),
        "latency": merged([one["latency"] for one in each]),
    }


def merged(each: Iterable[Latencies]) -> Latencies:
    """One histogram of all calls."""
    counts, known = Counter[int](), [one for one in each if one["n"]]
    for one in known:
        for bucket, count in zip(one["bucket"], one["count"], strict=True):
            counts[bucket] += count
    buckets = sorted(counts)
    return {
        "bucket": buckets,
        "count": [counts[bucket] for bucket in buckets],
        "n": sum(one["n"] for one in known),
        "min": min((one["min"] for one in known), default=0),
        "max": max((one["max"] for one in known), default=0),
        "sum": sum(one["sum"] for one in known),
    }


class Clients:
    """What the processes use: the first one samples servers, the first one on each host its machine, each samples itself.

    Of several hosts none is `host`: that of the third process is `host/3`, its times by its own clock.

    What another process has used is known from its last word, in whatever part of the run that was. One that is first heard
    of while others were shown adds what it uses from then on: a sum that jumped would be shown as busy cores.
    """

    def __init__(self, several: bool = False) -> None:
        self.several = several
        self.first: Sequence[Usage] = ()
        self.machines: dict[int, Sequence[Usage]] = {}
        self.others: dict[int, dict[Used, float]] = {}
        self.before: dict[int, dict[Used, float]] = {}
        self.was_shown = False

    def heard(self, process: int, resources: Sequence[Usage]) -> None:
        if self.several:
            self.machines[process] = [
                {**usage, "role": f"{HOST}/{process + 1}"} for usage in resources if usage["role"] == HOST
            ]
            resources = [usage for usage in resources if usage["role"] != HOST]
        if process == 0:
            self.first = resources
            return
        known, before = self.others.setdefault(process, {}), self.before.setdefault(process, {})
        for usage in resources:
            of = (usage["role"], usage["metric"], usage["device"])
            rises = usage["metric"] not in LEVELS
            before.setdefault(of, usage["value"] if rises and self.was_shown else 0.0)
            known[of] = usage["value"] - before[of]

    def all(self, whole: bool) -> list[Usage]:
        """whole: what the others have used is known up to now, or a beat before as the last time."""
        self.was_shown = self.was_shown or whole
        each = [self.added(usage) if usage["role"] == CLIENT else usage for usage in self.first]
        machines = [usage for _, of in sorted(self.machines.items()) for usage in of]
        return [usage for usage in each if whole or usage["role"] != CLIENT] + machines

    def added(self, usage: Usage) -> Usage:
        of = (usage["role"], usage["metric"], usage["device"])
        return {**usage, "value": usage["value"] + sum(known.get(of, 0.0) for known in self.others.values())}


class Together:
    """The last progress of every process in the part of the run that they are in.

    The first process keeps the time: where it speaks, all are shown. Of latencies each event has what is new: what others have
    said since waits for its next word, or for `rest` where there is none in that part. Processes wait for each other between
    two parts (`Barriers`), so none speaks of the one before when the first process speaks of the next.
    """

    def __init__(self, watchers: Mapping[int, str] | None = None) -> None:
        """watchers: the first process on each host, and the name of the host."""
        watchers = watchers or {}
        self.hosts = {f"{HOST}/{n + 1}": name for n, name in watchers.items()} if len(watchers) > 1 else {}
        self.latest: dict[Part, dict[int, Progress]] = {}
        self.waiting: dict[Part, dict[str, list[Latencies]]] = {}
        self.clients = Clients(several=len(watchers) > 1)

    def heard(self, process: int, event: Progress) -> list[Progress]:
        """The progress of all where the first process has spoken, behind the rest of the part before."""
        part = (event["segment"], event["repetition"])
        self.clients.heard(process, event["resources"])
        before = self.rest(part) if process == 0 else []
        of = self.latest.setdefault(part, {})
        # Others have spoken in it, too, or do not work in it.
        whole = len(of) > 0 or not self.clients.others
        of[process] = event
        waiting = self.waiting.setdefault(part, {})
        for role, now in event["roles"].items():
            waiting.setdefault(role, []).append(now["latency"])
        return [*before, self.said(part, event["t_ns"], whole)] if process == 0 else []

    def rest(self, before: Part | None = None) -> list[Progress]:
        """What has been heard and not been said, of parts before this one, which are over; None: of all."""
        over = sorted(part for part in self.latest if before is None or part < before)
        said = [self.said(part, self.end_ns(part), whole=False) for part in over if part in self.waiting]
        for part in over if before is not None else ():
            del self.latest[part]
        return said

    def end_ns(self, part: Part) -> int:
        """By the clock of the process that keeps the time: all begin a repetition at one instant."""
        each = self.of(part)
        return each[0]["began_ns"] + max(one["t_ns"] - one["began_ns"] for one in each)

    def of(self, part: Part) -> list[Progress]:
        return [one for _, one in sorted(self.latest[part].items())]

    def said(self, part: Part, t_ns: int, whole: bool) -> Progress:
        shown, waiting = together(self.of(part)), self.waiting.pop(part, {})
        roles: Mapping[str, RoleProgress] = {
            role: {**of, "latency": merged(waiting.get(role, ()))} for role, of in shown["roles"].items()
        }
        found: Progress = {**shown, "t_ns": t_ns, "roles": roles, "resources": self.clients.all(whole)}
        return {**found, "hosts": self.hosts} if self.hosts else found


def least(values: Sequence[float | None]) -> float | None:
    return min((v for v in values if v is not None), default=None)


def most(values: Sequence[float | None]) -> float | None:
    return max((v for v in values if v is not None), default=None)
