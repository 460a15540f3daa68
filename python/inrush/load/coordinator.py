"""Hash shards behind one coordinator: PostgreSQL's own partitions, each a foreign table on its worker. Pure.

Rows arrive straight on the right worker; ordinary SQL on the coordinator finds and prunes them, because they were
placed by the coordinator's own rule (rust/src/load/place.rs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, unquote, urlsplit

from inrush.engines.sql import literal, quote
from inrush.errors import UsageError

#: A worker of ours on the coordinator, by its place among the shards.
WORKER = "inrush_shard_{k}"
#: Rows that the wrapper fetches and sends at once.
FETCH_ROWS, BATCH_ROWS = 10_000, 1_000


def statements(
    name: str,
    columns: Sequence[tuple[str, str]],
    key: Sequence[str],
    workers: Sequence[str],
    passwords: Mapping[str, str],
) -> list[str]:
    """What makes table `name` of the coordinator the whole of the workers' tables of that name.

    columns: (name, type) as the workers have them. workers: URLs in the order of their partitions, without passwords.
    passwords: URL -> password where a worker asks for one. Raises UsageError without a distribution key.
    """
    if not key:
        raise UsageError("a coordinator needs the distribution key: --key COLUMN,…")
    table = ".".join(map(quote, name.split(".")))
    declared = ", ".join(f"{quote(column)} {kind}" for column, kind in columns)
    made = [
        "CREATE EXTENSION IF NOT EXISTS postgres_fdw",
        f"CREATE TABLE IF NOT EXISTS {table} ({declared}) PARTITION BY HASH ({', '.join(map(quote, key))})",
    ]
    for k, url in enumerate(workers):
        made += [*worker_statements(k, url, passwords.get(url)), partition(name, k, len(workers))]
    return made


def worker_statements(k: int, url: str, password: str | None) -> list[str]:
    """The worker as a foreign server, made anew: its address may have changed."""
    parts = urlsplit(url)
    queried = dict(parse_qsl(parts.query))
    options = {
        "host": queried.get("host", parts.hostname or "127.0.0.1"),
        "port": str(parts.port or 5432),
        "dbname": unquote(parts.path.lstrip("/")) or "postgres",
        "fetch_size": str(FETCH_ROWS),
        "batch_size": str(BATCH_ROWS),
        "async_capable": "true",
        # The workers' own statistics: the coordinator has none of its foreign tables.
        "use_remote_estimate": "true",
    }
    user = {"user": unquote(parts.username or "postgres")}
    if password is not None:
        user["password"] = password
    server = quote(WORKER.format(k=k))
    return [
        f"CREATE SERVER IF NOT EXISTS {server} FOREIGN DATA WRAPPER postgres_fdw OPTIONS ({given(options)})",
        f"ALTER SERVER {server} OPTIONS ({given(options, 'SET ')})",
        f"CREATE USER MAPPING IF NOT EXISTS FOR CURRENT_USER SERVER {server} OPTIONS ({given(user)})",
        f"ALTER USER MAPPING FOR CURRENT_USER SERVER {server} OPTIONS ({given(user, 'SET ')})",
    ]


def given(options: Mapping[str, str], how: str = "") -> str:
    return ", ".join(f"{how}{quote(name)} {literal(value)}" for name, value in options.items())


def partition(name: str, k: int, shards: int) -> str:
    """Partition k of the coordinator's table: the worker's table of the same name."""
    schema, _, table = name.rpartition(".")
    own = ".".join(quote(part) for part in (*filter(None, (schema,)), f"{table}_{k}"))
    whole = ".".join(map(quote, name.split(".")))
    there = {"schema_name": schema or "public", "table_name": table}
    return (
        f"CREATE FOREIGN TABLE IF NOT EXISTS {own} PARTITION OF {whole} "
        f"FOR VALUES WITH (MODULUS {shards}, REMAINDER {k}) SERVER {quote(WORKER.format(k=k))} OPTIONS ({given(there)})"
    )
