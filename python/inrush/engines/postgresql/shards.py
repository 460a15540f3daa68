"""Hash shards behind one coordinator: PostgreSQL's own partitions, each a foreign table on its worker. Pure.

Rows arrive straight on the right worker; ordinary SQL on the coordinator finds and prunes them, because they were
placed by the coordinator's own rule (rust/rows/src/placement.rs). The coordinator knows its workers as foreign servers, so
that a load finds them there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote as encoded

from inrush.border import address
from inrush.engines.base.cluster import HASH_PARTITIONS, Cluster, ShardedTable
from inrush.engines.base.sql import literal, oid, quote
from inrush.errors import UsageError

#: A worker of ours on the coordinator, by its place among the shards.
WORKER = "inrush_shard_{k}"
#: Rows that the wrapper fetches and sends at once.
FETCH_ROWS, BATCH_ROWS = 10_000, 1_000
#: Of a worker's URL, what libpq on the coordinator needs to reach it too; files are the coordinator's.
TLS = ("sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "ssl_min_protocol_version")
REMAINDER = re.compile(r"FOR VALUES WITH \(modulus (\d+), remainder (\d+)\)\Z", re.IGNORECASE)


class PostgresqlCluster(Cluster):
    """Hash partitions that are foreign tables."""

    def __init__(self, scheme: str) -> None:
        """scheme: of the workers' URLs."""
        self.scheme = scheme

    def ask_shards(self) -> str:
        return ask_servers()

    def shard_urls(self, rows: Sequence[Sequence[Any]]) -> tuple[str, ...]:
        return worker_urls(self.scheme, rows)

    def ask_table(self, schema: str, table: str) -> str:
        return ask_table(schema, table)

    def sharded_table(self, name: str, rows: Sequence[Sequence[Any]]) -> ShardedTable | None:
        return sharded_table(self.scheme, name, rows)

    def know_shards(self, urls: Sequence[str], passwords: Mapping[str, str]) -> Sequence[str]:
        return servers(urls, passwords)

    def spread_table(
        self, name: str, columns: Sequence[tuple[str, str]], key: Sequence[str], urls: Sequence[str]
    ) -> Sequence[str]:
        return table(name, columns, key, urls)


def servers(workers: Sequence[str], passwords: Mapping[str, str]) -> list[str]:
    """What makes `workers` known to the coordinator, in the order of their partitions. passwords: URL -> password."""
    made = ["CREATE EXTENSION IF NOT EXISTS postgres_fdw"]
    for k, url in enumerate(workers):
        made += worker_statements(k, url, passwords.get(url))
    return made


def table(
    name: str, columns: Sequence[tuple[str, str]], key: Sequence[str], workers: Sequence[str]
) -> list[str]:
    """What makes table `name` of the coordinator the whole of the workers' tables of that name.

    columns: (name, type) as the workers have them. Raises UsageError without a distribution key.
    """
    if not key:
        raise UsageError("a coordinator needs the distribution key: --key COLUMN,…")
    return spread_over(name, columns, key, len(workers))


def spread_over(name: str, columns: Sequence[tuple[str, str]], key: Sequence[str], shards: int) -> list[str]:
    """The same over the first so many of the workers that the coordinator knows."""
    whole = ".".join(map(quote, name.split(".")))
    declared = ", ".join(f"{quote(column)} {kind}" for column, kind in columns)
    by = f"PARTITION BY HASH ({', '.join(map(quote, key))})"
    made = [f"CREATE TABLE IF NOT EXISTS {whole} ({declared}) {by}"]
    return made + [partition(name, k, shards) for k in range(shards)]


def on_all(own: Sequence[str], spread: Sequence[str]) -> str:
    """One statement for coordinator and workers: `spread` on the one that knows a worker, `own` on the others."""
    known = f"SELECT FROM pg_foreign_server WHERE srvname = {literal(WORKER.format(k=0))}"

    def run(statements: Sequence[str]) -> str:
        return " ".join(f"EXECUTE {literal(statement)};" for statement in statements)

    return f"DO $inrush$ BEGIN IF EXISTS ({known}) THEN {run(spread)} ELSE {run(own)} END IF; END $inrush$"


