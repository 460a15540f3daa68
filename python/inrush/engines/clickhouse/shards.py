"""Shards behind one server: a table of engine Distributed over tables of the same columns, one on each shard. Pure.

Rows arrive straight on the shard where the Distributed table would have put them (rust/rows/src/placement/distributed.rs). A
server in front knows its shards by its configuration alone: a cluster, which no statement changes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote as encoded

from inrush.border import address
from inrush.border.load import Distributed, Hash
from inrush.engines.base.cluster import ShardedTable
from inrush.engines.base.sql import literal, quote
from inrush.errors import UsageError

#: The cluster of the servers that inrush started, in the configuration of the one in front.
CLUSTER = "inrush"
#: Macro of the one in front: where the shard of that number is reached by HTTP. A cluster says the port of another protocol.
HTTP_OF = "inrush_shard_"
#: Ports as shipped: that of ClickHouse's own protocol -> that of HTTP.
SHIPPED = {9000: 8123}
#: Function of a sharding key -> its name in `Hash` (place/distributed.rs); empty: the column itself.
HASHES: Mapping[str, Hash] = {"intHash64": "int_hash64", "cityHash64": "city_hash64", "": "value"}
#: Types that `intHash64` takes, lower case.
WHOLE = re.compile(r"u?int(8|16|32|64)|bool")
PLAIN = re.compile(r"\w+")


def configuration(shards: Sequence[tuple[int, int]], password: str) -> list[str]:
    """Elements of the configuration of the server in front. shards: (native port, HTTP port) of each, on this machine.

    password: of all of them; their account is `default`.
    """
    if not shards:
        return []
    each = [
        f"<shard><replica><host>127.0.0.1</host><port>{native}</port><password>{password}</password></replica></shard>"
        for native, _ in shards
    ]
    places = [f"<{HTTP_OF}{k}>127.0.0.1:{http}</{HTTP_OF}{k}>" for k, (_, http) in enumerate(shards, start=1)]
    cluster = [f"<remote_servers><{CLUSTER}>", *each, f"</{CLUSTER}></remote_servers>"]
    return [*cluster, "<macros>", *places, "</macros>"]


def table(
    name: str, columns: Sequence[tuple[str, str]], key: Sequence[str], urls: Sequence[str]
) -> list[str]:
    """What makes table `name` of the server in front the whole of the shards' tables of that name.

    columns: (name, type) as the shards have them. urls: of the shards. Raises UsageError without a distribution key.
    """
    if not key:
        raise UsageError("a table over shards needs the distribution key: --key COLUMN,…")
    schema, _, own = name.rpartition(".")
    whole = ".".join(map(quote, name.split(".")))
    declared = ", ".join(f"{quote(column)} {kind}" for column, kind in columns)
    # As a literal: 18.16 keeps the word currentDatabase() in the definition, and a later session is in another database.
    database = literal(schema or address.read(urls[0]).database)
    kinds = dict(columns)
    by = f"{function([kinds[column] for column in key])}({', '.join(map(quote, key))})"
    return [
        f"CREATE TABLE IF NOT EXISTS {whole} ({declared}) ENGINE = Distributed({CLUSTER}, {database}, {literal(own)}, {by})"
    ]


def function(kinds: Sequence[str]) -> str:
    """The hash that a table of ours is placed by. kinds: types of its key's columns."""
    whole = [WHOLE.fullmatch(kind.strip().lower()) for kind in kinds]
    return "intHash64" if len(whole) == 1 and whole[0] else "cityHash64"


def rule(kinds: Sequence[str], shards: int) -> Distributed:
    """Of a table of ours."""
    return _rule(HASHES[function(kinds)], [1] * shards)


def _rule(name: Hash, weights: Sequence[int]) -> Distributed:
    return {"kind": "distributed", "hash": name, "weights": list(weights)}


# what the server in front says of its shards

# Both sides of a join have a name: servers of today refuse one without (`joined_subquery_requires_alias`).

#: Columns about one shard of a cluster.
_SHARD = "shard_num, shard_weight, replica_num, host_name, port, user, substitution"
_CLUSTERS = (
    f"SELECT cluster, {_SHARD} FROM (SELECT cluster, shard_num, shard_weight, replica_num, host_name, port, user, "
    f"if(cluster = {literal(CLUSTER)}, concat({literal(HTTP_OF)}, toString(shard_num)), '') AS macro FROM system.clusters) "
    "AS of_cluster ANY LEFT JOIN (SELECT macro, substitution FROM system.macros) AS of_macro USING macro"
)


def ask_cluster() -> str:
    """Rows (database, then a shard) of the cluster that inrush made known."""
    return (
        f"SELECT currentDatabase() AS here, {_SHARD} FROM ({_CLUSTERS}) WHERE cluster = {literal(CLUSTER)} "
        "ORDER BY shard_num, replica_num"
    )


