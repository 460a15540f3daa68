"""Names of figures (`role.metric`): which of them a role has, and lists of them as people read them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from inrush.stats.measures import whole

Figures = Mapping[str, float]

#: Endings of figures that time, or what is made of it, stands in; counts and sizes are not among them.
TIMED = ("_s", "_per_s", "_share")


#: Shares that count calls or samples and hold no time.
UNTIMED = ("failed_share", "stored_share")


def timed_figures(figures: Figures, roles: Iterable[str]) -> list[str]:
    """Of these roles, of their parts, and of the wholes that they are part of, every figure that a slow client moves.

    Not of another part beside them.
    """
    named = set(roles)
    wholes = {whole(role) for role in named}

    def touched(role: str) -> bool:
        return role in named or whole(role) in named or role in wholes

    return [
        name
        for name in figures
        if touched(name.rsplit(".", 1)[0]) and name.endswith(TIMED) and not name.endswith(UNTIMED)
    ]


def role_figures(figures: Figures, role: str) -> list[str]:
    return [name for name in figures if whole(name.rsplit(".", 1)[0]) == whole(role)]


def said_figures(names: Iterable[str]) -> str:
    """`latency p50, p99 of users; rows per s of writers`: figures by role and kind, as people read them."""
    held: dict[str, dict[str, list[str]]] = {}
    for name in names:
        role, metric = name.rsplit(".", 1)
        kind, quantile = kind_and_quantile(metric)
        held.setdefault(role, {}).setdefault(kind, []).extend([quantile] if quantile else [])
    return "; ".join(
        ", ".join(" ".join([kind, ", ".join(qs)]).strip() for kind, qs in kinds.items()) + f" of {role}"
        for role, kinds in held.items()
    )


#: Quantiles as they ascend, the worst last.
QUANTILES = ("p50", "p90", "p99", "p999", "worst")


def grouped_figures(names: Iterable[str]) -> str:
    """`latency p50 to worst, queue p99 of writers and its tables`: a long list in short, nothing in it that was not named.

    What is named of a role and of the tables that it is split over is named once.
    """
    #: Role -> (whether of the role, whether of its tables) -> kind -> quantiles.
    held: dict[str, dict[tuple[bool, bool], dict[str, list[str]]]] = {}
    named = [name.rsplit(".", 1) for name in names]
    of_roles = {(part, metric) for part, metric in named if whole(part) == part}
    of_tables = {(whole(part), metric) for part, metric in named if whole(part) != part}
    for part, metric in named:
        role = whole(part)
        kind, quantile = kind_and_quantile(metric)
        if kind.startswith("worst "):
            kind, quantile = kind.removeprefix("worst "), "worst"
        both = ((role, metric) in of_roles, (role, metric) in of_tables)
        found = held.setdefault(role, {}).setdefault(both, {}).setdefault(kind, [])
        if quantile and quantile not in found:
            found.append(quantile)
    return "; ".join(
        ", ".join(f"{kind} {span_of(qs)}".strip() for kind, qs in kinds.items()) + f" of {OWNERS[both](role)}"
        for role, groups in held.items()
        for both, kinds in groups.items()
    )


#: Whether a figure is one of a role, of its tables, or both: whose it is.
OWNERS: Mapping[tuple[bool, bool], Callable[[str], str]] = {
    (True, False): lambda role: role,
    (True, True): lambda role: f"{role} and its tables",
    (False, True): lambda role: f"tables of {role}",
}


def span_of(quantiles: Sequence[str]) -> str:
    """`p50 to worst` where none between is missing, else each."""
    known = [q for q in QUANTILES if q in quantiles]
    places = [QUANTILES.index(q) for q in known]
    if len(known) > 2 and len(known) == len(quantiles) and places[-1] - places[0] == len(places) - 1:
        return f"{known[0]} to {known[-1]}"
    return ", ".join([*known, *(q for q in quantiles if q not in QUANTILES)])


def kind_and_quantile(metric: str) -> tuple[str, str]:
    """`latency_p99_s` -> (latency, p99); `latency_s`, the largest of them, -> (worst latency, "")."""
    if metric in ("latency_s", "sample_s"):
        return f"worst {metric.removesuffix('_s')}", ""
    bare = metric if metric.endswith("_per_s") else metric.removesuffix("_s")
    kind, _, quantile = bare.rpartition("_")
    if kind and quantile.startswith("p") and quantile[1:].isdigit():
        return kind.replace("_", " "), quantile
    return bare.replace("_", " "), ""