def worker_statements(k: int, url: str, password: str | None) -> list[str]:
    """The worker as a foreign server, made anew: its address may have changed."""
    place = address.read(url).check()
    options = {
        "host": place.socket or ",".join(host for host, _ in place.hosts),
        "port": str(place.port) if place.socket else ",".join(str(port) for _, port in place.hosts),
        "dbname": place.database or "postgres",
        "fetch_size": str(FETCH_ROWS),
        "batch_size": str(BATCH_ROWS),
        "async_capable": "true",
        # The workers' own statistics: the coordinator has none of its foreign tables.
        "use_remote_estimate": "true",
    }
    options |= {name: place.options[name] for name in TLS if name in place.options}
    user = {"user": place.user or "postgres"}
    if password is not None:
        user["password"] = password
    server = WORKER.format(k=k)
    mapping = f"USER MAPPING FOR CURRENT_USER SERVER {quote(server)}"
    return [
        f"CREATE SERVER IF NOT EXISTS {quote(server)} FOREIGN DATA WRAPPER postgres_fdw",
        set_to(
            f"SERVER {quote(server)}",
            f"SELECT srvoptions FROM pg_foreign_server WHERE srvname = {literal(server)}",
            options,
        ),
        f"CREATE USER MAPPING IF NOT EXISTS FOR CURRENT_USER SERVER {quote(server)}",
        set_to(
            mapping,
            f"SELECT umoptions FROM pg_user_mappings WHERE srvname = {literal(server)} AND usename = CURRENT_USER",
            user,
        ),
    ]


def set_to(what: str, options_of: str, options: Mapping[str, str]) -> str:
    """Gives `what` these options and no others: PostgreSQL has a word each for what is new, there, and to go.

    options_of: a query for its options as they are.
    """
    wanted = ", ".join(f"({literal(name)}, {literal(value)})" for name, value in options.items())
    return f"""DO $inrush$ DECLARE change text;
BEGIN
  SELECT string_agg(CASE WHEN w.name IS NULL THEN format('DROP %I', h.option_name)
      WHEN h.option_name IS NULL THEN format('ADD %I %L', w.name, w.value) ELSE format('SET %I %L', w.name, w.value) END, ', ')
    INTO change FROM (VALUES {wanted}) w(name, value)
    FULL JOIN pg_options_to_table(({options_of})) h ON h.option_name = w.name;
  EXECUTE format('ALTER %s OPTIONS (%s)', {literal(what)}, change);
END $inrush$"""


def given(options: Mapping[str, str]) -> str:
    return ", ".join(f"{quote(name)} {literal(value)}" for name, value in options.items())


def partition(name: str, k: int, shards: int) -> str:
    """Partition k of the coordinator's table: the worker's table of the same name."""
    schema, _, own = name.rpartition(".")
    part = ".".join(quote(word) for word in (*filter(None, (schema,)), f"{own}_{k}"))
    whole = ".".join(map(quote, name.split(".")))
    there = {"schema_name": schema or "public", "table_name": own}
    return (
        f"CREATE FOREIGN TABLE IF NOT EXISTS {part} PARTITION OF {whole} "
        f"FOR VALUES WITH (MODULUS {shards}, REMAINDER {k}) SERVER {quote(WORKER.format(k=k))} OPTIONS ({given(there)})"
    )


# what a coordinator says of its workers

_OPTIONS = "(SELECT json_object_agg(option_name, option_value)::text FROM pg_options_to_table({}))"
_WORKER = (
    f"{_OPTIONS.format('s.srvoptions')}, "
    f"(SELECT {_OPTIONS.format('m.umoptions')} FROM pg_user_mappings m WHERE m.srvid = s.oid "
    "AND (m.usename = CURRENT_USER OR m.umuser = 0) ORDER BY m.umuser DESC LIMIT 1)"
)


