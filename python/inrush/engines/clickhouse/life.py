"""The life of a ClickHouse of inrush's own, and the two files that one reads."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from inrush.engines.base.instance import Instance, Release
from inrush.engines.clickhouse import shards as clickhouse_shards
from inrush.engines.servers import debian, life, ports, private, secret
from inrush.engines.servers.own_server import OwnServer, ServerPlace

CLICKHOUSE = {
    "18.16": debian.Packages(
        "clickhouse",
        "clickhouse-18.16",
        "bookworm",
        ("clickhouse-server", "clickhouse-client", "clickhouse-tools"),
        "usr/sbin/clickhouse-server",
        version=(),  # its server knows no such option
    )
}
#: Settings of the server as a whole; all others belong to the profile of its users, and the server refuses strange ones.
OF_SERVER = frozenset(
    {
        "mark_cache_size",
        "uncompressed_cache_size",
        "max_connections",
        "max_concurrent_queries",
        "keep_alive_timeout",
        "max_open_files",
        "max_table_size_to_drop",
        "max_partition_size_to_drop",
        "builtin_dictionaries_reload_interval",
    }
)
#: Settings of the table engine, as `merge_tree.<name>`.
OF_TABLES = "merge_tree."
#: Setting of inrush's own: the shards of the server in front, each as NATIVE_PORT:HTTP_PORT.
SHARDS = "inrush_shards"
#: Below the folder that `path` of its configuration names: a file that a server has open all the while that it runs, and
#: those of parts, by the numbers of their tables or by their names.
HELD = re.compile(r"(?P<folder>/.+)/status")
OF_TABLES_FILES = re.compile(
    r"(?P<folder>/.+)/(?:store/[0-9a-f]{3}/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|data/[^/]+/[^/]+)/.+"
)
FOLDERS = ("data", "tmp", "format_schemas", "user_files")


class ClickhouseLife(OwnServer):
    name = "clickhouse"
    title = "ClickHouse"
    series = 1
    account = "default"
    unknown_setting = re.compile(r"Unknown setting '?([\w.]+)")
    reserved = frozenset(
        {"http_port", "tcp_port", "interserver_http_port", "listen_host", "path", "tmp_path", "timezone"}
    )

    offers = CLICKHOUSE
    #: A server of today is one program that does what its first argument says.
    programs = ("clickhouse-server", "clickhouse")

    def url_of(self, port: int) -> str:
        return f"clickhouse://{self.account}@127.0.0.1:{port}/default"

    def make(self, place: ServerPlace) -> None:
        for folder in FOLDERS:
            private.folder(place.home / folder, place.user)

    def start_settings(self, instance: Instance) -> dict[str, str]:
        return {name: value for name, value in super().start_settings(instance).items() if name != SHARDS}

    def command(self, place: ServerPlace) -> Sequence[str | Path]:
        # As before, where it is free: a server in front knows its shards by this port.
        last = native_port(place.data)
        native = last if last and ports.is_free(last) else ports.free_port()
        password = secret.of(place.data)
        private.write(place.data / "config.xml", config(place, native, password), place.user)
        private.write(place.data / "users.xml", users(place.settings, password), place.user)
        program = self.program(place.release)
        server = ["server"] if program.name == "clickhouse" else []
        return [program, *server, f"--config-file={place.data / 'config.xml'}"]

    def known_settings(self, release: Release) -> frozenset[str] | None:
        return None  # the server refuses what it does not know, and names it

    def is_ready(self, place: ServerPlace) -> bool:
        login = (self.account, secret.of(place.data))
        status, body = life.http_answer(place.port, "/?query=SELECT%201", login)
        return (status, body.strip()) == (200, b"1")

    def client(self, instance: Instance, process: str = "") -> str:
        # Its own client takes a password as an argument, or from a file in a format of its own.
        address = f"http://127.0.0.1:{instance.port}/?query=SELECT+version()"
        return secret.to_curl(instance.data, self.account, address)


def config(place: ServerPlace, native: int, password: str) -> str:
    """config.xml. native: the port for its own clients and for a server in front. There is none for replicas.

    password: of its shards too, which it logs in to.
    """
    own = {
        "http_port": str(place.port),
        "tcp_port": str(native),
        "listen_host": "127.0.0.1",
        "path": f"{place.home}/data/",
        "tmp_path": f"{place.home}/tmp/",
        "format_schema_path": f"{place.home}/format_schemas/",
        "user_files_path": f"{place.home}/user_files/",
        "users_config": str(place.data / "users.xml"),
        "default_profile": "default",
        "default_database": "default",
        "timezone": "UTC",
    }
    chosen = {k: v for k, v in place.settings.items() if k in OF_SERVER}
    tables = {k.removeprefix(OF_TABLES): v for k, v in place.settings.items() if k.startswith(OF_TABLES)}
    shards = [word.split(":") for word in place.settings.get(SHARDS, "").split()]
    # Without a file of its own the log goes where the process writes.
    return _document(
        "<logger><level>warning</level><console>1</console></logger>",
        *clickhouse_shards.configuration([(int(native), int(http)) for native, http in shards], password),
        *_elements(own),
        *_elements(chosen),
        "<merge_tree>",
        *_elements(tables),
        "</merge_tree>",
    )


def folder_of_data(opened: Iterable[str]) -> str:
    """Of a server, by the paths of files that it has open; empty: not known. Pure."""
    paths = [path for path in opened if not path.startswith(("/proc/", "/sys/"))]
    for which in (HELD, OF_TABLES_FILES):
        folders = Counter(found["folder"] for path in paths if (found := which.fullmatch(path)))
        if folders:
            return folders.most_common(1)[0][0]
    return ""


def native_port(data: Path) -> int:
    """The port of ClickHouse's own protocol that the last server in this folder had; 0: there was none."""
    file = data / "config.xml"
    found = re.search(r"<tcp_port>(\d+)</tcp_port>", file.read_text()) if file.is_file() else None
    return int(found[1]) if found else 0


def users(settings: Mapping[str, str], password: str) -> str:
    """users.xml: one account, from this machine alone."""
    profile = {
        k: v for k, v in settings.items() if k not in {*OF_SERVER, SHARDS} and not k.startswith(OF_TABLES)
    }
    hashed = hashlib.sha256(password.encode()).hexdigest()
    account = f"<password_sha256_hex>{hashed}</password_sha256_hex>"
    account += "<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota>"
    return _document(
        "<profiles><default>",
        *_elements(profile),
        "</default></profiles>",
        f"<users><default>{account}</default></users>",
        "<quotas><default></default></quotas>",
    )


def _document(*lines: str) -> str:
    # The name of the root that servers of every age read.
    return "\n".join(('<?xml version="1.0"?>', "<yandex>", *lines, "</yandex>", ""))


def _elements(settings: Mapping[str, str]) -> list[str]:
    return [f"<{name}>{escape(value)}</{name}>" for name, value in settings.items()]
