"""What an engine keeps of its tables in memory, by its settings. Pure."""

from __future__ import annotations

from inrush.engines import known_twin
from inrush.stats.record import RunRecord


def only_cache(run: RunRecord) -> float:
    """Bytes of the engine's cache where it goes round the kernel's: a page that is not in it comes from the device; else 0."""
    twin = known_twin(run.engine)
    settings = {str(r["name"]): str(r["value"]) for r in run.rows("settings")}
    if twin is None or twin.pages is None or not twin.pages.goes_round_kernel(settings):
        return 0.0
    return float(twin.pages.cache_of(settings))