def ask_servers() -> str:
    """Rows (name, options, user's options) of the workers that inrush made known."""
    return (
        f"SELECT s.srvname, {_WORKER} FROM pg_foreign_server s WHERE s.srvname ~ '^inrush_shard_[0-9]+$' "
        "ORDER BY substr(s.srvname, 14)::int"
    )


def ask_table(schema: str, name: str) -> str:
    """Rows (kind, key, bound, worker's options, user's options, table there) of a table and its partitions.

    One row with NULL from `bound` on for a table without partitions; no row where there is no such table.
    """
    key = (
        "(SELECT json_agg(a.attname ORDER BY k.n)::text FROM pg_partitioned_table p "
        "CROSS JOIN LATERAL unnest(p.partattrs::int2[]) WITH ORDINALITY k(attnum, n) LEFT JOIN pg_attribute a "
        "ON a.attrelid = p.partrelid AND a.attnum = k.attnum WHERE p.partrelid = t.oid AND p.partstrat = 'h')"
    )
    return (
        f"SELECT t.relkind::text, {key}, pg_get_expr(c.relpartbound, c.oid), {_WORKER}, "
        f"{_OPTIONS.format('f.ftoptions')} FROM pg_class t LEFT JOIN pg_inherits i ON i.inhparent = t.oid "
        "AND t.relkind = 'p' LEFT JOIN pg_class c ON c.oid = i.inhrelid LEFT JOIN pg_foreign_table f ON f.ftrelid = c.oid "
        f"LEFT JOIN pg_foreign_server s ON s.oid = f.ftserver WHERE t.oid = {oid(schema, name)}"
    )


def sharded_table(scheme: str, name: str, rows: Sequence[Sequence[str | None]]) -> ShardedTable | None:
    """The workers behind a table, of the rows of `ask_table`; None for one that lies on the coordinator alone.

    Raises UsageError for partitions that are not one for each worker, by the hash of columns.
    """
    if not any(row[3] is not None for row in rows):
        return None
    key = json.loads(rows[0][1] or "[null]")
    if None in key:
        raise UsageError(f"table {name} is not partitioned by the hash of columns: rows cannot be placed")
    urls: dict[int, str] = {}
    for _, _, bound, server, user, there in rows:
        found = REMAINDER.match(bound or "")
        options = json.loads(there or "{}")
        if found is None or server is None or int(found[1]) != len(rows):
            raise UsageError(f"table {name} has other partitions than one for each shard: {bound}")
        if options.get("table_name", name.rpartition(".")[2]) != name.rpartition(".")[2]:
            raise UsageError(f"table {name} is called {options['table_name']} on a shard; name each --shard")
        urls[int(found[2])] = url_of(scheme, json.loads(server), json.loads(user or "{}"))
    return ShardedTable(tuple(urls[k] for k in sorted(urls)), tuple(key), HASH_PARTITIONS, name)


def worker_urls(scheme: str, rows: Iterable[Sequence[str | None]]) -> tuple[str, ...]:
    """Of the rows of `ask_servers`."""
    return tuple(
        url_of(scheme, json.loads(server or "{}"), json.loads(user or "{}")) for _, server, user in rows
    )


def url_of(scheme: str, server: Mapping[str, str], user: Mapping[str, str]) -> str:
    """A worker's URL as we reach it; a password is in it where the coordinator has one."""
    login = encoded(user.get("user", "postgres"), safe="")
    if "password" in user:
        login += f":{encoded(user['password'], safe='')}"
    host = server.get("host", "127.0.0.1")
    queried = {name: server[name] for name in TLS if name in server}
    if host.startswith("/"):
        queried, host = {"host": host, **queried}, ""
    elif ":" in host:
        host = f"[{host}]"
    query = "&".join(f"{name}={encoded(value, safe='/')}" for name, value in queried.items())
    address = f"{scheme}://{login}@{host}:{server.get('port', '5432')}/{encoded(server.get('dbname', 'postgres'), safe='')}"
    return address + (f"?{query}" if query else "")
