"""Carries IP packets between the hosts of a laboratory, late and not all: `python -m benches.netlab.switch SEED ADDRESS=FD…`.

Each FD is the file descriptor of a TUN device in one host's network namespace. Lines of JSON on stdin change ways, and each
is answered by a line: {"way": [FROM, TO], "delay_s": 0.02, "loss": 0.01, "bytes_per_s": 0, "queue_bytes": 0},
{"port": ADDRESS, "packets_per_s": 0, "queue_packets": 0}, {"cut": ADDRESS}, {"mend": ADDRESS}, {} (nothing); the answer counts the packets of every way. It ends with its stdin.
"""

from __future__ import annotations

import contextlib
import heapq
import json
import os
import random
import select
import socket
import sys
import time
from dataclasses import dataclass, field
from typing import Any

#: Packets that are taken from one device before the due ones are delivered.
AT_ONCE = 32
#: More than a device's MTU.
READ_BYTES = 1 << 16
#: Where the source and the destination stand in the header of an IPv4 packet.
SOURCE, DESTINATION = slice(12, 16), slice(16, 20)


@dataclass
class Way:
    """From one host to another."""

    draw: random.Random
    delay_ns: int = 0
    loss: float = 0.0
    #: 0: as fast as it comes.
    bytes_per_s: float = 0.0
    queue_bytes: int = 0
    #: When the last byte that was queued will have left.
    free_ns: int = 0
    counts: dict[str, int] = field(default_factory=lambda: {"carried": 0, "lost": 0, "full": 0, "cut": 0})

    def due_ns(self, now_ns: int, size: int) -> int | None:
        """When a packet arrives; None: never."""
        # Drawn for each packet, also where the queue is full: which ones are lost depends on their number alone.
        if self.draw.random() < self.loss:
            self.counts["lost"] += 1
            return None
        if self.bytes_per_s:
            begins_ns = max(now_ns, self.free_ns)
            if (begins_ns - now_ns) * self.bytes_per_s / 1e9 + size > self.queue_bytes:
                self.counts["full"] += 1
                return None
            self.free_ns = now_ns = begins_ns + round(size / self.bytes_per_s * 1e9)
        self.counts["carried"] += 1
        return now_ns + self.delay_ns


@dataclass
class Port:
    """What comes to one host, by whichever way: a port or a network card that takes only so many packets a second."""

    #: 0: as many as come.
    packets_per_s: float = 0.0
    #: More than these wait for it: they are lost.
    queue_packets: int = 0
    #: When the last packet that was queued will have left.
    free_ns: int = 0

    def leaves_ns(self, now_ns: int) -> int | None:
        """When a packet has gone through it; None: the queue is full."""
        if not self.packets_per_s:
            return now_ns
        begins_ns = max(now_ns, self.free_ns)
        if (begins_ns - now_ns) * self.packets_per_s / 1e9 + 1 > self.queue_packets:
            return None
        self.free_ns = begins_ns + round(1e9 / self.packets_per_s)
        return self.free_ns


class Switch:
    def __init__(self, seed: int, devices: dict[str, int]) -> None:
        self.devices = devices
        self.packed = {address: socket.inet_aton(address) for address in devices}
        self.fd_of = {self.packed[address]: fd for address, fd in devices.items()}
        self.ways = {
            (self.packed[a], self.packed[b]): Way(random.Random(f"{seed} {a} {b}"))
            for a in devices
            for b in devices
            if a != b
        }
        self.ports = {packed: Port() for packed in self.packed.values()}
        self.cut: set[bytes] = set()
        #: When it is due, its number, the device it goes to, the packet.
        self.waiting: list[tuple[int, int, int, bytes]] = []
        self.number = 0

    def carry(self) -> None:
        while True:
            wait_s = max(0, self.waiting[0][0] - time.monotonic_ns()) / 1e9 if self.waiting else None
            for fd in select.select([0, *self.devices.values()], [], [], wait_s)[0]:
                if fd == 0:
                    if not (line := sys.stdin.readline()):
                        return
                    print(json.dumps(self.obey(json.loads(line))), flush=True)
                else:
                    self.take(fd)
            self.deliver()

    def take(self, fd: int) -> None:
        for _ in range(AT_ONCE):
            try:
                packet = os.read(fd, READ_BYTES)
            except (BlockingIOError, OSError):  # none, or the device is down
                return
            if packet[0] >> 4 != 4:
                continue
            source, destination = packet[SOURCE], packet[DESTINATION]
            way = self.ways.get((source, destination))
            if way is None:  # to no host
                continue
            if source in self.cut or destination in self.cut:
                way.counts["cut"] += 1
                continue
            leaves_ns = self.ports[destination].leaves_ns(time.monotonic_ns())
            if leaves_ns is None:
                way.counts["full"] += 1
                continue
            due_ns = way.due_ns(leaves_ns, len(packet))
            if due_ns is not None:
                self.number += 1
                heapq.heappush(self.waiting, (due_ns, self.number, self.fd_of[destination], packet))

    def deliver(self) -> None:
        now_ns = time.monotonic_ns()
        while self.waiting and self.waiting[0][0] <= now_ns:
            _, _, fd, packet = heapq.heappop(self.waiting)
            with contextlib.suppress(OSError):  # its host is going
                os.write(fd, packet)

    def obey(self, word: dict[str, Any]) -> Any:
        if "way" in word:
            source, destination = (self.packed[address] for address in word["way"])
            way = self.ways[source, destination]
            way.delay_ns, way.loss = round(word["delay_s"] * 1e9), word["loss"]
            way.bytes_per_s, way.queue_bytes = word["bytes_per_s"], word["queue_bytes"]
        elif "port" in word:
            port = self.ports[self.packed[word["port"]]]
            port.packets_per_s, port.queue_packets = word["packets_per_s"], word["queue_packets"]
        elif "cut" in word:
            self.cut.add(self.packed[word["cut"]])
        elif "mend" in word:
            self.cut.discard(self.packed[word["mend"]])
        return {
            f"{socket.inet_ntoa(source)} {socket.inet_ntoa(destination)}": way.counts
            for (source, destination), way in self.ways.items()
        }


def main(arguments: list[str]) -> None:
    from inrush.agent.parent import die_with_parent

    die_with_parent()
    # A switch that waits for a core of a busy machine would add to the delay.
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    devices = {}
    for text in arguments[1:]:
        address, fd = text.split("=")
        os.set_blocking(int(fd), False)
        devices[address] = int(fd)
    Switch(int(arguments[0]), devices).carry()


if __name__ == "__main__":
    main(sys.argv[1:])
