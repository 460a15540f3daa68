"""docs/findings/keylookup-scaling.md and its picture: `python -m benches.keylookup.scaling`.

Takes a minute of one core. The same seeds give the same page: a test makes some of its figures again.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benches.keylookup.cluster_002 import (
    AT_NODES,
    FITTED,
    MACHINES,
    NODES,
    PUBLISHED,
    Point,
    at,
    fitted,
    points,
    published,
)
from benches.page_pictures import STYLE
from inrush.model.cluster import SimulatedCluster, SimulatedOutcome, simulated

PAGE = Path(__file__).parents[3] / "docs" / "findings" / "keylookup-scaling.md"
NAMES = {NODES: "data nodes", MACHINES: f"API machines before {AT_NODES} data nodes"}
STATIONS = {
    "client": "API nodes",
    "interrupts": "interrupts",
    "recv": "receive",
    "tc": "TC",
    "ldm": "LDM",
    "send": "send",
}
#: What else an API node might have in flight: the published text does not say.
OTHERS = (2048, 8192)


def main() -> int:
    cluster = fitted()
    found = {curve: points(cluster, curve) for curve in (NODES, MACHINES)}
    PAGE.write_text(page(cluster, found), encoding="utf-8")
    PAGE.with_suffix(".svg").write_text(svg(found), encoding="utf-8")
    print(f"{PAGE}\n{PAGE.with_suffix('.svg')}")
    return 0


def page(cluster: SimulatedCluster, found: dict[str, list[Point]]) -> str:
    held = [p for of in found.values() for p in of]
    claimed = [p for p in held if not p.fitted]
    worst = max(claimed, key=lambda p: abs(p.error))
    at_37, at_40 = (next(p.outcome for p in found[MACHINES] if p.load == n) for n in (37, 40))
    return HEAD.format(
        predicted=len(claimed),
        worst=f"{abs(worst.error) * 100:.1f} %",
        worst_at=f"{worst.load} {NAMES[worst.curve]}",
        interrupt_us=cluster.interrupts.per_packet_s * 1e6,
        client_us=cluster.client.per_op_s * 1e6,
        points="\n".join(point_rows(found)),
        stall="\n".join(stall_rows(found[MACHINES])),
        asked_more=f"{(at_40.ops_per_s / at_37.ops_per_s - 1) * 100:+.1f} %".replace("-", "−"),
        packed_first=f"{found[NODES][0].outcome.ops_per_packet:.1f}",
        packed_last=f"{found[NODES][-1].outcome.ops_per_packet:.1f}",
        ops_per_packet=f"{at_37.ops_per_packet:.1f}",
        packets=f"{packets_per_s(at_37) / AT_NODES / 1e6:.2f}",
        api_37=f"{at_37.stations['client']['busy'] * 100:.0f} %",
        api_40=f"{at_40.stations['client']['busy'] * 100:.0f} %",
        treatments="\n".join(treatment_rows(cluster)),
        others="\n".join(other_rows(claimed)),
    )


def point_rows(found: dict[str, list[Point]]) -> list[str]:
    rows = []
    for curve, of in found.items():
        for p in of:
            use = "fitted" if p.fitted else "predicted"
            rows.append(
                f"| {NAMES[curve]} | {p.load} | {p.published_per_s / 1e6:.2f} | {p.outcome.ops_per_s / 1e6:.2f} | {signed(p.error)} | "
                f"{use} | {p.outcome.ops_per_send:.0f} | {p.outcome.ops_per_packet:.1f} | {fullest(p.outcome)} |"
            )
    return rows


def fullest(outcome: SimulatedOutcome) -> str:
    busiest = sorted(outcome.stations.values(), key=lambda s: -s["busy"])[:2]
    return ", ".join(f"{STATIONS[s['name']]} {s['busy'] * 100:.0f} %" for s in busiest)


def signed(share: float) -> str:
    return f"{share * 100:+.1f} %".replace("-", "−")


def packets_per_s(outcome: SimulatedOutcome) -> float:
    """Of all nodes, both ways."""
    return (outcome.requests["packets"] + outcome.replies["packets"]) / outcome.measured_s


def stall_rows(of: Sequence[Point]) -> list[str]:
    rows = []
    for p in of:
        if p.load < 30:
            continue
        o = p.outcome
        shares = " | ".join(f"{o.stations[name]['busy'] * 100:.0f} %" for name in STATIONS)
        rows.append(
            f"| {p.load} | {p.published_per_s / 1e6:.1f} | {o.ops_per_s / 1e6:.1f} | {packets_per_s(o) / AT_NODES / 1e6:.2f} | "
            f"{o.ops_per_packet:.1f} | {shares} |"
        )
    return rows


def treatment_rows(cluster: SimulatedCluster) -> list[str]:
    """What would have been, at 40 machines: each changes one thing."""
    plain = at(cluster, MACHINES, 40)
    cases = (
        ("as published", plain),
        ("packets of 4 KB (26 reads)", replace(plain, packet_ops=26)),
        ("interrupts cost nothing", plain.scaled("interrupts", 0.0)),
        ("no send delay", replace(plain, send_delay_s=0.0)),
        ("API nodes send whenever an answer is back", replace(plain, refill="each")),
    )
    rows = []
    for name, case in cases:
        o = simulated(case)
        rows.append(
            f"| {name} | {o.ops_per_s / 1e6:.1f} | {o.ops_per_send:.1f} | {o.ops_per_packet:.1f} | {fullest(o)} |"
        )
    return rows


def other_rows(claimed: Sequence[Point]) -> list[str]:
    """The same with other assumptions, fitted again."""
    rows = [other_row(PUBLISHED.parallel, claimed)]
    for parallel in OTHERS:
        cluster = fitted(replace(PUBLISHED, parallel=parallel))
        loads = {curve: [n for n in of if n not in FITTED[curve]] for curve, of in published().items()}
        rows.append(
            other_row(parallel, [p for curve, of in loads.items() for p in points(cluster, curve, of)])
        )
    return rows


def other_row(parallel: int, claimed: Sequence[Point]) -> str:
    worst = max(claimed, key=lambda p: abs(p.error))
    within = sum(abs(p.error) <= 0.05 for p in claimed)
    return f"| {parallel:,} | {within} of {len(claimed)} | {signed(worst.error)} at {worst.load} {NAMES[worst.curve]} |"


HEAD = """# Key look-ups: how a published cluster scales, and why it stalls

