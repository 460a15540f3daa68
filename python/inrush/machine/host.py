"""The machine a run was made on: a registry of keys, read without privileges.

`snapshot` reads every key that this machine has; a key that cannot be read is absent, never guessed.
"""

from __future__ import annotations

import hashlib
import locale
import os
import platform
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from inrush.machine.cgroup import CGROUPS
from inrush.machine.held import quotas

Value = str | int | float | bool | dict[str, str]


@dataclass(frozen=True)
class Key:
    """One fact about the host. `read` gives None where this machine does not have it."""

    name: str
    type: type
    #: SI or plain: bytes, Hz, cores, share, 1/s; empty for text.
    unit: str
    about: str
    read: Callable[[Path], Value | None]


def snapshot(data_dir: Path) -> dict[str, Value]:
    """Every key of `KEYS` that can be read here. `data_dir`: where the engine's data will lie."""
    facts: dict[str, Value] = {}
    for key in KEYS:
        value = read_or_none(key.read, data_dir)
        if value is not None:
            facts[key.name] = value
    return facts


def read_or_none(read: Callable[[Path], Value | None], data_dir: Path) -> Value | None:
    """What this machine does not have shows as a missing file, a missing program or odd text."""
    try:
        return read(data_dir)
    except (OSError, ValueError, KeyError, IndexError, subprocess.SubprocessError):
        return None


# Readers of small text files of the kernel.


def text(path: str) -> str:
    return Path(path).read_text().strip()


def chosen(path: str) -> str:
    """The value in brackets of files like `always [madvise] never`."""
    found = re.search(r"\[([^\]]+)\]", text(path))
    return found[1] if found else text(path)


