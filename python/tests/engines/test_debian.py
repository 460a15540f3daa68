"""Servers out of Debian's packages: what is decided before anything is downloaded."""

from __future__ import annotations

import hashlib
import json
import threading
from pathlib import Path

import pytest

from inrush.engines.base.instance import Release
from inrush.engines.servers import apt, debian, private
from inrush.errors import TargetError

LISTED = """Reading package lists...
'http://some.mirror/pool/main/g/glibc/libc6_2.36-9%2bdeb12u14_amd64.deb' libc6_2.36-9+deb12u14_amd64.deb 2759320 SHA256:aa
'http://some.mirror/pool/main/i/influxdb/influxdb_1.6.7%7erc0_amd64.deb' influxdb_1.6.7~rc0_amd64.deb 5247004 SHA256:bb
"""
SERVER = debian.Packages("some", "some-1", "stable", ("influxdb",), "usr/bin/some", version=())


def test_a_closure_is_what_apt_lists_with_strong_hashes() -> None:
    first, second = apt.parse_uris(LISTED)
    assert (first.file, first.size_bytes, first.sha256) == (
        "libc6_2.36-9+deb12u14_amd64.deb",
        2_759_320,
        "aa",
    )
    assert second.url.endswith("influxdb_1.6.7%7erc0_amd64.deb")
    with pytest.raises(TargetError, match=r"libc6.* by MD5Sum, not by SHA256"):
        apt.parse_uris(LISTED.replace("SHA256", "MD5Sum"))


def test_a_package_that_is_not_the_listed_one_is_refused_and_removed(tmp_path: Path) -> None:
    archive = tmp_path / "a.deb"
    archive.write_bytes(b"changed on the way")
    with pytest.raises(TargetError, match="not 00ff as listed; it was removed"):
        apt.check(archive, apt.Package("", "a.deb", 18, "00ff"))
    assert not archive.exists()
    archive.write_bytes(b"right")
    apt.check(archive, apt.Package("", "a.deb", 5, hashlib.sha256(b"right").hexdigest()))


def test_the_mirror_is_debians_own_and_not_a_neighbours() -> None:
    listed = "Other|Other|http://a\nDebian|Debian-Security|http://b\nDebian|Debian|http://c\nDebian|Debian|http://d\n"
    assert apt.debian_mirror(listed) == "http://c"
    assert apt.debian_mirror("Ubuntu|Ubuntu|http://a\n\n") is None


def test_our_apt_reaches_the_network_as_the_machines_own_does(tmp_path: Path) -> None:
    system = 'APT::Install-Recommends "true";\nAcquire::http::Proxy "http://proxy:1";\nAcquire::https::CaInfo "/ca";\n'
    config = apt.config_of(tmp_path, system)
    assert 'Acquire::http::Proxy "http://proxy:1";' in config and 'Acquire::https::CaInfo "/ca";' in config
    assert 'APT::Install-Recommends "true"' not in config
    assert f'Dir::State "{tmp_path}/state";' in config


def test_a_prefix_that_was_not_finished_or_was_moved_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    home = apt.root() / SERVER.name
    home.mkdir(parents=True)
    assert debian.cached(SERVER) is None, "killed half-way"
    doc = {"version": "1.2", "path": str(home), "source": "Debian stable: influxdb"}
    (home / debian.RECORD).write_text(json.dumps(doc))
    found = debian.cached(SERVER)
    assert found is not None and (found.version, found.path) == ("1.2", home)
    (home / debian.RECORD).write_text(json.dumps({**doc, "path": "/elsewhere"}))
    assert debian.cached(SERVER) is None, "its programs look for their libraries elsewhere"


def test_two_that_fetch_at_once_wait_for_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fetches: list[str] = []
    arrived = threading.Barrier(4)

    def fetched(wanted: debian.Packages) -> Release:
        fetches.append(wanted.name)
        home = apt.root() / wanted.name
        home.mkdir(parents=True)
        doc = {"version": "1.2", "path": str(home), "source": "once"}
        private.write(home / debian.RECORD, json.dumps(doc))
        return Release(wanted.engine, "1.2", home, "once")

    def fetch() -> None:
        arrived.wait()
        assert debian.release(SERVER).source == "once"

    monkeypatch.setattr(debian, "fetched", fetched)
    threads = [threading.Thread(target=fetch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert fetches == [SERVER.name]


def test_the_version_of_a_server_that_tells_none_is_its_packages() -> None:
    packages = apt.parse_uris(LISTED)
    assert debian.version_of(SERVER, Path("/nowhere"), packages) == "1.6.7~rc0"
