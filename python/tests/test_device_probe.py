"""The probe of the device: it measures what it says, past the cache where it can, and leaves nothing."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from inrush.machine import device_probe as probe
from inrush.machine.probed import environment


def test_pages_and_long_reads_are_timed_and_nothing_is_left(tmp_path: Path) -> None:
    found = probe.device_probe(tmp_path / "data", limit_s=0.2)
    assert set(found) == {
        "disk_read_16k_s", "disk_read_8k_s", "disk_direct_read_bytes_per_s", "disk_direct_write_bytes_per_s", "disk_direct",
    }  # fmt: skip
    assert all(0 < found[page] < 1 for page in probe.PAGES)
    # A read of 1 MiB moves more bytes a second than one of 8 KiB.
    assert found["disk_direct_read_bytes_per_s"] > 8192 / found["disk_read_8k_s"]
    assert list((tmp_path / "data").iterdir()) == []


def test_reads_ask_for_pages_of_their_size_at_places_in_no_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, asked = os.preadv, []

    def spied(fd: int, blocks: list[Any], place: int) -> int:
        asked.append((len(blocks[0]), place))
        return read(fd, blocks, place)

    monkeypatch.setattr(os, "preadv", spied)
    probe.device_probe(tmp_path, limit_s=0.2)
    for size in probe.PAGES.values():
        places = [place for length, place in asked if length == size]
        assert len(set(places)) == len(places) > 10 and places != sorted(places)
        assert all(place % size == 0 for place in places)
    long = [place for length, place in asked if length == probe.BLOCK]
    assert long == sorted(long)


def test_a_filesystem_without_direct_io_is_read_through_the_cache_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open

    def refuses(path: Any, flags: int, *rest: Any) -> int:
        if flags & os.O_DIRECT:
            raise OSError(22, "Invalid argument")
        return opened(path, flags, *rest)

    monkeypatch.setattr(os, "open", refuses)
    found = probe.device_probe(tmp_path, limit_s=0.1)
    assert found["disk_direct"] is False and float(found["disk_read_8k_s"]) > 0
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_nearly_full_is_not_probed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "free_bytes", lambda _: 100 * probe.BLOCK)
    assert probe.device_probe(tmp_path) == {}
    assert list(tmp_path.iterdir()) == []


def test_the_environment_of_a_run_has_what_a_page_costs(tmp_path: Path) -> None:
    found = environment(tmp_path)
    assert found["disk_read_16k_s"] > 0 and isinstance(found["disk_direct"], bool)


def test_a_page_costs_the_median_of_the_reads_of_its_own_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = {16_384: [2e-4, 3e-4, 0.5], 8_192: [1e-4, 1e-4, 0.4], probe.BLOCK: [1e-3]}
    monkeypatch.setattr(probe, "read_times", lambda path, size, page, *rest, **how: times[page])
    found = probe.device_probe(tmp_path, limit_s=0.1)
    # One read that waited for something else is no price of a page.
    assert (found["disk_read_16k_s"], found["disk_read_8k_s"]) == (3e-4, 1e-4)
    assert found["disk_direct_read_bytes_per_s"] == pytest.approx(probe.BLOCK / 1e-3)


def test_what_is_written_is_timed_until_the_device_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync

    def slow(fd: int) -> None:
        time.sleep(0.3)
        sync(fd)

    monkeypatch.setattr(os, "fsync", slow)
    found = probe.device_probe(tmp_path, limit_s=0.1)
    assert found["disk_direct_write_bytes_per_s"] < probe.LARGEST_BYTES / 0.3
