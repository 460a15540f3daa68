"""Whether the workers of a fleet are alike, and what a run cannot ask of them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from inrush.border.pipeline import AnyPlan, hosts_of, load_over_shards, loads_of, shards_of
from inrush.fleet.address import has_loopback, reached_only_here
from inrush.fleet.own_files import SENT, inputs_of, makes_own
from inrush.study.files import INPUT

#: The core of a worker may be slower than that of the fastest one by so much: less is what a busy machine takes.
LEAST_RATE = 0.75


def workers_said(there: Mapping[str, Mapping[str, Any]]) -> str:
    """By name and host, as the scheduler knows them."""
    return ", ".join(sorted(f"{worker.get('name')} on {worker.get('host')}" for worker in there.values()))


def named(address: str, fact: Mapping[str, Any]) -> str:
    return f"worker {address} on {fact['host']}"


def unequal(facts: Mapping[str, Mapping[str, Any]], ours: Mapping[str, Any]) -> list[str]:
    """A line for each worker and what it has other than this inrush. facts: by address; ours: as of `remote.facts`."""
    return [
        f"{named(address, fact)}: its {what} is {fact['same'].get(what)}, and ours {mine}; install the same inrush there"
        for address, fact in facts.items()
        for what, mine in ours["same"].items()
        if fact["same"].get(what) != mine
    ]


def slower(rates: Mapping[str, float]) -> list[str]:
    """Workers whose core is slower than the fastest one's."""
    best = max(rates.values())
    return [address for address, rate in rates.items() if rate < LEAST_RATE * best]


