"""What a study's sealed runs say of loads that were not run: which figure, along which factor, how busy what was. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from inrush.analysis.comparability import default_along
from inrush.analysis.points import Analysis, Measured, Point, headline, is_number, say
from inrush.analysis.verdicts import Outcome
from inrush.border.pipeline import each_role
from inrush.errors import UsageError
from inrush.guards.notes import stored_bytes
from inrush.metrics import lower_is_better
from inrush.model.capacity import Measured as Load
from inrush.model.forecast import Refused
from inrush.model.knee import NO_TREE
from inrush.model.pipeline import Part
from inrush.predict.cluster import ClusterRuns, cluster_runs, is_cluster_factor
from inrush.predict.growth import KNEE, Growth, growth_of, rows_held, steps_of
from inrush.predict.hosts import host_busy, host_parts, own_cores
from inrush.predict.pipelines import quota_busy, quota_parts
from inrush.predict.samples import interval_s, slowest_s
from inrush.stats.hosts import over_hosts
from inrush.stats.measures import measured_windows
from inrush.stats.record import RunRecord
from inrush.stats.watched import cumulative, grown, wholes
from inrush.text import show_s

#: load: sessions that share an engine; batch: rows of a call; volume: work to do; rows: of a table that a step fills; offered: a paced rate; sample: whatever
#: is varied of a role with samples due one after the other; other: the rest.
Kind = Literal["load", "batch", "volume", "rows", "offered", "sample", "other"]
SAME = 0.01
#: Not a figure of a run's clock, and predicted like one: the size of what was stored.
STORED = "stored.bytes"
#: Of servers, by inrush's own watch of this machine.
SERVER_CORES = frozenset({"server.busy_cores", "shards.busy_cores"})
#: Below this share of a machine's cores what inrush may use is another number: what is probed is a little less than all.
HELD_SHARE = 0.9


@dataclass(frozen=True)
class Trained:
    """One sealed run as the model sees it."""

    run_id: str
    x: float
    value: float
    #: Resource -> servers kept busy.
    busy: Mapping[str, float]
    #: Of each row or call, the seconds that one load paused by its schedule.
    pause_s: float = 0.0
    #: Of a role that writes samples, what the slowest take; 0 of others.
    slowest_s: float = 0.0


@dataclass(frozen=True)
class Training:
    """One engine at one value of every factor but the one that is continued."""

    group: Point
    along: str
    figure: str
    kind: Kind
    runs: tuple[Trained, ...]
    parts: tuple[Part, ...]
    #: Sentence of a guard that found throughput to swing: a mean of waves says nothing of another load.
    waves: str | None = None
    #: Seconds until the next sample is due, of a role that writes samples.
    every_s: float | None = None
    #: Of kind rows: which figure of which step, and where its rows go.
    growth: Growth | None = None
    #: Of nodes or clients of a cluster whose threads were watched: what an operation costs each of them.
    cluster: ClusterRuns | None = None
    #: Runs whose figure is invalid, or is none.
    left_out: int = 0

    @property
    def curve_kind(self) -> Literal["rate", "time", "latency"]:
        if self.kind == "offered" and lower_is_better(self.figure):
            return "latency"
        # A size is a cost: it has a fixed part and one for each row.
        return "time" if self.figure == STORED or lower_is_better(self.figure) else "rate"


def trainings(analysis: Analysis, along: str | None = None, figure: str | None = None) -> list[Training]:
    """A training for each group that has two values of the factor. Raises UsageError where nothing can be continued."""
    along = along or (analysis.study.get("answer") or {}).get("along") or default_along(analysis.factors)
    if along is None or along not in analysis.factors:
        varied = ", ".join(k for k in analysis.factors if k != "engine") or "nothing"
        raise UsageError(
            f"{along or 'no factor'}: a prediction continues a factor of the study, which varied {varied}"
        )
    asked = figure or headline(analysis)
    if asked is None:
        raise UsageError("no counted run measured anything to predict")
    if figure is not None:
        refuse_unknown(figure, analysis)
    found, shut_out = [], list[str]()
    tried = {asked}
    for group, runs in grouped(analysis, along).items():
        measured = asked if figure else stand_in(runs, along, asked)
        growth = growth_of(runs, along, measured)
        if growth is not None and growth.what == "knee" and not growth.store.direct:
            shut_out.append(f"{say(group)}: {NO_TREE}")
            continue
        kind: Kind = "rows" if growth else kind_of(runs, along, measured)
        name = figure or figure_for(kind, measured, runs)
        tried.add(name)
        values = [(m, trained_value(m, name, growth)) for m in runs if not m.broken(name)]
        held = [(m, value) for m, value in values if 0 < value < float("inf")]
        used = [m for m, _ in held]
        if len({dict(m.point)[along] for m in used}) >= 2:
            trained = tuple(as_trained(m, along, name, value) for m, value in held)
            every_s = interval_s(used[0].run, role_of(name)) if kind == "sample" else None
            found.append(
                Training(
                    group,
                    along,
                    name,
                    kind,
                    trained,
                    parts_of(used),
                    waves_of(used),
                    every_s,
                    growth,
                    cluster_of(used, along, name),
                    len(runs) - len(held),
                )
            )
    if not found and shut_out:
        raise UsageError("\n".join(shut_out))
    if not found:
        # What is invalid elsewhere, as in another step, is not why.
        broken = next((v for m in analysis.runs for v in m.verdicts if any(map(v.breaks, tried))), None)
        why = f" Invalid runs train nothing, here: {broken.guard}: {broken.sentence}" if broken else ""
        raise UsageError(
            f"{asked}: no group has two numbers of {along} with a valid run; a prediction needs two, better three.{why}"
        )
    return found


def cluster_of(runs: Sequence[Measured], along: str, figure: str) -> ClusterRuns | None:
    if not is_cluster_factor(along, runs) or not figure.endswith(".ops_per_s"):
        return None
    return cluster_runs(runs, figure, sum(p.capacity for p in parts_of(runs) if p.name == "cores"))


def refuse_unknown(figure: str, analysis: Analysis) -> None:
    """Raises UsageError with the figures that the runs have, the nearest first."""
    names = {STORED, *(name for m in analysis.runs if m.counts for name in m.figures)}
    # A load that has not waited has none, and says where one would.
    names |= {f"{s}.{KNEE}" for m in analysis.runs for s, do in steps_of(m).items() if do == "load"}
    if figure not in names:
        near = sorted(names, key=lambda name: (-SequenceMatcher(None, figure, name).ratio(), name))
        raise UsageError(f"--of {figure}: no such figure; there are, nearest first: {', '.join(near)}")


def waves_of(runs: Sequence[Measured]) -> str | None:
    """The first sentence of the guard, where most runs of a point swing; one of several is chance."""
    swinging = [
        v.sentence for m in runs for v in m.verdicts if v.guard == "no waves" and v.outcome is Outcome.NOTE
    ]
    judged = sum(v.guard == "no waves" for m in runs for v in m.verdicts)
    return swinging[0] if 2 * len(swinging) > judged else None


def grouped(analysis: Analysis, along: str) -> dict[Point, list[Measured]]:
    """Runs that count, by everything but the factor; points without a number of it are left out."""
    groups: dict[Point, list[Measured]] = {}
    for m in analysis.runs:
        held = dict(m.point)
        if m.counts and is_number(held.get(along)):
            key = tuple((k, v) for k, v in m.point if k != along and (k in analysis.factors or k == "engine"))
            groups.setdefault(key, []).append(m)
    return groups


def stand_in(runs: Sequence[Measured], along: str, figure: str) -> str:
    """The figure asked for, or where a group has no such role (it only reads), the rate of the one that is scaled."""
    if any(value_of(m, figure) > 0 for m in runs):
        return figure
    scaled = [
        name.removesuffix(".sessions")
        for name in runs[0].figures
        if name.endswith(".sessions") and "/" not in name and follows(runs, along, name)
    ]
    return f"{scaled[0]}.ops_per_s" if scaled else figure


def kind_of(runs: Sequence[Measured], along: str, figure: str) -> Kind:
    """What the factor scales, by what the runs did; by names only where those do not show it."""
    role = role_of(figure)
    if along == "batch_rows":
        return "batch"
    if interval_s(runs[0].run, role) is not None:
        return "sample"
    if along.endswith("_per_s"):
        return "offered"
    if follows(runs, along, f"{role}.sessions"):
        return "load"
    if figure == STORED or follows(runs, along, f"{role}.rows", per=f"{role}.repetitions"):
        return "volume"
    return "other"


def follows(runs: Sequence[Measured], along: str, figure: str, per: str | None = None) -> bool:
    """Whether a figure is in proportion to the factor."""
    shares = [
        m.figures[figure] / (m.figures[per] if per else 1.0) / dict(m.point)[along]
        for m in runs
        if m.figures.get(figure) and dict(m.point)[along]
    ]
    return len(shares) > 1 and max(shares) - min(shares) <= SAME * max(shares)


def figure_for(kind: Kind, figure: str, runs: Sequence[Measured]) -> str:
    """Where sessions or batches are scaled, the rate of what the study timed: models are of rates."""
    role = role_of(figure)
    if kind in ("load", "batch") and figure.endswith(".makespan_s"):
        rate = f"{role}.rows_per_s"
        return rate if all(m.figures.get(rate) for m in runs) else f"{role}.ops_per_s"
    if figure.endswith(".in_time_share"):  # a share has no law; the time of a sample has
        return f"{role}.insert_p50_s"
    return figure


def role_of(figure: str) -> str:
    return figure.rsplit(".", 1)[0]


def trained_value(m: Measured, figure: str, growth: Growth | None) -> float:
    """What a run says of the figure: its own, or of where a load begins to wait, which none of them did, how far that is."""
    if growth is not None and growth.what == "knee":
        return rows_held(m, figure, growth.store)
    return value_of(m, figure)


def as_trained(m: Measured, along: str, figure: str, value: float) -> Trained:
    x = float(dict(m.point)[along])
    slowest = slowest_s(m, role_of(figure))
    return Trained(m.run.run_id, x, value, busy_of(m), pause_of(m, figure), slowest)


def pause_of(m: Measured, figure: str) -> float:
    """Pauses of one load for each row, or call, of a closed role without parts; 0 where it pauses not or differs."""
    role, figures = role_of(figure), m.figures
    pauses = {
        pause_of_call(r)
        for _, r in each_role(m.run.plan)
        if r["name"] == role and r["schedule"]["kind"] == "closed"
    }
    sessions, ops = figures.get(f"{role}.sessions", 0.0), figures.get(f"{role}.ops", 0.0)
    units = figures.get(f"{role}.rows", 0.0) if figure.endswith(".rows_per_s") else ops
    if len(pauses) != 1 or not (sessions and ops and units):
        return 0.0
    return float(pauses.pop() * ops / units / sessions)


def pause_of_call(role: Mapping[str, Any]) -> float:
    """Seconds that a session of a closed role pauses for each call: all its slots think, and a batch waits once.

    Raises Refused where calls that end in the delay join the batch: how many, no small load says of a larger one.
    """
    schedule, depth = role["schedule"], max(1, int(role.get("depth") or 1))
    delay_ns = schedule.get("delay_ns", 0)
    if delay_ns and depth > 1 and schedule.get("refill") != "round":
        raise Refused(
            f"role {role['name']} waits {show_s(delay_ns / 1e9)} before it sends again, and calls that end meanwhile are sent "
            'with the others: how many is not known of a larger load. Measure with refill = "round", or without delay_s'
        )
    return float(schedule.get("think_ns", 0) + delay_ns) / depth / 1e9


def value_of(m: Measured, figure: str) -> float:
    """A figure of a run, or STORED: bytes on disk after its last repetition; 0 where it was not measured."""
    return stored_bytes(m.run) if figure == STORED else float(m.figures.get(figure, 0.0))


def busy_of(m: Measured) -> dict[str, float]:
    """Servers of each resource that the run kept busy, while its clock ran.

    Cores: of every role on this machine. Disk: bytes written over what the disk was probed to write. Of pipelines also
    what their study throttles.
    """
    if over_hosts(m.run):
        return host_busy(m.run, m.figures) | quota_busy(m.run, m.figures)
    busy: dict[str, float] = {}
    cores = cores_busy(m.figures)
    if cores:
        busy["cores"] = cores
    written, limit = written_bytes_per_s(m.run), float(m.run.env.get("disk_write_bytes_per_s") or 0)
    if written and limit:
        busy["disk"] = written / limit
    return busy | quota_busy(m.run, m.figures)


def cores_busy(figures: Mapping[str, float]) -> float:
    """An engine in the client's process is in `engine` and `instrument`, which leave out what lies between repetitions."""
    split = [figures[k] for k in ("engine.busy_cores", "instrument.busy_cores") if k in figures]
    if split:
        return sum(split)
    # Parts of a role are in their whole.
    whole = (k for k in figures if k.endswith(".busy_cores") and k.count(".") == 1 and "/" not in k)
    return sum(figures[k] for k in whole)