def cpuinfo(field: str) -> str | None:
    found = re.search(rf"^{re.escape(field)}\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1].strip() if found else None


def meminfo_bytes(field: str) -> int | None:
    found = re.search(rf"^{field}:\s*(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def simd() -> str:
    flags = set((cpuinfo("flags") or "").split())
    return " ".join(f for f in ("sse4_2", "avx2", "avx512f", "avx512dq", "avx512vl") if f in flags)


def physical_cores() -> int | None:
    pairs = {
        (core.parent.joinpath("physical_package_id").read_text(), core.read_text())
        for core in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/topology/core_id")
    }
    return len(pairs) or None


CPUS = Path("/sys/devices/system/cpu")


def clock_hz(cpus: Path = CPUS, cpuinfo: Path = Path("/proc/cpuinfo")) -> float | None:
    """Mean over the processors, at this moment; in a virtual machine without cpufreq it is what the host states."""
    found = [
        float(mhz) * 1e6 for mhz in re.findall(r"^cpu MHz\s*:\s*([\d.]+)$", cpuinfo.read_text(), re.MULTILINE)
    ]
    found = found or cpufreq_hz("scaling_cur_freq", cpus)
    return sum(found) / len(found) if found else None


def cpufreq_hz(name: str, cpus: Path = CPUS) -> list[float]:
    """A file of each processor's frequency policy; empty without cpufreq, as in most virtual machines."""
    return [float(path.read_text()) * 1e3 for path in sorted(cpus.glob(f"cpu[0-9]*/cpufreq/{name}"))]


def stated_hz(model: str | None, cpus: Path = CPUS) -> float | None:
    """The clock without turbo: as the kernel knows it, else as the processor names itself (`… @ 2.60GHz`)."""
    found = re.search(r"@ ([\d.]+) ?GHz", model or "")
    bases = cpufreq_hz("base_frequency", cpus)
    return min(bases) if bases else float(found[1]) * 1e9 if found else None


def turbo(cpus: Path = CPUS) -> bool | None:
    """Whether processors may run faster than their nominal clock; None where the kernel does not say."""
    off = cpus / "intel_pstate" / "no_turbo"
    if off.exists():
        return off.read_text().strip() == "0"
    return (cpus / "cpufreq" / "boost").read_text().strip() == "1"


def boot() -> str:
    """Of the kernel that runs here: equal on one machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def cgroup_cpu_cores(groups: str | None = None, root: Path = CGROUPS) -> float | None:
    """The least quota of the cgroups that we live in, of either version, and of those above them; None where none has one."""
    own = Path("/proc/self/cgroup").read_text() if groups is None else groups
    return min(quotas(own, root), default=None)


def cgroup_memory_bytes() -> int | None:
    limit = text(f"/sys/fs/cgroup{own_cgroup()}/memory.max")
    return None if limit == "max" else int(limit)


def own_cgroup() -> str:
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    return next(line[3:] for line in lines if line.startswith("0::")).rstrip("/")


@dataclass(frozen=True)
class Mount:
    device: str
    point: str
    filesystem: str
    options: str


def mount_of(path: Path) -> Mount:
    """The mount that holds `path`: the longest mount point that is its beginning, last mounted first."""
    real = existing(path).resolve()
    mount: Mount | None = None
    for line in Path("/proc/self/mounts").read_text().splitlines():
        device, point, filesystem, options, *_ = line.split(" ")
        point = point.replace("\\040", " ")
        if real.is_relative_to(point) and (mount is None or len(point) >= len(mount.point)):
            mount = Mount(device, point, filesystem, options)
    if mount is None:
        raise OSError(f"{path}: on no mount of /proc/self/mounts")
    return mount


def existing(path: Path) -> Path:
    """The path, or the nearest folder above that exists."""
    path = path.absolute()
    return path if path.exists() else existing(path.parent)


def block_folder(path: Path) -> Path:
    """/sys folder of the whole disk below `path`; OSError for tmpfs, overlay and network mounts."""
    folder = device_folder(path)
    return folder.parent if (folder / "partition").exists() else folder


def device_folder(path: Path) -> Path:
    """/sys folder of the disk or partition that holds `path`; OSError where it is on none."""
    device = existing(path).stat().st_dev
    return Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve(strict=True)


JOURNALS = Path("/proc/fs/jbd2")


def has_journal(path: Path, mount: Mount | None = None, journals: Path = JOURNALS) -> bool | None:
    """Whether ext4 below `path` keeps a journal; None for other filesystems, which the question does not concern.

    mount: of `path`, looked up by default. journals: the kernel's folder with an entry for each, `<device>-<inode>`.
    """
    if (mount or mount_of(path)).filesystem != "ext4":
        return None
    name = device_folder(path).name
    return any(entry.name.rpartition("-")[0] == name for entry in journals.iterdir())


def free_bytes(path: Path) -> int:
    stat = os.statvfs(existing(path))
    return stat.f_bavail * stat.f_frsize


def os_name() -> str | None:
    found = re.search(r'^PRETTY_NAME="?([^"\n]+)', Path("/etc/os-release").read_text(), re.MULTILINE)
    return found[1] if found else None


#: Name and version of a package, in front of its description.
HEAD = re.compile(r"^(Name|Version): *(\S+)", re.MULTILINE)


def packages() -> dict[str, str]:
    """What `pip freeze` would say of what is installed, without its addresses.

    The first lines of each file alone: a parser of mail takes a fifth of a second for all of them.
    """
    texts = (d.read_text("METADATA") or d.read_text("PKG-INFO") or "" for d in metadata.distributions())
    heads = [dict(HEAD.findall(text.split("\n\n", 1)[0])) for text in texts]
    return dict(sorted((of["Name"], of["Version"]) for of in heads if of.keys() >= {"Name", "Version"}))


def source_root() -> Path | None:
    """The checkout that this inrush runs from; None when it was installed."""
    root = Path(__file__).resolve().parents[3]
    return root if (root / "Cargo.lock").is_file() else None


def git_commit() -> str | None:
    """Commit of the checkout, `+` at its end when files differ from it."""
    root = source_root()
    if root is None or not (root / ".git").exists():
        return None

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, text=True, timeout=10, check=True
        ).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no")
    return git("rev-parse", "HEAD") + ("+" if changed else "")


def cargo_lock_sha256() -> str | None:
    root = source_root()
    return hashlib.sha256((root / "Cargo.lock").read_bytes()).hexdigest() if root else None


def core_fact(name: str) -> str | None:
    try:
        from inrush import _core
    except ImportError:
        return None  # a checkout without a built core
    return str(getattr(_core, name)())


def older_core(core: Path = Path(__file__).parents[1] / "_core.abi3.so") -> str:
    """That a checkout's core was built before its sources were changed, which `make` asks too; empty where it was not, and of
    an installed package, which has both halves of one build."""
    root = core.parents[2]
    try:
        built_ns = core.stat().st_mtime_ns
    except FileNotFoundError:
        return ""
    newer = (f for f in root.glob("rust/*/src/**/*.rs") if f.stat().st_mtime_ns > built_ns)
    return (
        f"the core is older than {first.relative_to(root)}: make core" if (first := next(newer, None)) else ""
    )


def inrush_version() -> str | None:
    try:
        return metadata.version("inrush")
    except metadata.PackageNotFoundError:
        return None


KEYS: tuple[Key, ...] = (
    Key("cpu_model", str, "", "processor, as it names itself", lambda _: cpuinfo("model name")),
    Key("cpu_logical", int, "cores", "processors that this process may use", lambda _: len(os.sched_getaffinity(0))),
    Key("cpu_physical", int, "cores", "cores without their hyper-threads", lambda _: physical_cores()),
    Key("cpu_simd", str, "", "vector extensions that the generators can use", lambda _: simd()),
    Key("cpu_hypervisor", bool, "", "a virtual machine: neighbours may take time",
        lambda _: "hypervisor" in (cpuinfo("flags") or "").split()),
    Key("cpu_governor", str, "", "frequency policy of cpu0",
        lambda _: text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
    Key("cpu_hz", float, "Hz", "clock of the processors at that moment, their mean; without cpufreq what the host states",
        lambda _: clock_hz()),
    Key("cpu_base_hz", float, "Hz", "clock without turbo, as it is stated", lambda _: stated_hz(cpuinfo("model name"))),
    Key("cpu_lowest_hz", float, "Hz", "least clock that the frequency policy allows; absent without cpufreq",
        lambda _: min(cpufreq_hz("scaling_min_freq"))),
    Key("cpu_highest_hz", float, "Hz", "greatest clock that it allows", lambda _: max(cpufreq_hz("scaling_max_freq"))),
    Key("cpu_turbo", bool, "", "processors may run faster than their nominal clock; absent where the kernel does not say",
        lambda _: turbo()),
    Key("cpu_smt", str, "", "hyper-threading", lambda _: text("/sys/devices/system/cpu/smt/control")),
    Key("clocksource", str, "", "what the kernel's clock reads",
        lambda _: text("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
    Key("mem_total_bytes", int, "bytes", "memory", lambda _: meminfo_bytes("MemTotal")),
    Key("mem_available_bytes", int, "bytes", "memory free for use, caches included", lambda _: meminfo_bytes("MemAvailable")),
    Key("swap_total_bytes", int, "bytes", "swap space", lambda _: meminfo_bytes("SwapTotal")),
    Key("thp", str, "", "transparent huge pages", lambda _: chosen("/sys/kernel/mm/transparent_hugepage/enabled")),
    Key("swappiness", int, "", "vm.swappiness", lambda _: int(text("/proc/sys/vm/swappiness"))),
    Key("dirty_ratio", int, "%", "vm.dirty_ratio", lambda _: int(text("/proc/sys/vm/dirty_ratio"))),
    Key("dirty_background_ratio", int, "%", "vm.dirty_background_ratio",
        lambda _: int(text("/proc/sys/vm/dirty_background_ratio"))),
    Key("cgroup_cpu_cores", float, "cores", "least CPU quota of our cgroups and of those above; absent: none", lambda _: cgroup_cpu_cores()),
    Key("cgroup_memory_bytes", int, "bytes", "memory limit of our cgroup; absent: none", lambda _: cgroup_memory_bytes()),
    Key("open_files_limit", int, "files", "open files that a process may have",
        lambda _: resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
    Key("kernel", str, "", "kernel release", lambda _: platform.release()),
    Key("os", str, "", "distribution", lambda _: os_name()),
    Key("architecture", str, "", "of the processor", lambda _: platform.machine()),
    Key("timezone", str, "", "of the host; data time is UTC everywhere", lambda _: time.tzname[0]),
    Key("locale", str, "", "of the process", lambda _: ".".join(x or "C" for x in locale.getlocale())),
    Key("data_dir", str, "", "where embedded engines and started servers keep their files", lambda d: str(d.absolute())),
    Key("data_filesystem", str, "", "of the data folder", lambda d: mount_of(d).filesystem),
    Key("data_mount_options", str, "", "of the data folder", lambda d: mount_of(d).options),
    Key("data_journal", bool, "", "ext4 of the data folder has a journal; without, making files waits for what was deleted", has_journal),
    Key("data_device", str, "", "block device below the data folder; absent on tmpfs and overlay", lambda d: block_folder(d).name),
    Key("data_rotational", bool, "", "a spinning disk", lambda d: text(f"{block_folder(d)}/queue/rotational") == "1"),
    Key("data_scheduler", str, "", "of the block device", lambda d: chosen(f"{block_folder(d)}/queue/scheduler")),
    Key("data_write_cache", str, "", "of the block device", lambda d: text(f"{block_folder(d)}/queue/write_cache")),
    Key("data_free_bytes", int, "bytes", "left on the data folder's filesystem", free_bytes),
    Key("python", str, "", "interpreter", lambda _: sys.version.split()[0]),
    Key("inrush", str, "", "version of the Python half", lambda _: inrush_version()),
    Key("core", str, "", "version of the core", lambda _: core_fact("version")),
    Key("core_build_profile", str, "", "release; figures of a debug core are invalid", lambda _: core_fact("build_profile")),
    Key("git_commit", str, "", "of the checkout, + when changed; absent when installed", lambda _: git_commit()),
    Key("cargo_lock_sha256", str, "", "what the core was built from", lambda _: cargo_lock_sha256()),
    Key("packages", dict, "", "Python packages and their versions", lambda _: packages()),
    Key("load_1m", float, "processes", "load average of the last minute", lambda _: os.getloadavg()[0]),
)  # fmt: skip


def cpu_facts() -> dict[str, Value]:
    """What a result says of a machine on which only client processes ran: processor, memory, kernel."""
    found = {
        k.name: read_or_none(k.read, Path()) for k in KEYS if k.name.startswith(OF_CPU) or k.name in OF_HOST
    }
    return {name: value for name, value in found.items() if value is not None}


OF_CPU, OF_HOST = "cpu_", ("architecture", "mem_total_bytes", "kernel")
OF_DATA, OF_INPUT = "data_", "input_"


def input_facts(folder: Path) -> dict[str, Value]:
    """What the keys of the data folder say of the folder for input files: `input_dir`, `input_device`, …"""
    found = {key.name: read_or_none(key.read, folder) for key in KEYS if key.name.startswith(OF_DATA)}
    return {OF_INPUT + name.removeprefix(OF_DATA): v for name, v in found.items() if v is not None}


# Noise: what others do to this machine, between two moments.


def noise_counters() -> dict[str, float]:
    """Cumulative seconds of the whole host: total, busy, steal; PSI where the kernel has it."""
    hz = os.sysconf("SC_CLK_TCK")
    user, nice, system, idle, iowait, irq, softirq, steal, *_ = (
        int(x) for x in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    )
    counters = {
        "cpu_total_s": (user + nice + system + idle + iowait + irq + softirq + steal) / hz,
        "cpu_busy_s": (user + nice + system + irq + softirq + steal) / hz,
        "cpu_steal_s": steal / hz,
        "at_s": time.monotonic(),
    }
    for what in ("cpu", "io", "memory"):
        try:
            lines = Path(f"/proc/pressure/{what}").read_text().splitlines()
        except OSError:
            continue  # a kernel without PSI
        for line in lines:
            kind, *fields = line.split()
            total_us = int(dict(f.split("=") for f in fields)["total"])
            counters[f"psi_{what}_{kind}_s"] = total_us / 1e6
    return counters


def noise(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Shares between two `noise_counters`: steal and busy of all processors, PSI of the time."""
    cpu_s = after["cpu_total_s"] - before["cpu_total_s"]
    wall_s = after["at_s"] - before["at_s"]
    shares = {}
    if cpu_s > 0:
        shares["steal_share"] = (after["cpu_steal_s"] - before["cpu_steal_s"]) / cpu_s
        shares["busy_share"] = (after["cpu_busy_s"] - before["cpu_busy_s"]) / cpu_s
    if wall_s > 0:
        for name in sorted(after.keys() & before.keys()):
            if name.startswith("psi_"):
                shares[name.removesuffix("_s") + "_share"] = (after[name] - before[name]) / wall_s
    return shares