def slow(rates: Mapping[str, float], facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A line for each of them."""
    return [
        f"{named(address, facts[address])}: its core makes {rates[address]:,.0f} rows a second of CPU time, the fastest one "
        f"{max(rates.values()):,.0f}; a run is as fast as its slowest client: leave it out, or find out what slows it"
        for address in slower(rates)
    ]


def readable(facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A line for each worker with a file of passwords that others can read."""
    return [
        f"{named(address, fact)}: {fact['open']} can be read by other users, and is not used; chmod 600 it there"
        for address, fact in facts.items()
        if fact["open"]
    ]


def lacking(facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A line for each worker without a variable that the target needs."""
    return [
        f"{named(address, fact)}: {', '.join(fact['lacks'])} is not in its environment; start the worker with it, or with "
        "INRUSH_FLEET_SECRETS, the path of a file there with such lines"
        for address, fact in facts.items()
        if fact["lacks"]
    ]


def other_variables(facts: Mapping[str, Mapping[str, Any]], ours: Mapping[str, Any]) -> list[str]:
    """A line for each worker and variable of the target's client that is there and here not the same."""
    return [
        f"{named(address, fact)}: {name} is {fact['variables'].get(name) or 'not set'} in its environment, and here "
        f"{mine or 'not set'}; start the worker with the same, or name its file in INRUSH_FLEET_SECRETS"
        for address, fact in facts.items()
        for name, mine in ours["variables"].items()
        if (fact["variables"].get(name) or "") != mine
    ]


def unreachable(
    facts: Mapping[str, Mapping[str, Any]], ours: Mapping[str, str], engine: str, url: str, has_files: bool
) -> list[str]:
    """A line where workers are elsewhere and the target is here alone. ours: spaces, as of `remote.spaces`; has_files: the
    engine works inside of the client, and keeps something."""

    def away(space: str) -> str:
        """The first worker that does not share it."""
        apart = (address for address, fact in facts.items() if fact["spaces"][space] != ours[space])
        return next((named(address, facts[address]) for address in apart), "")

    if has_files and (where := away("kernel")):
        return [f"{where}: {engine} works inside of the client, and its files would be there; name a server"]
    # A container has a loopback of its own. A socket is a file, which it may share.
    if reached_only_here(url) and (where := away("network" if has_loopback(url) else "kernel")):
        return [f"{where}: {url} is no address there; name the server by one that all hosts reach"]
    return []


def without_files(
    facts: Mapping[str, Mapping[str, Any]], ours: Mapping[str, str], plan: AnyPlan
) -> list[str]:
    """A line where files of a load are on one host, or have a place on it that is named, and workers are elsewhere.

    ours: spaces, as of `remote.spaces`. Containers of one kernel may share the folder.
    """
    if loads_of(plan):
        return []  # its ends are those of the loader
    away = next((a for a, fact in facts.items() if fact["spaces"]["kernel"] != ours["kernel"]), None)
    said = []
    if makes_own(plan) and INPUT in plan["watch"].get("folders", {}):
        said.append(
            "--input: each worker makes the files that it loads in its own folder; leave the option out, and start each worker "
            "with --local-directory DIR"
        )
    if away is not None and any(of["way"] not in SENT for of in inputs_of(plan)):
        said.append(
            f"{named(away, facts[away])}: the server reads the files of the load by itself (server_file), and they are made on "
            'one host; say way = "client_file", or run client processes of this host (--fleet local:N, or -P clients=N without '
            "a fleet)"
        )
    yours = [
        path
        for table in plan["tables"]
        if table["source"]["kind"] == "files"
        for path in table["source"]["paths"]
    ]
    if away is not None and yours:
        said.append(
            f"{named(away, facts[away])}: {yours[0]} is a file of yours on this host, and it would load it; run a client "
            "process of this host (--fleet local:1, or no fleet)"
        )
    return said


def not_here(plans: Sequence[AnyPlan]) -> str:
    """Why runs are not made without a fleet; empty where they are."""
    if any(shards_of(plan) and hosts_of(plan) > 2 for plan in plans):
        return "pipeline.client_hosts: clients on hosts of their own are workers of a fleet; say --fleet, or take 1"
    if any(names_of(plan) for plan in plans):
        return (
            "pipeline.load_server_on and clients_on name workers of a fleet; say --fleet, or leave them out"
        )
    return ""


def names_of(plan: AnyPlan) -> Sequence[str]:
    """Workers or hosts that a pipeline's study names for its load server and its clients; empty of any."""
    load = load_over_shards(plan)
    return load["pipelines"].get("on", ()) if load is not None else ()


def not_there(plans: Sequence[AnyPlan]) -> str:
    """Why runs are not made on workers; empty where they are."""
    for plan in plans:
        load = load_over_shards(plan)
        if load is None and loads_of(plan):
            return (
                "client and load server of a step work on the host of the run; run it without --fleet, or measure the load as "
                'a study of kind = "pipeline"'
            )
        if load is not None and load["pipelines"]["process_per_file"]:
            return (
                "process_per_file: a load server and a client of each file are processes of one host; run it without --fleet, or "
                "with process_per_file = false"
            )
    return ""


def crowded(facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is said of machines with several workers, whose sessions share the cores. Containers of one have names of their own."""
    of: dict[str, list[str]] = {}
    for fact in facts.values():
        of.setdefault(fact["boot"], []).append(fact["host"])
    said = []
    for hosts in of.values():
        names = [*dict.fromkeys(hosts)]
        if len(names) > 1:
            said.append(f"{', '.join(names)} are one machine: its {len(hosts)} workers share its cores")
        elif len(hosts) > 1:
            said.append(f"{names[0]} has {len(hosts)} workers, which share its cores")
    return said


def chosen(workers: Mapping[str, Mapping[str, Any]], wanted: int) -> Sequence[str]:
    """Addresses of the workers that a run takes, the same each time: one a host as far as there are hosts, by name."""
    by_name = sorted(workers, key=lambda address: (str(workers[address].get("name", "")), address))
    seen: Counter[str] = Counter()
    turn = {}
    for address in by_name:
        host = str(workers[address].get("host", ""))
        turn[address] = seen[host]
        seen[host] += 1
    return sorted(by_name, key=lambda address: turn[address])[:wanted]
