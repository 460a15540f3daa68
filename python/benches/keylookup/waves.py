"""docs/findings/waves.md and its picture: `python -m benches.keylookup.waves`.

Takes minutes of one core, most of them for the clusters that are drawn at random. The same seeds give the same page: a
test makes some of its figures again. What was measured on a server comes from `waves_server.csv`, which `--results DIR`
writes anew from results of `keylookup-waves`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benches.keylookup import waves_random, waves_server
from benches.keylookup.cluster_002 import MACHINES, PUBLISHED, at
from benches.page_pictures import STYLE
from inrush.model.cluster import Checkpoint, ServerKind, SimulatedCluster, SimulatedOutcome, simulated
from inrush.model.cluster_waves import SimulatedWave, wave_of

PAGE = Path(__file__).parents[3] / "docs" / "findings" / "waves.md"
SEEDS = (1, 2, 3)
DELAY_S = waves_random.DELAY_S

#: Messages stay whole, as in `make bench`: a series needs many intervals.
WHOLE = replace(
    PUBLISHED,
    tc=replace(PUBLISHED.tc, pieces=1),
    ldm=replace(PUBLISHED.ldm, pieces=1),
    warm_s=0.02,
    measure_s=0.06,
    interval_s=0.0003,
)
#: As eager as can be, with API nodes that pay dearly for packets and nodes that have time left.
EAGER = replace(
    WHOLE, nodes=6, machines=10, threads=4, parallel=256, refill="round", send_delay_s=0.0, wire_s=100e-6,
    client=ServerKind(1, per_op_s=0.5e-6, per_send_s=2e-6, per_packet_s=6e-6, route="first_free"),
    client_interrupts=ServerKind(1, per_packet_s=1.5e-6, route="first_free"),
    interrupts=ServerKind(1, per_packet_s=0.2e-6, route="first_free"),
    ldm=ServerKind(12, per_op_s=1.5e-6, service="exponential"),
    send=ServerKind(2, per_op_s=0.2e-6, per_send_s=1e-6, route="connection"),
    warm_s=0.08, interval_s=0.0001,
)  # fmt: skip
#: Connections that are slower than their nodes, and take few packets at once.
BUFFERED = replace(
    EAGER, threads=1, parallel=1024, refill="each", wire_s=200e-6, buffer_packets=8,
    client=ServerKind(1, per_op_s=0.49e-6, per_send_s=0.76e-6, per_packet_s=5.0e-6, route="first_free"),
    client_interrupts=ServerKind(1, per_packet_s=0.16e-6, route="first_free"),
    ldm=ServerKind(12, per_op_s=0.99e-6),
    send=ServerKind(2, per_op_s=0.1e-6, per_send_s=1e-6, route="connection"),
    measure_s=0.08,
)  # fmt: skip
CHECKPOINTS = Checkpoint(every_s=0.004, lasts_s=0.0012, share=0.9, slice_s=0.0001)
#: Small enough that its LDM threads decide.
CHECKPOINTED = replace(
    WHOLE,
    nodes=6,
    machines=10,
    ldm=replace(WHOLE.ldm, per_op_s=1.8e-6),
    checkpoint=CHECKPOINTS,
    measure_s=0.12,
)


@dataclass(frozen=True)
class Case:
    name: str
    cluster: SimulatedCluster
    outcome: SimulatedOutcome
    seen: SimulatedWave | None


def case(name: str, cluster: SimulatedCluster) -> Case:
    outcome = simulated(cluster)
    return Case(name, cluster, outcome, wave_of(cluster, outcome))


def published_cases() -> list[Case]:
    found = []
    for machines in (37, 40):
        cluster = replace(at(PUBLISHED, MACHINES, machines), measure_s=0.06, interval_s=0.0003)
        found += [
            case(f"{machines} API machines, send delay of 200 µs", cluster),
            case(f"{machines} API machines, eager sends", replace(cluster, send_delay_s=0.0)),
        ]
    return found


def eager_cases() -> list[Case]:
    return [
        case(f"{name}, seed {seed}", replace(EAGER, send_delay_s=delay_s, seed=seed))
        for name, delay_s in (("eager sends", 0.0), ("send delay of 300 µs", DELAY_S))
        for seed in SEEDS
    ]


def large_cases() -> list[Case]:
    """The same rounds at the published size."""
    return [
        case(
            f"{machines} API machines, {name}",
            replace(EAGER, nodes=24, machines=machines, send_delay_s=delay_s),
        )
        for machines in (37, 40)
        for name, delay_s in (("eager sends", 0.0), ("send delay of 300 µs", DELAY_S))
    ]


def buffered_cases() -> list[Case]:
    return [
        case(f"{name}, seed {seed}", replace(BUFFERED, seed=seed, **changed))
        for name, changed in (
            ("eager sends, a connection takes 8 packets", {}),
            ("the same with a send delay of 400 µs", {"send_delay_s": waves_random.BUFFERED_DELAY_S}),
            ("eager sends, a connection takes all", {"buffer_packets": 0}),
        )
        for seed in SEEDS
    ]


def checkpoint_cases() -> list[Case]:
    return [
        case(f"{name}, seed {seed}", replace(CHECKPOINTED, checkpoint=checkpoint, seed=seed))
        for name, checkpoint in (("a checkpoint every 4 ms", CHECKPOINTS), ("no checkpoint", Checkpoint()))
        for seed in SEEDS
    ]


def rows(cases: Sequence[Case]) -> str:
    return "\n".join(row(c) for c in cases)


def row(c: Case) -> str:
    o, seen = c.outcome, c.seen
    wave = (
        "none" if seen is None else f"±{seen.wave.amplitude * 100:.1f} % every {seen.period_s * 1e3:.2g} ms"
    )
    if seen is not None and not seen.wave.found:
        wave = f"none (strongest period {wave})"
    cause = ", ".join(f"{k.name} ({k.share:.2f})" for k in seen.causes[:2]) if seen else ""
    return f"| {c.name} | {o.ops_per_s / 1e6:.1f} | {o.ops_per_send:.1f} | {o.ops_per_packet:.1f} | {wave} | {cause or '–'} |"


def drawn_said() -> str:
    """What the clusters that were drawn at random had."""
    found = waves_random.counts(WHOLE)
    return (
        f"{found['none']} had no wave, {found['both']} had one with both, {found['delayed']} with the delay alone, and "
        f"{found['eager']} with eager\nsends alone."
    )


def buffered_said() -> str:
    found = waves_random.buffered_counts(WHOLE)
    return (
        f"With eager sends {found['eager']} of {waves_random.BUFFERED_CLUSTERS} had a wave, and {found['endless']} where a "
        f"connection takes all. The delay\nended {found['cured']} of the {found['eager']}."
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--results", type=Path, help="results of keylookup-waves, for the table of the server"
    )
    asked = parser.parse_args(argv)
    if asked.results:
        waves_server.take(asked.results)
    server = waves_server.table()
    published, eager, checkpoints = published_cases(), eager_cases(), checkpoint_cases()
    buffered = buffered_cases()
    text = HEAD.format(
        published=rows(published), eager=rows(eager), large=rows(large_cases()), checkpoints=rows(checkpoints),
        buffered=rows(buffered), buffered_drawn=buffered_said(), buffered_clusters=waves_random.BUFFERED_CLUSTERS,
        clusters=waves_random.CLUSTERS, drawn=drawn_said(), answer=waves_server.answer(server), server=waves_server.rows(server),
    )  # fmt: skip
    PAGE.write_text(text, encoding="utf-8")
    shown = [buffered[0], buffered[len(SEEDS)], checkpoints[0], checkpoints[len(SEEDS)]]
    PAGE.with_suffix(".svg").write_text(svg(shown), encoding="utf-8")
    print(f"{PAGE}\n{PAGE.with_suffix('.svg')}")
    return 0


HEAD = """# Waves: throughput that swings, what makes it swing, and what cures it

