"""Was the client on time, and if it was not, which figures can that have moved, by how much? Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inrush.analysis.deciding import CLIENT_ON_TIME
from inrush.analysis.run_facts import beside_a_server
from inrush.analysis.verdicts import Figures, Verdict, invalid, not_checked, noted, passed
from inrush.guards import quiet
from inrush.guards.guard import About, Guard
from inrush.metrics import slowed_alike
from inrush.results.histogram import Histogram, bucket_upper
from inrush.stats import quantity
from inrush.stats.brackets import RESOLUTION, WIDEST, Bracket, brackets, starved_closed
from inrush.stats.figure_names import grouped_figures, kind_and_quantile
from inrush.stats.hosts import workers_of
from inrush.stats.measures import measured_windows, role_histograms
from inrush.stats.others import took_most
from inrush.stats.paced import mean_gaps_s, paced_roles
from inrush.stats.record import RunRecord
from inrush.stats.starved import Starved, held_back, stalled_s, starved_roles
from inrush.stats.steal_free import STEAL_SHARE, steal_free_part
from inrush.text import percent

NAME = CLIENT_ON_TIME
#: What an overloaded role's rate follows from, where the client itself was late.
RATES = (*slowed_alike("rate", "work"), "achieved_share", "attempted_share", "unsent")


def client_on_time(run: RunRecord, figures: Figures) -> Verdict:
    """Each figure with a client that was on time, beside the figure as measured: invalid where they differ too much."""
    paced = paced_roles(run)
    found = brackets(run, figures, paced)
    if not found:
        return not_checked(NAME, "No call was timed: no figure has a bracket")
    broken = {name: b for name, b in found.items() if is_broken(name, b)}
    touched = [*broken, *overloaded(figures, broken, paced)]
    if broken:
        name, bracket = worst_of(broken)
        return invalid(
            NAME,
            f"The client itself was late: {shown(name, bracket)}{stall(run)}{starved(run, paced, broken)}{late_arrivals(run, paced)}. Invalid: "
            f"{grouped_figures(touched)}. {remedies(run)}{taken_by_others(run, roles_of(broken))}",
            figures=touched,
            size=bracket.ratio,
        )
    if doubt := in_doubt(run, found, paced):
        return not_checked(NAME, doubt)
    name, bracket = worst_of(found)
    if bracket.ratio > RESOLUTION:
        said = f"Within {percent(WIDEST - 1)}: {shown(name, bracket)}{late_arrivals(run, paced)}"
        return noted(NAME, said, size=bracket.ratio)
    return passed(
        NAME,
        f"On time, no figure differs by more than {percent(RESOLUTION - 1)}: {shown(name, bracket)}{late_arrivals(run, paced)}",
    )


@dataclass(frozen=True)
class Cause:
    """What is known to make a client late, and the option of `inrush run` that helps."""

    sentence: str
    option: str


OTHERS = Cause("Other processes took the processors that the client may use: stop them", "")
UNJOURNALED = Cause(
    "The data lies on ext4 without a journal, where a server that makes and deletes files holds a processor for "
    "milliseconds: take --data DIR on another filesystem",
    "--data DIR",
)
NO_PRIORITY = Cause(
    "The client had no real-time priority on the machine that it shares with the server: take --realtime",
    "--realtime",
)
QUOTA = Cause(
    "A control group holds the client to a quota of CPU that it used up: raise the quota, or give it processors of its own "
    "in place of a share (cpuset)",
    "",
)
ANYWHERE = "Lower the rate, use fewer sessions or more cores, run nothing beside it"


def causes(run: RunRecord) -> list[Cause]:
    """What this machine and this call have of it, as `inrush doctor` and the run's own record show: what took most stands
    first, and what has no share of the processors last."""
    shares = {QUOTA: held_back(run).share, OTHERS: taken_share(run)}
    found = [cause for cause in sorted(shares, key=lambda c: -shares[c]) if too_much(shares[cause])]
    found += [UNJOURNALED] if run.env.get("data_journal") is False else []
    # Processes of a fleet have none at all.
    if beside_a_server(run) and not workers_of(run) and "client_scheduling" not in run.env:
        found.append(NO_PRIORITY)
    return found


def taken_share(run: RunRecord) -> float:
    """Of the processors that the client may use, what other processes took; 0 where that is not known."""
    return max((of.others or 0.0 for of in starved_roles(run).values()), default=0.0)


def remedies(run: RunRecord) -> str:
    return ". ".join([*(cause.sentence for cause in causes(run)), ANYWHERE])


def is_broken(name: str, bracket: Bracket) -> bool:
    """Too wide, or the two ends decide differently whether every sample was stored in time."""
    decided = name.endswith(".in_time_share") and (bracket.on_time >= 1) != (bracket.measured >= 1)
    return decided or bracket.ratio > WIDEST


def worst_of(brackets: Mapping[str, Bracket]) -> tuple[str, Bracket]:
    """The widest; of equals one that people read first."""
    return max(
        brackets.items(), key=lambda item: (item[1].ratio, "latency" in item[0] or "sample" in item[0])
    )


def shown(name: str, bracket: Bracket) -> str:
    role, metric = name.rsplit(".", 1)
    what = " ".join(kind_and_quantile(metric)).strip()
    measured, on_time = (quantity.show(v, name) for v in (bracket.measured, bracket.on_time))
    bound = "" if bracket.recorded else "not below " if bracket.on_time <= bracket.measured else "not above "
    return f"{what} of {role} is {measured}, and with a client on time {bound}{on_time}"


def overloaded(figures: Figures, broken: Mapping[str, Bracket], paced: Sequence[str]) -> list[str]:
    """Rates of paced roles that did not send all that was due while most of their calls were late by the client."""
    return [
        f"{role}.{metric}"
        for role in paced
        if f"{role}.latency_p50_s" in broken and figures.get(f"{role}.attempted_share", 1.0) < 1
        for metric in RATES
        if f"{role}.{metric}" in figures
    ]


def roles_of(brackets: Mapping[str, Bracket]) -> list[str]:
    return list(dict.fromkeys(name.rsplit(".", 1)[0] for name in brackets))


def stall(run: RunRecord) -> str:
    stood_s, measured_s = stalled_s(run)
    return f"; its process stood still for {stood_s * 1e3:.3g} ms of {measured_s:.3g} s" if stood_s else ""


def starved(run: RunRecord, paced: Sequence[str], broken: Mapping[str, Bracket]) -> str:
    """What kept closed roles from running: the one that waited most."""
    roles = roles_of(broken)
    found = {role: of for role, of in starved_closed(run, paced).items() if role in roles and of.queued}
    quota = held_back(run)
    throttled = f"; its quota of CPU was used up in {quota.throttled:,} of {quota.periods:,} periods" * (
        quota.throttled > 0
    )
    if not found:
        return throttled
    role, of = max(found.items(), key=lambda item: item[1].queued or 0.0)
    waited = f"; its sessions of {role} waited for a processor for {percent(of.queued or 0.0)} of their time"
    if not of.others:
        return f"{waited}{throttled}"
    named = f" ({took})" if (took := took_most(run)) else ""
    least = "at least " if of.others_most != of.others else ""
    return f"{waited}{throttled}; other processes took {least}{percent(of.others)} of the processors that it may use{named}"


def in_doubt(run: RunRecord, found: Mapping[str, Bracket], paced: Sequence[str]) -> str:
    """Of closed roles that may have been kept from running: what is not known of it, and how it can be."""
    doubtful = {
        role: of
        for role, of in starved_closed(run, paced).items()
        if too_much(of.most) and not too_much(of.share) and f"{role}.ops_per_s" in found
    }
    if not doubtful:
        return ""
    role, of = max(doubtful.items(), key=lambda item: item[1].most)
    names = [name for name in found if name.rsplit(".", 1)[0] in doubtful and name.endswith(RATES)]
    why = unknown_of(of)
    return f"{grouped_figures(names)}: sessions of {role} waited for a CPU for up to {percent(of.most)} of the time; {why}"


def unknown_of(of: Starved) -> str:
    if of.queued is None:
        return (
            "this kernel does not count how long a thread waits for a processor: run nothing beside the study"
        )
    if of.others is not None:
        return "inrush could not see whether others used those of the client: run nothing beside the study"
    return (
        "inrush could not see who used it: the processes of the server, or the machine, were not watched. Run inrush as root or as "
        "the server's own user, or on a machine of its own"
    )


def too_much(share: float) -> bool:
    return share > 1 - 1 / WIDEST


def late_arrivals(run: RunRecord, paced: Sequence[str]) -> str:
    """Lateness also smooths bursts: the share of arrivals that were sent later than the mean gap between arrivals."""
    held = role_histograms(run, measured_windows(run))
    shares = {
        role: share
        for role, gap_s in mean_gaps_s(run).items()
        if role in paced and (role, "lag") in held and (share := share_above(held[role, "lag"], gap_s)) > 0
    }
    if not shares:
        return ""
    each = ", ".join(f"{percent(share, 1)} of {role}" for role, share in shares.items())
    return f". Sent later than the mean gap between arrivals: {each}"


def share_above(histogram: Histogram, value_s: float) -> float:
    above = [
        int(count)
        for bucket, count in zip(histogram.bucket, histogram.count, strict=True)
        if bucket_upper(int(bucket), histogram.grouping_power) > value_s * 1e9
    ]
    return sum(above) / histogram.n if histogram.n else 0.0


def taken_by_others(run: RunRecord, late_roles: Sequence[str]) -> str:
    """What no client can help: a processor that its host has taken away wakes nothing. Was it on time where it had them?"""
    steal_free = steal_free_part(run)
    if steal_free is None or steal_free.seconds >= steal_free.of_s:
        return ""
    steal, host = quiet.worst(run, "steal") or (0.0, None)
    held = {role: steal_free.figures.get(f"{role}.lag_p99_s") for role in late_roles}
    lags = ", ".join(f"{lag_s * 1e3:.3g} ms ({role})" for role, lag_s in held.items() if lag_s is not None)
    taken = f". The host {f'of {host.name} ' if host and host.name else ''}meanwhile gave {percent(steal, 1)} of the processors to others (steal)"
    if not lags:
        return f"{taken}: repeat when it does not"
    return (
        f"{taken}: in the {steal_free.seconds:,.0f} of {steal_free.of_s:,.0f} s in which it gave at most {percent(STEAL_SHARE)}, lag p99 was "
        f"{lags}. Repeat when it does not"
    )


GUARDS = (Guard(About.CLIENT, NAME, client_on_time, "No call was timed"),)
