"""Which servers tests of whole studies run on, and the smallest study that can be made on each.

`quickstart`, but where an engine has no statement for its readers.
"""

from __future__ import annotations

from inrush.engines.base.instance import Target

from .servers import SETTINGS

SERVERS = tuple(SETTINGS)
ONCE = ("--scale", "xs", "-P", "repeats.count=1")
#: Engine -> study, words that keep it short, and one that makes it go on until it is ended.
STUDIES = {
    "valkey": ("telemetry-lookups", ("-P", "keys_per_call=4"), "schedule.measure_s=3000"),
    "ndb": ("keylookup-depth", ("-P", "depth=4", "-P", "refill=each"), "schedule.measure_s=3000"),
}
QUICKSTART = ("quickstart", ("-P", "batch_rows=1000"), "schedule.at_least_s=3000")


def words_of(engine: str) -> tuple[str, tuple[str, ...]]:
    """The study, and what else is said so that it ends soon."""
    study, few, _ = STUDIES.get(engine, QUICKSTART)
    return study, (*ONCE, *few, *(() if engine in STUDIES else ("-P", "schedule.at_least_s=0")))


def endless_words_of(engine: str) -> tuple[str, ...]:
    """What else is said so that it goes on."""
    _, few, endless = STUDIES.get(engine, QUICKSTART)
    return (*ONCE, *few, "-P", endless)


def small_study(there: Target) -> tuple[str, ...]:
    """All words of the small study on a server, behind `inrush run` or `plan`."""
    study, words = words_of(there.engine)
    return (study, there.url, *words)
