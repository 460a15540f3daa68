"""What the roles of a run and the machine use now: of two looks at what they have used so far. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inrush.border.events import Usage

#: Metrics that say how much there is; all others count up, and are shown a second.
GAUGES = ("rss_bytes", "mem_available_bytes", "dirty_bytes")
#: Metric that counts up -> what it is a second.
RATES: Mapping[str, str] = {
    "cpu_s": "busy_cores",
    "cpu_busy_s": "busy_cores",
    "cpu_total_s": "cores",
    "cpu_steal_s": "steal_cores",
    "cpu_iowait_s": "iowait_cores",
    "read_bytes": "read_bytes_per_s",
    "write_bytes": "write_bytes_per_s",
    "dev_read_bytes": "read_bytes_per_s",
    "dev_write_bytes": "write_bytes_per_s",
    "dev_ios": "ios_per_s",
    "dev_busy_s": "busy_share",
    "net_rx_bytes": "rx_bytes_per_s",
    "net_tx_bytes": "tx_bytes_per_s",
    "psi_io_some_s": "io_pressure_share",
}
#: Two looks are at least so far apart: less would show the clock ticks of the kernel.
APART_NS = 900_000_000

#: Role and device (empty for the role as a whole) -> what it is -> how much.
Used = dict[tuple[str, str], dict[str, float]]


class Using:
    """Keeps an earlier look of each value."""

    def __init__(self) -> None:
        self.before: dict[tuple[str, str, str], Usage] = {}
        self.now: Used = {}
        #: Role of a machine -> the name of the host, where there are several.
        self.hosts: Mapping[str, str] = {}

    def look(self, resources: Sequence[Usage], hosts: Mapping[str, str] | None = None) -> None:
        self.hosts = hosts or {}
        for usage in resources:
            role, metric, device = key = usage["role"], usage["metric"], usage["device"]
            shown = self.now.setdefault((role, device), {})
            if metric in GAUGES:
                shown[metric] = usage["value"]
                continue
            before = self.before.setdefault(key, usage)
            apart_ns = usage["t_ns"] - before["t_ns"]
            if apart_ns < 0:  # another run
                self.before[key] = usage
            elif apart_ns >= APART_NS and metric in RATES:
                shown[RATES[metric]] = max(0.0, usage["value"] - before["value"]) / (apart_ns / 1e9)
                self.before[key] = usage

    def busy_cores(self) -> dict[str, float]:
        """By role, the machine among them."""
        return {role: of["busy_cores"] for (role, _), of in self.now.items() if "busy_cores" in of}

    def ended(self) -> None:
        """The run's clock and its processes are gone."""
        self.before.clear()
        self.now = {}
