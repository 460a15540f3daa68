"""What the devices below the input files and below the data did meanwhile. Pure.

Of a study whose input files lie in a folder of their own, over the windows that are measured:
    input.device_read_bytes_per_s, input.device_write_bytes_per_s      of the device below the input files
    data.device_read_bytes_per_s, data.device_write_bytes_per_s        of the device below the data

Where a file system hides its device, they are of all disks of the machine. Where both lie on one device, they are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from inrush.stats.gaps import Window
from inrush.stats.record import RunRecord
from inrush.stats.watched import by_device, spent_in
from inrush.study.files import INPUT

#: Role of the watch -> what its devices are below. Of several hosts only the first one has devices that are watched.
BELOW: Mapping[str, str] = {INPUT: "input", "host": "data"}
#: Figure -> metric of `resources`.
METRICS: Mapping[str, str] = {
    "device_read_bytes_per_s": "dev_read_bytes",
    "device_write_bytes_per_s": "dev_write_bytes",
}


def device_figures(run: RunRecord, windows: Iterable[Window]) -> dict[str, float]:
    windows = list(windows)
    span_s = sum(end - start for start, end in windows) / 1e9
    if not inputs_apart(run) or span_s <= 0:
        return {}
    figures: dict[str, float] = {}
    for figure, metric in METRICS.items():
        for of in by_device(run, metric).values():
            for role, looks in of.items():
                below = BELOW.get(role.split("/", 1)[0])
                if below is not None and (used := spent_in(run, looks, windows)) is not None:
                    name = f"{below}.{figure}"
                    figures[name] = figures.get(name, 0.0) + used / span_s
    return figures


def inputs_apart(run: RunRecord) -> bool:
    """Whether its input files lay in a folder of their own."""
    return INPUT in run.plan.get("watch", {}).get("folders", {})
