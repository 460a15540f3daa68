"""MySQL Cluster built from Debian's source of MySQL: data node, management server, client library and its headers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from inrush.engines.servers import apt, life
from inrush.errors import TargetError

Note = Callable[[str], object]

SUITE = "sid"
PACKAGE = "mysql-9.7"
#: What was tried, in the mirror's pool.
TRIED = "main/m/mysql-9.7/mysql-9.7_9.7.2.orig.tar.gz"
TRIED_SHA256 = "e5a676c7cb73738dc6ea33db2093806ebd512b629a139b897fcab68fcd81aaa4"
#: What it takes to build, as packages of Debian.
NEEDS = (
    "g++", "cmake", "ninja-build", "pkg-config", "bison", "libaio-dev", "libnuma-dev", "protobuf-compiler",
    "libprotobuf-dev", "libprotoc-dev", "libzstd-dev", "liblz4-dev", "libevent-dev", "libcurl4-openssl-dev", "rapidjson-dev",
    "libssl-dev", "libncurses-dev", "zlib1g-dev", "libicu-dev", "libtirpc-dev",
)  # fmt: skip
#: On the disk while it is built, bytes.
ROOM = 3_000_000_000
TARGETS = ("ndbclient_so", "ndbmtd", "ndb_mgmd", "ndb_mgm", "ndb_waiter")
#: Parts of the source that are large and not needed.
LEFT_OUT = ("mysql-test", "router/tests")
#: Files that its CMake insists on, of a folder that is left out.
EMPTY = ("mysql-test/CMakeLists.txt", "mysql-test/lib/My/SafeProcess/CMakeLists.txt")
OFF = (
    "WITH_NDB_TEST", "WITH_NDB_JAVA", "WITH_NDBAPI_EXAMPLES", "WITH_UNIT_TESTS", "WITH_ROUTER", "WITH_MYSQLX",
    "WITH_AUTHENTICATION_LDAP", "WITH_AUTHENTICATION_KERBEROS", "WITH_AUTHENTICATION_WEBAUTHN", "WITH_BUILD_ID",
    "COMPRESS_DEBUG_SECTIONS",
)  # fmt: skip
OPTIONS = (
    "-DCMAKE_BUILD_TYPE=Release", "-DWITH_NDB=ON", "-DWITH_FIDO=none", "-DWITH_CURL=none", "-DINSTALL_MYSQLTESTDIR=",
    "-DWITH_EDITLINE=bundled", *(f"-DWITH_{name}=system" for name in ("LIBEVENT", "ZLIB", "LZ4", "ZSTD", "PROTOBUF", "ICU", "SSL")),
    *(f"-D{name}=OFF" for name in OFF),
)  # fmt: skip
#: A line of ninja: steps that are done, and all.
STEP = re.compile(rb"^\[(\d+)/(\d+)\]")
#: How often progress is noted, s.
NOTE_S = 60.0


def built(work: Path, otherwise: str, note: Note) -> tuple[Path, str]:
    """Folder with what was built, below `work`, and what it was made of. otherwise: the way without a build.

    Raises TargetError with what is missing on this machine, or with the end of the build's log.
    """
    check_machine(work, otherwise)
    note(
        f"building MySQL Cluster from Debian's source: 10 to 20 minutes on two cores; {otherwise} to do without"
    )
    tarball = fetched(work)
    source = unpack(tarball, work)
    log = life.cache_folder() / "ndb-build.log"
    log.unlink(missing_ok=True)
    build = work / "build"
    build.mkdir()
    run(["cmake", "-G", "Ninja", source, *OPTIONS], build, log, note)
    run(["ninja", f"-j{len(os.sched_getaffinity(0))}", *TARGETS], build, log, note)
    out = work / "built"
    collect(source, build, out)
    return out, f"built from Debian {SUITE}: {tarball.name}"


def fetched(work: Path) -> Path:
    """The source that was tried, while the mirror has it; else the one that the suite lists now. Raises TargetError."""
    try:
        return apt.fetch_pool(TRIED, TRIED_SHA256, work)
    except TargetError:
        apt.fetch_source(SUITE, PACKAGE, work)
    return next(path for path in work.glob(f"{PACKAGE}_*.orig.tar.*") if path.suffix != ".asc")


def check_machine(work: Path, otherwise: str) -> None:
    program = life.program(
        "dpkg-query", f"inrush builds MySQL Cluster on Debian and its like only; {otherwise}"
    )
    listed = subprocess.run(
        [program, "-W", "-f", "${Package} ${db:Status-Status}\\n", *NEEDS],
        capture_output=True,
        text=True,
        check=False,
    )
    if missing := lacking(listed.stdout):
        raise TargetError(
            f"MySQL Cluster has to be built here, which needs {counted(missing)}: as root, "
            f"apt-get install --no-install-recommends {' '.join(missing)}; or {otherwise}"
        )
    if (free := shutil.disk_usage(work).free) < ROOM:
        raise TargetError(
            f"{work.parent} has {free / 1e9:.1f} GB free, and a build of MySQL Cluster needs {ROOM / 1e9:.0f}; or {otherwise}"
        )


def counted(missing: Sequence[str]) -> str:
    return "one more package" if len(missing) == 1 else f"{len(missing)} more packages"


def lacking(listed: str) -> list[str]:
    """Of what it needs, by lines of package and state. Pure."""
    there = {line.split()[0] for line in listed.splitlines() if line.endswith(" installed")}
    return [name for name in NEEDS if name not in there]


def unpack(tarball: Path, work: Path) -> Path:
    """Its folder."""
    with tarfile.open(tarball) as packed:
        first = packed.next()
    top = first.name.split("/", 1)[0] if first is not None else ""
    subprocess.run(
        ["tar", "-xf", tarball, "-C", work, *(f"--exclude={top}/{part}" for part in LEFT_OUT)], check=True
    )
    for name in EMPTY:
        (work / top / name).parent.mkdir(parents=True, exist_ok=True)
        (work / top / name).touch()
    return work / top


def run(command: Sequence[str | Path], folder: Path, log: Path, note: Note) -> None:
    """Notes once a minute how far it is. Raises TargetError with the log's last line that says an error."""
    noted_s = time.monotonic()
    with (
        log.open("ab") as out,
        subprocess.Popen(
            [str(word) for word in command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as process,
    ):
        assert process.stdout is not None, "it was asked for"
        for line in process.stdout:
            out.write(line)
            step = STEP.match(line)
            if step and time.monotonic() > noted_s + NOTE_S:
                noted_s = time.monotonic()
                note(f"building MySQL Cluster: {int(step[1])} of {int(step[2])} steps")
    if process.returncode != 0:
        lines = life.log_lines(log, 400)
        said = [line for line in lines if re.search(r"\berror\b", line, re.IGNORECASE)] or lines
        raise TargetError(
            f"{command[0]} failed with code {process.returncode}: {(said or ['nothing was said'])[-1].strip()}; the whole log is {log}"
        )


def collect(source: Path, build: Path, out: Path) -> None:
    """Programs, library and headers, without symbols for debuggers."""
    out.mkdir()
    names = [build / "runtime_output_directory" / name for name in TARGETS if name != "ndbclient_so"]
    library = [
        p for p in (build / "library_output_directory").glob("libndbclient.so.*") if not p.is_symlink()
    ]
    for path in (*names, *library):
        shutil.copy2(path, out)
        subprocess.run(["strip", out / path.name], check=True)
    ndb = source / "storage/ndb/include"
    folders = (ndb / "ndbapi", ndb, build / "storage/ndb/include")
    searched = [word for folder in folders for word in ("-I", folder)]
    listed = subprocess.run(
        ["c++", "-M", "-x", "c++", *searched, "-"], input="#include <NdbApi.hpp>", stdout=subprocess.PIPE, text=True, check=True
    )  # fmt: skip
    (out / "include").mkdir()
    for word in listed.stdout.replace("\\\n", " ").split():
        if "storage/ndb/include" in word:
            shutil.copy2(build / word, out / "include")