def ask_table(schema: str, name: str) -> str:
    """Rows (engine, its parameters, database, then a shard of its cluster) of a table; no row: there is no such table.

    A table without shards, or of a cluster that is not there, has one row with shard 0.
    """
    where = f"database = {literal(schema) if schema else 'currentDatabase()'} AND name = {literal(name)}"
    # The first of the parameters, in quotes or not.
    cluster = "extract(engine_full, '^Distributed\\\\([\\'`\"]?([^\\'`\",) ]+)')"
    return (
        f"SELECT engine, engine_full, here, {_SHARD} FROM (SELECT engine, engine_full, currentDatabase() AS here, "
        f"{cluster} AS cluster FROM system.tables WHERE {where}) AS of_table ALL LEFT JOIN ({_CLUSTERS}) AS of_shard USING cluster "
        "ORDER BY shard_num, replica_num"
    )


def shard_urls(rows: Sequence[Sequence[Any]]) -> tuple[str, ...]:
    """Addresses of the shards, of the rows of `ask_cluster`. Raises UsageError for a cluster whose rows inrush cannot place."""
    weights = _weights(f"cluster {CLUSTER}", [row[1:] for row in rows])
    if any(weight != 1 for weight in weights):
        raise UsageError(
            f"cluster {CLUSTER} has shards of different weight: make the Distributed table first, then its rows are placed by it"
        )
    return tuple(_url(f"cluster {CLUSTER}", row[0], row[1:]) for row in rows)


def sharded_table(name: str, rows: Sequence[Sequence[Any]]) -> ShardedTable | None:
    """The shards behind a table, of the rows of `ask_table`; None for one that lies on this server.

    Raises UsageError for a Distributed table whose rows inrush cannot place as it does.
    """
    engine, definition, here = (str(word) for word in rows[0][:3])
    if engine != "Distributed":
        return None
    cluster, database, there, *by = arguments(definition)
    shards = [row[3:] for row in rows]
    if not int(shards[0][0]):
        raise UsageError(f"table {name}: the server knows no cluster {bare(cluster)}: {definition}")
    if not by:
        raise UsageError(f"table {name} has no sharding key, so that rows have no place: {definition}")
    if "(" in database + there:
        raise UsageError(
            f"table {name} lies in {database} on its shards; name the database there: {definition}"
        )
    hashed, key = sharding_key(name, by[0])
    weights = _weights(f"table {name}", shards)
    schema, _, own = name.rpartition(".")
    # The name as it was asked for where it is the same on the shards: an import is known by it.
    same = (bare(database), bare(there)) == (schema or here, own)
    return ShardedTable(
        urls=tuple(_url(f"table {name}", here, shard) for shard in shards),
        key=key,
        rule=_rule(HASHES[hashed], weights),
        name=name if same else f"{bare(database)}.{bare(there)}",
    )


def sharding_key(name: str, by: str) -> tuple[str, tuple[str, ...]]:
    """(function, columns) of a sharding key; no function: the column itself. Raises UsageError for any other."""
    call = re.fullmatch(r"(\w+)(\(.*\))", by.strip())
    hashed, inside = (call[1], arguments(by)) if call else ("", [by.strip()])
    columns = tuple(bare(word) for word in inside)
    if hashed not in HASHES or not all(PLAIN.fullmatch(column) for column in columns):
        raise UsageError(
            f"table {name}: rows are not placed by {by}; inrush knows intHash64(column), cityHash64(column, …) and a column itself"
        )
    return hashed, columns


def arguments(call: str) -> list[str]:
    """`f(a, 'b, c', g(d, e)) …` -> a, 'b, c', g(d, e). What follows the closing bracket is left out."""
    found, depth, quoted, word = [], 0, "", ""
    for at, sign in enumerate(call):
        if quoted:
            quoted = "" if sign == quoted and call[at - 1] != "\\" else quoted
        elif sign in "'`\"":
            quoted = sign
        elif sign == "(":
            depth += 1
            if depth == 1:
                continue
        elif sign == ")":
            depth -= 1
            if depth == 0:
                break
        elif sign == "," and depth == 1:
            found.append(word.strip())
            word = ""
            continue
        word += sign if depth else ""
    return [*found, word.strip()]


def bare(word: str) -> str:
    """A name without the quotes around it."""
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "'`\"" else word


def _weights(what: str, shards: Sequence[Sequence[Any]]) -> list[int]:
    """Of one server for each shard. Raises UsageError where there are several."""
    if any(int(replica) != 1 for _, _, replica, *_ in shards):
        raise UsageError(
            f"{what} has replicas, which the loader would not fill: name one --shard of each, and say --key"
        )
    return [int(weight) for _, weight, *_ in shards]


def _url(what: str, database: str, shard: Sequence[Any]) -> str:
    """Where the loader reaches a shard. Its password is the one of the server in front."""
    number, _, _, host, port, user, known = shard
    if known:
        place = str(known)
    elif int(port) in SHIPPED:
        place = f"{f'[{host}]' if ':' in host else host}:{SHIPPED[int(port)]}"
    else:
        raise UsageError(
            f"{what}: shard {number} is at {host}:{port}, which is not the port of HTTP; name each --shard, and say --key"
        )
    return f"clickhouse://{encoded(str(user), safe='')}@{place}/{encoded(database, safe='')}"
