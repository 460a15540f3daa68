"""Settings profiles: one budget for all engines, each value with its reason and its line in the docs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inrush.engines.servers import profiles
from inrush.errors import UsageError

ENGINES = [name for name in profiles.table() if name != "budget"]
GB = 1 << 30


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_has_both_profiles_and_says_why(engine: str) -> None:
    published = {"qserv"} if engine in ("mysql", "mariadb") else set()
    assert set(profiles.table()[engine]) == {"default", "tuned"} | published
    for profile in profiles.table()[engine].values():
        for name, entry in profile.items():
            assert entry["why"], name
            assert set(entry) - {"unit", "whole"} in ({"value", "why"}, {"budget", "why"}), name


@given(memory_bytes=st.integers(1 << 28, 1 << 42))
def test_tuned_engines_share_one_budget(memory_bytes: int) -> None:
    share = profiles.budget(memory_bytes)
    assert share["cache"] <= max(memory_bytes // 4, 128 << 20) and share["cache"] <= 8 * GB
    used: dict[str, set[int]] = {}
    for engine in ENGINES:
        values = profiles.settings(engine, "tuned", memory_bytes)
        for name, entry in profiles.table()[engine]["tuned"].items():
            if "budget" in entry:
                scale = profiles.UNITS[entry.get("unit", "")]
                taken = int(values[name].rstrip("kMGB")) * scale
                if "whole" in entry:  # what this server makes of the same share, and no step beyond it
                    step = profiles.pool_step(share[entry["budget"]])
                    assert taken % step == 0 and 0 <= taken - share[entry["budget"]] < step
                    continue
                used.setdefault(entry["budget"], set()).add(taken)
    assert used == {"cache": {share["cache"]}, "log": {share["log"]}}


def test_without_a_name_an_engine_is_tuned_and_a_strange_name_is_refused() -> None:
    for engine in ENGINES:
        assert profiles.settings(engine) == profiles.settings(engine, "tuned")
    with pytest.raises(UsageError, match="there is no profile fast; it is one of default, tuned, qserv"):
        profiles.settings("mysql", "fast")


def test_the_docs_show_every_setting() -> None:
    page = (Path(__file__).parents[3] / "docs" / "servers.md").read_text()
    for engine in ENGINES:
        for profile in profiles.table()[engine].values():
            for name in profile:
                assert f"`{name}`" in page, f"docs/servers.md does not show {name} of {engine}"


@pytest.mark.parametrize(
    ("cache", "cores", "kept"),
    [
        (6_318_718_976, 2, 6_442_450_944),  # as MySQL 9 was seen to round it
        (6_318_718_976, 12, 6_442_450_944),  # 48 chunks, 16 for each of three instances
        (5 << 30, 12, 42 * (128 << 20)),
        (8 << 30, 32, 8 << 30),
        (200 << 20, 64, 256 << 20),  # up to 1 GiB there is one instance
    ],
)
def test_mysql_is_asked_for_a_buffer_pool_that_it_keeps(cache: int, cores: int, kept: int) -> None:
    """It rounds up to its chunks, as many in each of its instances; every tuned run had a note for it."""
    entry = profiles.table()["mysql"]["tuned"]["innodb_buffer_pool_size"]
    assert profiles.value(entry, {"cache": cache}, cores) == str(kept)
