"""Where the engine of a run lives, what its acknowledged rows survive, and what it keeps of its tables in memory. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from inrush.engines import known_twin
from inrush.stats.files import is_pipeline
from inrush.stats.hosts import servers_here
from inrush.stats.record import RunRecord


def is_instrument(engine: str) -> bool:
    """`null`, `null:<wire>`, `simulated`: engines that keep nothing and measure us."""
    twin = known_twin(engine)
    return twin is not None and not twin.answers


def is_embedded(run: RunRecord) -> bool:
    """Runs inside the client's process: its plan names no server to watch and a file as address."""
    return lives_in_client(run.plan["target"]["engine"])


def lives_in_client(engine: str) -> bool:
    twin = known_twin(engine)
    return twin is not None and twin.works_in_client


def survives(run: RunRecord) -> str:
    """What an acknowledged row survives, in normal form (`engines.survives.Survives`); empty when unknown."""
    durability = run.summary.get("durability") or run.labels.get("durability") or {}
    return str(durability.get("survives", "") if isinstance(durability, Mapping) else durability).upper()


def promised(run: RunRecord, unknown: str = "not recorded") -> str:
    """What its acknowledged rows survive, in words: `process crash but the last 4 s`; `nothing for the first 0.6 s` where a
    row that is older survives."""
    window_s = (run.summary.get("durability") or {}).get("window_s")
    word = (survives(run) or unknown).replace("_", " ").lower()
    if not window_s:
        return word
    return f"{word} {'for the first' if word == 'nothing' else 'but the last'} {window_s:g} s"


def beside_a_server(run: RunRecord) -> bool:
    """Whether the client shares its machine with the server: one that inrush started, or one at an address of this machine."""
    if is_embedded(run) or is_pipeline(run):
        return False
    watched = run.plan.get("watch", {}).get("processes", {})
    return any(watched.values()) or bool(servers_here(run))


def only_cache(run: RunRecord) -> float:
    """Bytes of the engine's cache where it goes round the kernel's: a page that is not in it comes from the device; else 0."""
    twin = known_twin(run.engine)
    settings = {str(r["name"]): str(r["value"]) for r in run.rows("settings")}
    if twin is None or twin.pages is None or not twin.pages.goes_round_kernel(settings):
        return 0.0
    return float(twin.pages.cache_of(settings))
