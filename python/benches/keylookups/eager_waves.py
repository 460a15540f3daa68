"""Does a port of a network that takes so many packets a second make reads of a MySQL Cluster swing, and does a send delay end it?

`python -m benches.keylookups.eager_waves`, as root: management server, data nodes and client on hosts of a laboratory. The port
of the client's host takes --packets-per-s packets a second, --queue-packets wait for it, and what is more is lost. The study is
`keylookup-delay`: in each block a run whose sessions send at once and one whose sessions wait --send-delay-ms. Printed are each
run's throughput, packets a read, wave and cause, and what inrush says of all.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benches.netlab.lab import Lab
from benches.netlab.ndb import CLIENT, hosts, names, ndb
from inrush.guards import waves
from inrush.guards.analyse import analyse
from inrush.results.store import Results, Store
from inrush.stats import series
from inrush.stats.measures import study_record
from inrush.stats.waves import RoleWave, waves_of_run

ROLE = "clients"
#: Of the whole study: a busy machine takes long for it, s.
LIMIT_S = 3_600.0


@dataclass(frozen=True)
class Setting:
    """Of the network and of the client, as `main` describes it."""

    nodes: int = 1
    packets_per_s: float = 100.0
    queue_packets: int = 12
    way_s: float = 0.05
    congestion: str = "reno"
    sessions: int = 4
    depth: int = 15
    send_delay_s: float = 0.1
    #: Of the data nodes, µs; more than 0 needs a thread that sends.
    max_send_delay_us: int = 0
    measure_s: float = 44.0
    warm_s: float = 3.0
    interval_s: float = 0.25
    blocks: int = 3

    def study(self, url: str) -> list[str]:
        asked = {
            "load.rows": 500, "factors.threads": [self.sessions], "factors.depth": [self.depth],
            "factors.delay_s": [0, self.send_delay_s], "schedule.warm_s": self.warm_s,
            "schedule.measure_s": self.measure_s, "schedule.cool_s": 0.5, "record.interval_s": self.interval_s,
            "repeats.count": self.blocks, "repeats.pilot": "false",
        }  # fmt: skip
        words = [word for name, value in asked.items() for word in ("-P", f"{name}={value}")]
        # Each session's calls leave by themselves.
        return ["run", "keylookup-delay", f"{url}?send=force", "--scale", "s", "--quiet", *words]

    def cluster(self) -> dict[str, str]:
        found = {"nodes": str(self.nodes), "replicas": str(min(2, self.nodes))}
        if self.max_send_delay_us:
            found["threads"] = "main:1+ldm:1+recv:1+rep:1+send:1"
            found["max_send_delay_us"] = str(self.max_send_delay_us)
        return found


@dataclass(frozen=True)
class Run:
    """One of the study."""

    delay_s: float
    block: int
    ops_per_s: float
    ops_per_send: float
    wave: RoleWave

    def said(self) -> str:
        w = self.wave
        visible = series.least_amplitude(w.of.rate, w.wave.period)
        named = ", ".join(f"{c.name} {c.share:.2f}" for c in w.causes) or "none"
        verdict = "wave" if w.wave.found else ("wave if others agree" if w.likely else "no wave")
        return (
            f"delay {self.delay_s * 1e3:g} ms, block {self.block}: {self.ops_per_s:,.0f} reads/s, {self.ops_per_send:.1f} a send; "
            f"{verdict}: ±{w.wave.amplitude * 100:.1f} % every {w.period_s:.2f} s, p = {w.wave.p:.3g}, swings with: {named}; "
            f"visible from ±{(visible or 0) * 100:.0f} %"
        )


def shaped(at: Lab, of: Setting) -> None:
    """The network of a laboratory, as the setting says it."""
    for name in (CLIENT, *names(of.nodes)):
        at[name].parameter("net.ipv4.tcp_congestion_control", of.congestion)
        # What an earlier connection has learnt of a way is forgotten.
        at[name].parameter("net.ipv4.tcp_no_metrics_save", "1")
    for name in names(of.nodes):
        at.way(CLIENT, name, delay_s=of.way_s)
    at.port(CLIENT, of.packets_per_s, of.queue_packets)


def measured(of: Setting, folder: Path) -> tuple[list[Run], str, dict[str, int]]:
    """All runs of the study, what inrush says of their waves, and the packets to the client that came or found the queue full.

    Raises RuntimeError where the study did not come to its end.
    """
    with hosts(of.nodes) as at, ndb(at, folder / "cluster", of.cluster()) as url:
        shaped(at, of)
        before = arrived(at, of)
        running = at[CLIENT].start(
            [sys.executable, "-m", "inrush.cli", *of.study(url)], folder / "log",
            {"INRUSH_RESULTS": str(folder / "results"), "NO_COLOR": "1"}, cwd=folder,
        )  # fmt: skip
        code = running.wait(LIMIT_S)
        after = arrived(at, of)
    # 3: a figure is invalid, such as by the start of a short run; the runs are whole.
    if code not in (0, 3):
        raise RuntimeError(f"inrush ended with {code}: {(folder / 'log').read_text()[-1000:]}")
    found = analyse(study_record(Results(Store(folder / "results").latest().path)))
    runs = [
        Run(float(dict(m.point)["delay_s"]), m.run.block, m.figures[f"{ROLE}.ops_per_s"],
            m.figures[f"{ROLE}.ops_per_send"], wave)
        for m in found.runs for wave in waves_of_run(m.run) if m.counts and wave.of.name == ROLE
    ]  # fmt: skip
    verdict = waves.waves_agree(found)
    said = verdict.sentence if verdict else "no run was long enough for a wave"
    return runs, said, {name: after[name] - before[name] for name in after}


def arrived(at: Lab, of: Setting) -> dict[str, int]:
    """Packets of the data nodes to the client since the laboratory is there: carried, and those that found the queue full."""
    counts = [at.counted(name, CLIENT) for name in names(of.nodes)]
    return {what: sum(c[what] for c in counts) for what in ("carried", "full")}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    usual = Setting()
    parser.add_argument("--blocks", type=int, default=usual.blocks)
    parser.add_argument(
        "--nodes", type=int, default=usual.nodes, help="data nodes; two or more hold each row twice"
    )
    parser.add_argument("--packets-per-s", type=float, default=usual.packets_per_s)
    parser.add_argument("--queue-packets", type=int, default=usual.queue_packets)
    parser.add_argument(
        "--way-ms", type=float, default=usual.way_s * 1e3, help="one way, between client and data nodes"
    )
    parser.add_argument("--congestion", default=usual.congestion, help="TCP's congestion control")
    parser.add_argument("--sessions", type=int, default=usual.sessions)
    parser.add_argument("--depth", type=int, default=usual.depth, help="reads in flight of each session")
    parser.add_argument("--send-delay-ms", type=float, default=usual.send_delay_s * 1e3, help="of the client")
    parser.add_argument(
        "--max-send-delay-us",
        type=int,
        default=usual.max_send_delay_us,
        help="of the data nodes, in all runs",
    )
    parser.add_argument("--measure-s", type=float, default=usual.measure_s)
    parser.add_argument("--data", type=Path, default=Path("/var/tmp"))
    a = parser.parse_args(argv)
    setting = Setting(
        a.nodes, a.packets_per_s, a.queue_packets, a.way_ms / 1e3, a.congestion, a.sessions, a.depth, a.send_delay_ms / 1e3,
        a.max_send_delay_us, a.measure_s, blocks=a.blocks,
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="inrush-eager-waves-", dir=a.data) as name:
        runs, said, packets = measured(setting, Path(name))
    for one in sorted(runs, key=lambda r: (r.delay_s, r.block)):
        print(one.said())
    print(f"packets to the client: {packets['carried']:,} carried, {packets['full']:,} lost at the port")
    print(said)
    if len(runs) < 2 * setting.blocks:
        print(f"{2 * setting.blocks - len(runs)} of {2 * setting.blocks} runs have no figures")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
