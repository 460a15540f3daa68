"""Is a row on the disk when it is acknowledged? No disk takes more than it can. Pure."""

from __future__ import annotations

from inrush.analysis.run_facts import survives
from inrush.analysis.verdicts import Figures, Verdict, invalid, noted, passed
from inrush.guards.guard import About, Guard
from inrush.stats.figure_names import role_figures
from inrush.stats.measures import writing_roles
from inrush.stats.record import RunRecord

#: What the failure of a run says, whosever disk was full.
MAKE_ROOM = "make room"
# A short probe on a busy disk can find a fraction of what the disk does.
IMPLAUSIBLE, IMPOSSIBLE = 1.5, 5.0  # times the best probe; the latter also times what the probes differ by


def below_physical_ceilings(run: RunRecord, figures: Figures) -> Verdict | None:
    """Commits that survive power loss against the disk's fsyncs, stored bytes against its writes.

    The best of several probes counts, some made after the run that looked too fast. They are as sure as they agree:
    a disk that was found s times better at one moment than at another may be s times better again than its best.
    """
    fsyncs, writes = (probed(run, kind) for kind in ("fsync", "write"))
    if survives(run) != "POWER_LOSS" or not fsyncs or not writes:
        return None
    name = "below physical ceilings"
    shares: list[tuple[float, float, str]] = []
    for role in sorted(writing_roles(run.plan)):
        sessions = max(1.0, figures.get(f"{role}.sessions", 1.0))  # they may share an fsync
        commits, sent = figures.get(f"{role}.ops_per_s", 0.0), figures.get(f"{role}.bytes_per_s", 0.0)
        for rate, probes, share in ((commits, fsyncs, sessions), (sent, writes, 1.0)):
            shares.append((rate / (max(probes) * share), max(probes) / min(probes), role))
    if not any(times for times, _, _ in shares):
        return None

    def said(role: str) -> str:
        commits, sent = figures.get(f"{role}.ops_per_s", 0.0), figures.get(f"{role}.bytes_per_s", 0.0)
        return (
            f"{role}: {commits:.0f} commits/s and {sent / 1e6:.1f} MB/s on a disk that was probed to do "
            f"{max(fsyncs):.0f} fsyncs/s and {max(writes) / 1e6:.0f} MB/s"
        )

    worst, spread, worst_role = max(shares)
    impossible = dict.fromkeys(role for times, differ, role in shares if times > IMPOSSIBLE * differ)
    if impossible:
        return invalid(
            name,
            f"{'; '.join(map(said, impossible))}: the data is not on the disk when it is acknowledged. Look at the "
            "settings and the disk's cache",
            figures=[figure for role in impossible for figure in role_figures(figures, role)],
            size=worst,
        )
    if worst > IMPLAUSIBLE:
        doubt = f"the probes differ by a factor of {spread:.1f}, so " if worst > IMPOSSIBLE else ""
        return noted(
            name,
            f"Inconclusive: {said(worst_role)}. More than any probe and less than would be impossible: {doubt}the disk may "
            "have been busy when it was probed; repeat on a quiet machine",
            size=worst,
        )
    if worst > 1:
        return passed(
            name, f"{said(worst_role)}: {worst:.2g} times the best probe, which a short probe may miss"
        )
    return passed(name, "Commits and bytes stay below what the disk was probed to do")


def probed(run: RunRecord, kind: str) -> list[float]:
    """Every probe of a ceiling (`fsync` a second, `write` in bytes/s), before the study and after the run."""
    ceiling = {"fsync": "disk_fsync_per_s", "write": "disk_write_bytes_per_s"}[kind]
    found = [
        float(v)
        for facts in (run.env, run.summary.get("disk_after") or {})
        for v in (facts.get(f"disk_{kind}_probes") or [facts.get(ceiling) or 0.0])
    ]
    return [v for v in found if v > 0]


GUARDS = (
    Guard(
        About.LAWS,
        "below physical ceilings",
        below_physical_ceilings,
        "No rows were to survive power loss, or the disk was not probed",
    ),
)
