"""Was it the client that could do no more? Then rates are at least what is shown, and times are its own. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from inrush.analysis.run_facts import is_embedded, is_instrument
from inrush.analysis.verdicts import Figures, Verdict, invalid, not_checked, noted, passed
from inrush.guards.guard import About, Guard
from inrush.stats.figure_names import timed_figures
from inrush.stats.files import is_pipeline
from inrush.stats.headroom import ClientHost, client_hosts
from inrush.stats.record import RunRecord
from inrush.stats.session_time import session_time
from inrush.text import percent

#: Of its cores or of its sessions' time. From here on the client can send at most a quarter more, whatever the engine does.
CLIENT_CPU_SHARE = 0.8


def client_not_saturated(run: RunRecord, figures: Figures) -> Verdict | None:
    """CPU of the client against its cores on each host, and of its session threads against their time."""
    name = "client not saturated"
    if is_pipeline(run):  # its client is part of what is measured
        return None
    if "instrument.busy_cores" in figures:
        return client_beside_its_engine(figures, name)
    if is_instrument(run.engine):
        return None
    if is_embedded(run):
        return noted(
            name,
            "The engine lives in the client's process, and no run on the null engine has separated their CPU yet: it is "
            "made after the first runs of a study. Where the study has ended, run it anew",
        )
    hosts = client_hosts(run, figures)
    known = {host: host.busy / host.cores for host in hosts if host.busy is not None and host.cores}
    fullest = max(known, key=lambda host: known[host], default=None)
    if fullest is not None and known[fullest] > CLIENT_CPU_SHARE:
        return invalid(
            name,
            f"The client kept {said_cores(fullest)} busy (limit {percent(CLIENT_CPU_SHARE)}): rates are at least what is "
            "shown, times are the client's. Put the server on another machine or lower the load",
            figures=timed_figures(figures, {name.rsplit(".", 1)[0] for name in figures}),
            size=known[fullest],
        )
    shares = session_cpu_shares(run)
    if full := beyond(shares):
        return invalid(
            name,
            f"The sessions of {said_shares(full)} of their time (limit {percent(CLIENT_CPU_SHARE)}) instead of "
            "waiting for the engine: rates are at least what is shown, times are the client's. Add sessions, or read them so",
            figures=timed_figures(figures, full),
            size=max(full.values()),
        )
    unknown = [host for host in hosts if host.busy is not None and not host.cores]
    if unknown and unknown[0].host:
        return not_checked(
            name, f"It is not known how many cores the client processes on {unknown[0].host} had"
        )
    looked = [f"The client used {said_cores(fullest)}"] if fullest is not None else []
    if shares:
        role = max(shares, key=lambda r: shares[r])
        looked.append(
            f"the sessions of {role} computed {percent(shares[role])} of their time, no others more"
        )
    return passed(name, "; ".join(looked)) if looked else None


def said_cores(host: ClientHost) -> str:
    return f"{host.busy:.2f} of {host.cores:g} cores{f' on {host.host}' if host.host else ''}"


def client_beside_its_engine(figures: Figures, name: str) -> Verdict | None:
    """An engine in the client's process, distinguished by the null engine: what counts is the client's own work."""
    own, engine = figures["instrument.busy_cores"], figures["engine.busy_cores"]
    usage = f"client {own:.3g} cores, engine {engine:.3g} cores (by subtraction)"
    shares = {k.rsplit(".", 1)[0]: v for k, v in figures.items() if k.endswith(".instrument_share")}
    if not shares:
        return None
    role = max(shares, key=lambda r: shares[r])
    if full := beyond(shares):
        return invalid(
            name,
            f"{usage.capitalize()}: the sessions of {said_shares(full)} of their time (limit {percent(CLIENT_CPU_SHARE)}) for "
            "the client's own work: rates are at least what is shown, times are the client's. Use larger batches, or read them so",
            figures=timed_figures(figures, full),
            size=max(full.values()),
        )
    return passed(
        name,
        f"{usage.capitalize()}; its own work took {percent(shares[role], 1)} of the time of the sessions of {role}",
    )


def beyond(shares: Mapping[str, float]) -> dict[str, float]:
    """The roles in which the client was full, the fullest first."""
    found = {role: share for role, share in shares.items() if share > CLIENT_CPU_SHARE}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def said_shares(full: Mapping[str, float]) -> str:
    first, *others = full
    behind = "".join(f", those of {role} {percent(full[role])}" for role in others)
    return f"{first} computed {percent(full[first])}{behind}"


def session_cpu_shares(run: RunRecord) -> dict[str, float]:
    """Role -> CPU time of its threads over the time they had, in the measured segments; in a gap there are none."""
    return {role: of.computed / of.had for role, of in session_time(run).items()}


GUARDS = (
    Guard(About.CLIENT, "client not saturated", client_not_saturated, "The client is what is measured, or its CPU was not watched"),
)  # fmt: skip