`python -m benches.keylookup.scaling` writes this page and its picture, good or bad. inrush measured no figure here: a
published cluster is simulated message by message ([decision
262](../decisions/262-a-cluster-is-simulated-by-messages.md)), and the figures of its author are beside it.

![Reads a second, published and simulated](keylookup-scaling.svg)

## Does the simulation give the published curves?

**Answer.** Yes. Two costs are fitted on four of the thirteen points. The other {predicted} are within {worst} of what was
published; the worst is at {worst_at}. The goal was 5 %. It is no blind test: how many reads are in flight,
and when an API node asks again, was chosen after a look at all points ([below](#do-the-assumptions-matter)).

| curve | at | published, M/s | simulated, M/s | error | point | reads in a send | in a packet | busiest |
|---|---:|---:|---:|---:|---|---:|---:|---|
{points}

Fitted: {interrupt_us:.3f} µs of a node's interrupts for each packet, and {client_us:.3f} µs of an API node for each
read. The points of data nodes ask for the first one, those of API machines for the second.

**Published** (M. Ronström, 200M reads per second in MySQL Cluster 7.4, 2015): 8 receive, 12 TC, 12 LDM and 2 send
threads a node, 4 API nodes a machine, about 150 bytes a read, a send delay on the nodes, interrupts of InfiniBand as
the limit.

**Assumed**, for it was not published:

* 4,096 reads in flight from each API node. It asks again when half of them are back.
* As many API machines for each data node as the 40 before 24. The curve of data nodes does not say how many there were.
* A packet holds 2,044 bytes (IP over InfiniBand), so 13 reads. A send takes 32 KB. The send delay is 200 µs.
* One server a node takes all interrupts, of packets that come and of packets that go.
* LDM and TC threads need 1.5 µs for a read, receive threads 0.9 µs, send threads 0.2 µs and 2 µs for each send. That
  makes them 70 to 90 % busy at the published rates: close to full, as the text says.

## Why does the rate stop growing between 37 and 40 API machines?

**Answer.** The interrupts of the nodes are full at 37 machines. {packets} M packets a second come to and go from each
node, with {ops_per_packet} reads in each. Three machines more change the rate by {asked_more}. All API nodes wait instead:
they fall from {api_37} to {api_40} busy.

| API machines | published, M/s | simulated, M/s | packets/s and node, M | reads in a packet | API nodes busy | interrupts | receive | TC | LDM | send |
|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
{stall}

What each change alone does at 40 machines:

| changed | reads/s, M | reads in a send | in a packet | busiest |
|---|---:|---:|---:|---|
{treatments}

The curve of data nodes bends for the same reason. Each API node spreads its reads over all nodes. With more nodes fewer
reads go to each in one send, and the last packet of a send is less full: from {packed_first} reads in a packet at 2 nodes to
{packed_last} at 32. A cost of each packet then weighs more on each read.

## Do the assumptions matter?

How many reads an API node has in flight decides how many share a send. Each row is fitted again on the same points:

| in flight from each API node | predicted points within 5 % | worst |
|---:|---|---|
{others}

The law of contention, which knows no servers, misses none of these points by more than 5 % either
([predictions](../predictions.md)). But it has no stall at 37 machines, and names nothing that is full.

## What does it cost?

A simulated minute of 32 data nodes and 40 client machines is a line of `make bench`: `simulated minute of 32 x 40`.
There every message stays whole, one LDM thread takes all of it, and 8,192 reads are in flight from each API node (the
last row above): it takes 35 CPU-seconds. With 4,096 in flight there are twice as many messages, and a minute takes 68
(`cargo bench --bench minute`; median of five times 1.5 simulated seconds, on two cores that other programs used, too).
The figures above are of shorter stretches (0.05 s), in which each message is cut into a piece for each thread; all
their intervals are narrower than 1 %.
"""


WIDTH, HEIGHT, PLOT_WIDTH, PLOT_HEIGHT = 800, 320, 310, 210
LEFT, TOP = 56, 64


def svg(found: dict[str, list[Point]]) -> str:
    """Two panels: published as dots, simulated as a line; rings are the points that were fitted."""
    title = "Key reads a second in MySQL Cluster 7.4: published (dots) and simulated (line)"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img">',
        f"<title>{title}</title>",
        f"<style>{STYLE}.ring{{fill:none;stroke:var(--ink);stroke-width:1.5}}.curve{{fill:none;stroke:var(--mark);stroke-width:2}}"
        ".dot{fill:var(--ink)}</style>",
        f'<text class="title" x="8" y="18">{title}</text>',
        '<text class="soft" x="8" y="35">million reads a second; a ring is a point that the two costs were fitted on</text>',
    ]
    for panel, (curve, of) in enumerate(found.items()):
        parts += panel_of(curve, of, LEFT + panel * (PLOT_WIDTH + 80))
    return "\n".join([*parts, "</svg>", ""])


def panel_of(curve: str, of: Sequence[Point], left: float) -> list[str]:
    most_x = max(p.load for p in of)
    most_y = max(p.published_per_s for p in of) * 1.08
    base = TOP + PLOT_HEIGHT

    def x(load: float) -> float:
        return left + load / most_x * PLOT_WIDTH

    def y(per_s: float) -> float:
        return base - per_s / most_y * PLOT_HEIGHT

    parts = []
    for tick in range(0, int(most_y / 1e6) + 1, 50):
        parts.append(
            f'<line class="grid" x1="{left}" x2="{left + PLOT_WIDTH}" y1="{y(tick * 1e6):.1f}" y2="{y(tick * 1e6):.1f}"/>'
            f'<text class="soft" text-anchor="end" x="{left - 6}" y="{y(tick * 1e6) + 4:.1f}">{tick}</text>'
        )
    for tick in range(0, most_x + 1, 8):
        parts.append(
            f'<text class="soft" text-anchor="middle" x="{x(tick):.1f}" y="{base + 18}">{tick}</text>'
        )
    line = " ".join(f"{x(p.load):.1f},{y(p.outcome.ops_per_s):.1f}" for p in of)
    parts.append(f'<polyline class="curve" points="{line}"/>')
    for p in of:
        at_point = f'cx="{x(p.load):.1f}" cy="{y(p.published_per_s):.1f}"'
        parts.append(f'<circle class="dot" {at_point} r="3.5"/>')
        if p.fitted:
            parts.append(f'<circle class="ring" {at_point} r="7"/>')
    parts.append(
        f'<text text-anchor="middle" x="{left + PLOT_WIDTH / 2}" y="{base + 38}">{NAMES[curve]}</text>'
    )
    return parts


if __name__ == "__main__":
    sys.exit(main())