def written_bytes_per_s(run: RunRecord) -> float:
    """Of all watched roles, over the measured segments."""
    windows = measured_windows(run).values()
    span_s = sum(end - start for start, end in windows) / 1e9
    if span_s <= 0:
        return 0.0
    each = wholes(cumulative(run, "write_bytes"))
    return sum(grown(*held, *w) for held in each for w in windows) / span_s


def parts_of(runs: Sequence[Measured]) -> tuple[Part, ...]:
    """Resources of the machine that the runs were made on: what was probed, never what was busy."""
    if over_hosts(runs[0].run):
        return (*host_parts([m.run for m in runs]), *quota_parts(runs[0].run))
    env = runs[0].run.env
    cores = own_cores(env)
    found = [Part("cores", cores)] if cores and are_of_one_machine(runs) else []
    found += quota_parts(runs[0].run)
    return (*found, Part("disk")) if env.get("disk_write_bytes_per_s") else tuple(found)


def are_of_one_machine(runs: Sequence[Measured]) -> bool:
    """Whether all that works on this machine's cores was watched in each run, and may use the same of them. A server that inrush
    did not start may use cores that inrush is not held to."""
    watched = {frozenset(SERVER_CORES & m.figures.keys()) for m in runs}
    if len(watched) > 1 or any("server_unseen" in m.run.summary for m in runs):
        return False
    is_ours = all("settings_asked" in m.run.summary for m in runs)
    return is_ours or watched == {frozenset()} or not any(is_held(m.run.env) for m in runs)


def is_held(env: Mapping[str, Any]) -> bool:
    """Whether inrush may use fewer cores than its machine has."""
    return own_cores(env) < HELD_SHARE * float(env.get("cpu_logical") or 0)


def as_measured(training: Training) -> list[Load]:
    """The runs as `model.capacity` takes them."""
    return [Load(r.x, r.value, r.busy, r.pause_s) for r in training.runs]


def chosen(trainings: Sequence[Training], where: Sequence[str]) -> list[Training]:
    """Only groups that agree with every `factor=value`. Raises UsageError where none does."""
    wanted = {k: v for k, _, v in (w.partition("=") for w in where)}
    kept = [t for t in trainings if all(str(dict(t.group).get(k)) == v for k, v in wanted.items())]
    if not kept:
        groups = "; ".join(", ".join(f"{k}={v}" for k, v in t.group) for t in trainings)
        raise UsageError(f"--where {' '.join(where)}: no group agrees; there are: {groups}")
    return kept
