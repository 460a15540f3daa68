"""Programs of MySQL Cluster: taken from a folder or a tarball that is named, with inrush's binding compiled against them."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from inrush.engines.ndb import build as ndb_build
from inrush.engines.ndb import release as ndb_release
from inrush.engines.ndb.release import BINDING, HOME, TARBALL, ClusterPrograms
from inrush.engines.servers import apt
from inrush.errors import TargetError

PROGRAM = "#!/bin/sh\necho 'MySQL distrib mysql-{version} ndb-{version}, for Linux'\n"
HEADER = '#pragma once\n#include <ndb_types.h>\nextern "C" ndb_number answer();\n'
SOURCE = '#include <NdbApi.hpp>\nextern "C" int bound() { return answer() + %d; }\n'
pytestmark = pytest.mark.skipif(
    shutil.which("c++") is None and not os.environ.get("INRUSH_REQUIRE_SERVERS"),
    reason="no c++ here, by which the binding is compiled",
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClusterPrograms:
    """An empty one, a binding of one line, and nothing that is named."""
    for variable in (HOME, TARBALL, "CXX"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = tmp_path / "binding.cpp"
    source.write_text(SOURCE % 1)
    monkeypatch.setattr(ndb_release, "BINDING_SOURCE", source)
    return ClusterPrograms()


def install(
    home: Path, version: str = "9.7.2", bin_at: str = "", lib_at: str = "", headers_at: str = ""
) -> Path:
    """As a tarball of ours, or as an installation has it."""
    bin_, lib, headers = home / bin_at, home / lib_at, home / headers_at
    for folder in (bin_, lib, headers / "ndbapi" if headers_at else headers):
        folder.mkdir(parents=True, exist_ok=True)
    for name in ("ndbmtd", "ndb_mgmd"):
        (bin_ / name).write_text(PROGRAM.format(version=version))
        (bin_ / name).chmod(0o755)
    (headers / "ndb_types.h").write_text("#pragma once\ntypedef int ndb_number;\n")
    (headers / ("ndbapi" if headers_at else "") / "NdbApi.hpp").write_text(HEADER)
    library = lib / "libndbclient.so.6.1.0"
    subprocess.run(
        ["c++", "-shared", "-fPIC", "-x", "c++", "-", "-o", library, f"-Wl,-soname,{library.name}"],
        input='extern "C" int answer() { return 41; }',
        text=True,
        check=True,
    )
    (lib / "libndbclient.so").symlink_to(library.name)
    return home


def bound(release_path: Path) -> str:
    """What the binding says, loaded by a process of its own: it finds the client library beside it."""
    code = f"import ctypes; print(ctypes.CDLL({str(release_path / BINDING)!r}).bound())"
    return subprocess.run(["python3", "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(
    "layout", [{}, {"bin_at": "sbin", "lib_at": "lib", "headers_at": "include/storage/ndb"}]
)
def test_a_folder_that_is_named_gives_programs_library_headers_and_a_binding(
    layout: dict[str, str], cache: ClusterPrograms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = install(tmp_path / "home", **layout)
    monkeypatch.setenv(HOME, str(home))
    assert cache.cached() is None and cache.at_hand()
    release = cache.release()
    assert (release.version, release.source, release.path) == ("9.7.2", str(home), cache.folder)
    assert cache.program_in(release.path).is_file() and bound(release.path) == "42"
    shutil.rmtree(home)
    monkeypatch.delenv(HOME)
    assert cache.cached() == release and bound(release.path) == "42", "nothing of it is needed any more"


def test_a_tarball_is_known_by_its_hash_and_another_one_takes_its_place(
    cache: ClusterPrograms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tarball = tmp_path / "ndb.tar.xz"
    monkeypatch.setenv(TARBALL, str(tarball))
    found = []
    for version in ("9.7.2", "9.7.3"):
        with tarfile.open(tarball, "w:xz") as packed:
            packed.add(install(tmp_path / version, version), ".")
        assert cache.cached() is None
        found.append(cache.release())
        assert cache.cached() == found[-1]
    assert [release.version for release in found] == ["9.7.2", "9.7.3"]
    assert found[0].source.startswith("ndb.tar.xz, sha256 ") and found[0].source != found[1].source


def test_the_mysqld_of_a_tarball_is_kept_with_what_it_reads(
    cache: ClusterPrograms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = install(tmp_path / "in", bin_at="bin", lib_at="lib", headers_at="include/storage/ndb")
    for name in ("bin/mysqld", "share/english/errmsg.sys", "lib/plugin/a.so", "docs/large"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("x")
    with tarfile.open(tmp_path / "ndb.tar.xz", "w:xz") as packed:
        packed.add(home, "mysql-cluster-9.7.2")
    monkeypatch.setenv(TARBALL, str(tmp_path / "ndb.tar.xz"))
    kept = cache.release().path / "sql"
    assert all(
        (kept / name).is_file() for name in ("bin/mysqld", "share/english/errmsg.sys", "lib/plugin/a.so")
    )
    assert not (kept / "docs").exists()
    monkeypatch.setenv(HOME, str(home))
    assert not (cache.release().path / "sql").exists(), "that of a folder stays where it is"


def test_the_binding_of_another_inrush_is_compiled_again_and_nothing_else(
    cache: ClusterPrograms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HOME, str(install(tmp_path / "home")))
    release = cache.release()
    made = (release.path / "ndbmtd").stat().st_ino
    ndb_release.BINDING_SOURCE.write_text(SOURCE % 2)
    assert cache.cached() is None
    assert bound(cache.release().path) == "43" and (release.path / "ndbmtd").stat().st_ino == made


def test_what_is_missing_is_said_in_one_line(
    cache: ClusterPrograms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(says: str) -> None:
        with pytest.raises(TargetError, match=says) as why:
            cache.release()
        assert "\n" not in str(why.value)
        assert not [path for path in cache.folder.parent.glob(".ndb-*") if path.is_dir()], (
            "nothing half is left"
        )

    monkeypatch.setenv(TARBALL, str(tmp_path / "no.tar.xz"))
    refused(rf"{TARBALL} is .*no.tar.xz, where there is no file; name an unpacked MySQL Cluster by {HOME}")
    (tmp_path / "no.tar.xz").write_bytes(b"no tarball")
    refused("no.tar.xz could not be unpacked: ")
    home = install(tmp_path / "home")
    monkeypatch.setenv(HOME, str(home))
    (home / "ndbmtd").write_text("#!/bin/sh\necho 'libssl.so.3: not found'\n")
    refused("ndbmtd does not run here: libssl.so.3: not found")
    (home / "ndbmtd").write_text(PROGRAM.format(version="9.7.2"))
    ndb_release.BINDING_SOURCE.write_text("no program\n")
    refused("c.. could not compile inrush's binding to MySQL Cluster in .*error")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    refused(
        r"c\+\+ is not installed; inrush's binding to MySQL Cluster is compiled with it \(on Debian: apt-get install g\+\+\)"
    )
    monkeypatch.undo()


@pytest.mark.parametrize("gone", ["ndb_mgmd", "NdbApi.hpp", "libndbclient.so.6.1.0"])
def test_a_part_that_a_folder_lacks_is_named(
    gone: str, cache: ClusterPrograms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = install(tmp_path / "home")
    (home / gone).unlink()
    monkeypatch.setenv(HOME, str(home))
    with pytest.raises(TargetError, match=rf"home has no {gone.replace('6.1.0', '.')}"):
        cache.release()


def test_where_nothing_is_named_it_is_built_and_what_that_needs_is_said(
    cache: ClusterPrograms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not cache.at_hand()
    there = "".join(f"{name} installed\n" for name in ndb_build.NEEDS if name not in ("bison", "cmake"))
    assert ndb_build.lacking(there + "bison config-files\n") == ["cmake", "bison"]
    monkeypatch.setattr(ndb_build, "lacking", lambda listed: ["cmake", "bison"])
    with pytest.raises(
        TargetError, match="has to be built here, which needs 2 more packages: as root, "
    ) as why:
        cache.release()
    assert f"--no-install-recommends cmake bison; or name an unpacked MySQL Cluster by {HOME}" in str(
        why.value
    )


def test_a_build_says_how_far_it_is_and_where_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ndb_build, "NOTE_S", -1.0)
    notes: list[str] = []
    script = "echo '[3/635] Building a.cc'; echo '[4/635] Building b.cc'; %s"
    ndb_build.run(["sh", "-c", script % "true"], tmp_path, tmp_path / "log", notes.append)
    assert notes == [f"building MySQL Cluster: {n} of 635 steps" for n in (3, 4)]
    failing = "echo 'b.cc:1: error: no such thing'; echo 'ninja: stopped'; exit 1"
    with pytest.raises(
        TargetError, match=r"^sh failed with code 1: b.cc:1: error: no such thing; the whole log is "
    ):
        ndb_build.run(["sh", "-c", script % failing], tmp_path, tmp_path / "log", notes.append)


def test_the_source_that_was_tried_is_taken_and_where_it_has_gone_the_one_that_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listed(suite: str, package: str, into: Path) -> None:
        for end in ("orig.tar.gz", "orig.tar.gz.asc", "debian.tar.xz"):
            (into / f"{package}_9.7.9.{end}").touch()

    def gone(file: str, sha256: str, into: Path) -> Path:
        raise TargetError("404")

    monkeypatch.setattr(apt, "fetch_source", listed)
    monkeypatch.setattr(apt, "fetch_pool", lambda file, sha256, into: into / file.rpartition("/")[2])
    assert ndb_build.fetched(tmp_path).name == "mysql-9.7_9.7.2.orig.tar.gz"
    monkeypatch.setattr(apt, "fetch_pool", gone)
    assert ndb_build.fetched(tmp_path).name == "mysql-9.7_9.7.9.orig.tar.gz"


def test_a_source_is_unpacked_without_its_tests_which_its_build_still_finds(tmp_path: Path) -> None:
    for name in ("CMakeLists.txt", "mysql-test/big", "router/tests/big", "router/src/kept"):
        (tmp_path / "mysql-9.7.9" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mysql-9.7.9" / name).write_text("x")
    with tarfile.open(tmp_path / "s.tar.gz", "w:gz") as packed:
        packed.add(tmp_path / "mysql-9.7.9", "mysql-9.7.9")
    (work := tmp_path / "work").mkdir()
    source = ndb_build.unpack(tmp_path / "s.tar.gz", work)
    found = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    assert source == work / "mysql-9.7.9" and found == {"CMakeLists.txt", "router/src/kept", *ndb_build.EMPTY}
    assert all((source / name).read_text() == "" for name in ndb_build.EMPTY)