`python -m benches.keylookup.waves` writes this page and its picture, good or bad. The clusters are simulated message
by message ([decision 262](../decisions/262-a-cluster-is-simulated-by-messages.md)) and judged by the [tests that runs
are judged by](../statistics.md#waves). The server is a real one.

![Throughput of simulated clusters over time](waves.svg)

## Do checkpoints of the data nodes make a wave?

**Answer.** Yes, and it is found with its period, its cause is named, and it is gone without them. Ten API machines
are before six data nodes. Every 4 ms all LDM threads spend 90 % of 1.2 ms on something else.

| cluster | reads/s, M | reads in a send | in a packet | wave | swings with it (coherence) |
|---|---:|---:|---:|---|---|
{checkpoints}

## Do eager sends make the published wave?

M. Ronström describes it (200M reads per second in MySQL Cluster 7.4, 2015): nodes send answers at once, in small
packets; API nodes spend more time on each byte and slow down; later the nodes send larger packets again.
`MaxSendDelay` ended it.

**Answer.** Yes, where a connection takes only a few packets that it has not read; but there a send delay does not end
it. Without this limit not: three ways were tried. In one of them eager sends make another wave, which a send delay
ends in two of three seeds (4).

**1. A connection that takes few packets.** A node sends a connection no more packets than it has room for
(`buffer_packets`, less those that it has not read), as TCP does with a receive buffer; the rest of its answers waits.
The connection is the slowest part. Six nodes, ten API machines, reads asked for again one by one, 1,024 in flight on
each connection. The size of sends swings with the throughput in two of three seeds:

| cluster | reads/s, M | reads in a send | in a packet | wave | swings with it (coherence) |
|---|---:|---:|---:|---|---|
{buffered}

Where a connection takes all, it has small packets for ever: fewer reads a second, and no wave. The send delay changes
little, since the packets of what waits for room are full already.

{buffered_clusters} more were drawn at random: 128 to 1,024 reads in flight on a connection, 4 to 32 packets unread, a
packet of 1 to 6 µs, a wire of 20 to 200 µs (`benches/keylookup/waves_random.py`).
{buffered_drawn}

**2. The published cluster**, with the costs that were fitted to its curves ([key look-ups,
scaling](keylookup-scaling.md)). Eager sends are smaller and cost throughput, and no period stands out by 3 %:

| cluster | reads/s, M | reads in a send | in a packet | wave | swings with it (coherence) |
|---|---:|---:|---:|---|---|
{published}

**3. Clusters drawn at random**, whose connections take all. {clusters} of them: six nodes, ten API machines, reads
asked for again one by one, by half or by round, 64 to 1,024 of them in flight, a packet of 1 to 6 µs for an API node
and up to 1.5 µs for its machine, cheap and dear sends, a wire of 20 to 400 µs, LDM threads of fixed and exponential
service; each with eager sends and with a send delay of 300 µs (`benches/keylookup/waves_random.py`).

{drawn}

In this model a delay makes waves more often than it ends them: it is a clock that every destination waits for, also
where nothing else is to be sent. `MaxSendDelay` waits only where there is other traffic.

**4. The clearest one** of an earlier draw, with three seeds and at the published size. An API node has four threads,
each
sends a round of 256 reads when all are back, and a packet costs it 6 µs. Its threads take turns, and the nodes answer
them in step: throughput swings once a quarter of a round, and with it the reads in a send. Before six nodes a delay
ends that; one of three seeds then swings once a round. At 37 and 40 API machines before 24 nodes (one seed each) it
does not: there as many reads share a send with the delay as without:

| cluster | reads/s, M | reads in a send | in a packet | wave | swings with it (coherence) |
|---|---:|---:|---:|---|---|
{eager}
{large}

**Why only with a limit.** Where a connection takes all, small packets stay small. An API node that is slow leaves its
nodes idle, so they answer each read at once, and it stays slow: with reads asked for one by one the published cluster
gives 16 M reads a second and stays there
([scaling](keylookup-scaling.md#why-does-the-rate-stop-growing-between-37-and-40-api-machines)). The limit brings large
packets back. How many packets an API node of the published cluster took unread was not published.

## Do eager sends make a real cluster swing?

**Answer.** Yes, behind a port that takes few packets a second: reads of a MySQL Cluster swing by ±19 % every 2.4 s in
three of three runs, in the rhythm of the calls in a send. A send delay of the client ends it.

```
python -m benches.keylookup.eager_waves
```

As root. Management server, one data node and the client are hosts of a laboratory (namespaces of one kernel,
`benches/netlab`), 50 ms apart. The port of the client takes 100 packets a second, 12 wait for it, and what is more is
lost. TCP is Reno. Four sessions have 15 reads in flight each, and each sends its calls by itself (`keylookup-delay`
with `send=force`). Intervals of 0.25 s, runs of 44 s in shuffled blocks.

| send delay of the client | block | reads/s | calls in a send | strongest period | p | swings with (coherence) |
|---|---:|---:|---:|---|---:|---|
| none | 1 | 321 | 4.4 | ±19.1 % every 2.51 s | 0.001 | calls in a send (0.83) |
| none | 2 | 315 | 4.3 | ±22.4 % every 2.44 s | 0.001 | calls in a send (0.70) |
| none | 3 | 321 | 4.3 | ±15.1 % every 2.38 s | 0.001 | calls in a send (0.73) |
| 100 ms | 1 | 271 | 15.0 | ±2.1 % every 1.93 s | no wave | |
| 100 ms | 2 | 270 | 15.0 | ±3.7 % every 0.51 s | no wave | |
| 100 ms | 3 | 271 | 15.0 | ±1.9 % every 3.71 s | no wave | |

inrush says of them: `throughput swings by ±19 % every 2.44 s in 3 of 3 runs, in the rhythm of calls per send of clients
(3 runs); at delay_s 0.1 there is no wave (one of ±3 % would have been seen)`. The delay takes more time than it saves
here: reads are 16 % fewer. 27 November 2026, two cores, tests of inrush beside it; 32,028 packets came to the client,
and 172 found the queue full.

What this fits: TCP counts packets, not bytes. Answers leave at once, in small packets, and the window grows by a packet
each round trip. The queue before the port grows with it, and so does the round trip: reads in flight are as many as
before, so there are fewer a second. When the queue is full a packet is lost and the window is halved. Then answers wait
on their node and leave in large packets, the queue is empty, and reads are fast until the window has grown again. The
windows themselves were not sampled at this setting. It is what was published, with a port in the place of an API node
that is slow with packets.

The setting was searched for. **Where no wave was seen**, by one run each:

| network | reads/s | what was seen |
|---|---:|---|
| loopback | | packets cost almost nothing, and both cores are full first |
| two data nodes, 1,500 packets/s, 40 ms | 3,848 | windows of one node's connection 22 to 55 packets |
| one data node, 500 packets/s, 60 ms, 256 in flight | 2,186 | windows of 24 to 50 packets |
| one data node, 250 packets/s, 40 ms, 64 in flight | 807 | ±7 % every 0.92 s, p = 0.05 |

`MaxSendDelay` of the nodes does not end it here. With 11 ms, the most that MySQL Cluster takes (`--max-send-delay-us
11000`), runs without a delay of the client swing by ±11, ±17 and ±18 % every 2.41 to 2.55 s (p ≤ 0.002 in three of
three), in the rhythm of calls in a send again; with one of 100 ms there is no wave. A packet is 50 ms on its way, so 11
ms gather few answers more: 5.0 to 5.2 calls share a send, without it 4.3 to 4.4. Not measured: two data nodes at this
setting.

## Do checkpoints of a real server make a wave?

**Answer.** {answer}

```
inrush run keylookup-waves --start postgresql,synchronous_commit=off,wal_compression=pglz --data DIR
```

100,000 rows; one connection with 32 changes in flight; a checkpoint every 2.5 s or none; 160 intervals of 0.25 s a
run; 26 November 2026, two cores that other programs used as well.

| checkpoints | block | period | amplitude | p | calls of checkpoints (coherence) | bytes that the server wrote |
|---:|---:|---|---:|---:|---:|---:|
{server}

After a checkpoint each page is written to the log as a whole when it first changes, and is compressed first. So
changes are dear until most pages have changed. The same study with 500,000 rows had no wave under its checkpoints: at
that rate most changes of 2.5 s met a page that had not changed yet, so all of them were dear. What a checkpoint costs
then is in the mean, and a test for waves cannot see it."""

WIDTH, PLOT_WIDTH, PLOT_HEIGHT, LEFT, TOP, GAP = 800, 330, 96, 50, 66, 62
#: Seconds of each series that are drawn.
SHOWN_S = 0.024


def svg(cases: Sequence[Case]) -> str:
    """Four panels: what makes a wave on the left, its cure on the right; each from 0."""
    title = "Throughput of simulated clusters: waves that were made (left) and cured (right)"
    height = TOP + 2 * (PLOT_HEIGHT + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img">',
        f"<title>{title}</title>",
        f"<style>{STYLE}.curve{{fill:none;stroke:var(--mark);stroke-width:1.2}}</style>",
        f'<text class="title" x="8" y="18">{title}</text>',
        f'<text class="soft" x="8" y="35">million reads a second over {SHOWN_S * 1e3:.0f} ms, from 0</text>',
    ]
    for n, c in enumerate(cases):
        parts += panel(c, LEFT + n % 2 * (PLOT_WIDTH + 60), TOP + n // 2 * (PLOT_HEIGHT + GAP))
    return "\n".join([*parts, "</svg>", ""])


def panel(c: Case, left: float, top: float) -> list[str]:
    step_s = c.cluster.interval_s
    rates = [n / step_s / 1e6 for n in c.outcome.series[: round(SHOWN_S / step_s)]]
    most, base = 1.15 * max(rates), top + PLOT_HEIGHT

    def at_point(i: int, rate: float) -> str:
        return f"{left + i / len(rates) * PLOT_WIDTH:.1f},{base - rate / most * PLOT_HEIGHT:.1f}"

    line = " ".join(at_point(i, rate) for i, rate in enumerate(rates))
    high = int(max(rates))
    return [
        f'<line class="grid" x1="{left}" x2="{left + PLOT_WIDTH}" y1="{base}" y2="{base}"/>',
        f'<text class="soft" text-anchor="end" x="{left - 6}" y="{base + 4}">0</text>',
        f'<text class="soft" text-anchor="end" x="{left - 6}" y="{base - high / most * PLOT_HEIGHT + 4:.1f}">{high}</text>',
        f'<polyline class="curve" points="{line}"/>',
        f'<text x="{left}" y="{base + 18}">{c.name.rpartition(",")[0]}</text>',
    ]


if __name__ == "__main__":
    sys.exit(main())
