"""The host: every key is typed, documented and absent rather than guessed."""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path

import pytest

from inrush.machine import disk_probe, host
from inrush.machine.cpu_probe import cpu_capacity


def test_every_value_has_the_type_that_its_key_promises(tmp_path: Path) -> None:
    found = host.snapshot(tmp_path)
    types = {k.name: k.type for k in host.KEYS}
    assert {n: type(v) for n, v in found.items()} == {n: types[n] for n in found}


def test_what_every_linux_has_is_there(tmp_path: Path) -> None:
    found = host.snapshot(tmp_path)
    for name in (
        "cpu_logical",
        "mem_total_bytes",
        "kernel",
        "os",
        "data_filesystem",
        "data_free_bytes",
        "packages",
    ):
        assert name in found
    assert found["cpu_logical"] == len(os.sched_getaffinity(0))


def test_names_are_unique_and_numbers_carry_their_unit() -> None:
    names = [k.name for k in host.KEYS]
    assert len(set(names)) == len(names)
    assert all(k.about for k in host.KEYS)
    assert all(k.name.endswith("_bytes") == (k.unit == "bytes") for k in host.KEYS)


def test_a_key_that_this_machine_does_not_have_is_absent() -> None:
    assert host.read_or_none(lambda _: host.text("/nonexistent"), Path()) is None


def test_the_mount_of_a_folder_that_does_not_exist_yet_is_that_of_its_parent(tmp_path: Path) -> None:
    assert host.mount_of(tmp_path / "not" / "yet") == host.mount_of(tmp_path)


def test_a_journal_is_that_of_the_folders_own_device(tmp_path: Path) -> None:
    ext4 = host.Mount("/dev/x", "/", "ext4", "rw")
    try:
        device = host.device_folder(tmp_path).name
    except OSError:
        pytest.skip("the folder of the tests is on no block device")
    journals = tmp_path / "jbd2"
    (journals / "other-8").mkdir(parents=True)
    assert host.has_journal(tmp_path, ext4, journals) is False
    (journals / f"{device}-8").mkdir()
    assert host.has_journal(tmp_path, ext4, journals) is True
    assert host.has_journal(tmp_path, host.Mount("x", "/", "xfs", "rw"), journals) is None


def test_the_probe_measures_within_its_limit_and_leaves_nothing(tmp_path: Path) -> None:
    figures = disk_probe.disk_probe(tmp_path / "data", limit_s=0.2)
    assert figures["disk_write_bytes_per_s"] > 0 and figures["disk_fsync_per_s"] > 0
    assert figures["disk_fsync_per_s"] == max(figures["disk_fsync_probes"])
    assert len(figures["disk_write_probes"]) == disk_probe.PROBES
    assert list((tmp_path / "data").iterdir()) == []


def test_the_probe_leaves_nine_tenths_of_a_small_disk_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []
    monkeypatch.setattr(disk_probe, "free_bytes", lambda _: 1_000_000)
    monkeypatch.setattr(
        disk_probe, "_fsyncs", lambda path, *_: float(written.append(path.stat().st_size) or 1)
    )
    disk_probe.disk_probe(tmp_path, limit_s=5)
    assert written == [100_000] * disk_probe.PROBES


def test_a_probe_that_cannot_write_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        disk_probe.disk_probe(tmp_path / "file")


def test_noise_is_shares_between_two_moments() -> None:
    before = {
        "cpu_total_s": 100.0,
        "cpu_busy_s": 50.0,
        "cpu_steal_s": 1.0,
        "at_s": 10.0,
        "psi_cpu_some_s": 2.0,
    }
    after = {
        "cpu_total_s": 120.0,
        "cpu_busy_s": 60.0,
        "cpu_steal_s": 2.0,
        "at_s": 20.0,
        "psi_cpu_some_s": 4.5,
    }
    assert host.noise(before, after) == {"steal_share": 0.05, "busy_share": 0.5, "psi_cpu_some_share": 0.25}


def test_counters_never_go_back() -> None:
    before, after = host.noise_counters(), host.noise_counters()
    assert all(after[name] >= before[name] for name in before)


def test_cores_are_worth_one_to_as_many_as_they_have_threads() -> None:
    found = cpu_capacity(2, limit_s=0.06)["cpu_capacity_cores"]
    assert 1 <= found <= 2
    assert cpu_capacity(1, limit_s=0.06) == {"cpu_capacity_cores": 1.0}


def test_the_commits_of_a_probe_take_no_more_of_a_small_disk_than_its_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4 KiB each, thousands in a second on a tmpfs: they filled a disk of 60 MB, and the study ended."""
    grown: list[int] = []
    monkeypatch.setattr(disk_probe, "free_bytes", lambda _: 10 * 80 * 4096)
    monkeypatch.setattr("os.fdatasync", lambda fd: grown.append(os.fstat(fd).st_size))
    disk_probe.disk_probe(tmp_path, limit_s=2)
    assert max(grown) <= 2 * 80 * 4096


def test_packages_are_those_that_are_installed_with_their_versions() -> None:
    found = host.packages()
    assert found["pyarrow"] == metadata.version("pyarrow")
    assert found == {d.metadata["Name"]: d.version for d in metadata.distributions()}
    assert list(found) == sorted(found)


def cpufreq(cpus: Path, **files: tuple[int, ...]) -> None:
    for name, each in files.items():
        for k, khz in enumerate(each):
            folder = cpus / f"cpu{k}" / "cpufreq"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(f"{khz}\n")


def test_a_clock_is_the_mean_of_what_processors_run_at(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(
        "processor\t: 0\ncpu MHz\t\t: 2400.000\nprocessor\t: 1\ncpu MHz\t\t: 1200.000\n"
    )
    cpufreq(tmp_path, scaling_cur_freq=(3_000_000, 1_000_000))
    assert host.clock_hz(tmp_path, tmp_path / "cpuinfo") == 1.8e9
    (tmp_path / "cpuinfo").write_text("processor\t: 0\n")
    assert host.clock_hz(tmp_path, tmp_path / "cpuinfo") == 2e9
    assert host.clock_hz(tmp_path / "none", tmp_path / "cpuinfo") is None


def test_limits_of_a_clock_are_read_of_every_processor_and_absent_without_cpufreq(tmp_path: Path) -> None:
    assert host.cpufreq_hz("scaling_min_freq", tmp_path) == []
    cpufreq(tmp_path, scaling_min_freq=(800_000, 1_200_000))
    assert host.cpufreq_hz("scaling_min_freq", tmp_path) == [8e8, 1.2e9]


def test_a_stated_clock_is_the_kernels_else_that_of_the_name(tmp_path: Path) -> None:
    assert host.stated_hz("Some Processor", tmp_path) is None
    assert host.stated_hz("Xeon E5-2697 v3 @ 2.60GHz", tmp_path) == 2.6e9
    cpufreq(tmp_path, base_frequency=(2_500_000,))
    assert host.stated_hz("Xeon E5-2697 v3 @ 2.60GHz", tmp_path) == 2.5e9


def test_turbo_is_what_the_driver_says(tmp_path: Path) -> None:
    assert host.read_or_none(lambda _: host.turbo(tmp_path), Path()) is None
    (tmp_path / "cpufreq").mkdir()
    (tmp_path / "cpufreq" / "boost").write_text("1\n")
    assert host.turbo(tmp_path) is True
    (tmp_path / "intel_pstate").mkdir()
    (tmp_path / "intel_pstate" / "no_turbo").write_text("1\n")
    assert host.turbo(tmp_path) is False
