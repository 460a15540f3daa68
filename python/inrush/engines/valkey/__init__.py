"""Valkey, and Redis from version 6: their dialect. Twin of rust/engines/src/engine/valkey.rs; its life is valkey_life.py.

A row is a field of a hash: the first column of the table's identity is the hash's key (`<table>/<value>`), the other
columns of it are the field, and the value is the whole row, packed (rust/rows/src/encode/resp.rs). So a look-up by key is one
command and returns all rows of the key. A namespace is a prefix of keys; the key of that name bears inrush's mark.

A statement is a command a line, as `valkey-cli` takes it. What takes several commands is a script in Lua, which the
server runs as one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from inrush.border.statement import RecordCall
from inrush.engines.base import http, row_calls, sql
from inrush.engines.base.durability_level import Durability, Survives
from inrush.engines.base.instance import Target
from inrush.engines.base.plans import LOG, OpPlan, Probes, Proof, TablePlan, Unsupported
from inrush.engines.base.protocol_probe import Protocol
from inrush.engines.base.twin import Twin
from inrush.engines.valkey.life import ValkeyLife
from inrush.workload import DRAWN_LISTS, Operation, RowCall, Table

#: Value of a namespace's own key.
MARK = "made_by_inrush"
#: Wire types, for people: where a column stands. The packed row holds every column.
KEY, FIELD, VALUE = "key", "field", "value"
#: Logical types that have no text of their own: no key is made of them.
NO_KEYS = ("f32", "f64", "list_f64", "list_i64", "json", *DRAWN_LISTS)
COLLAPSE = "rows of equal identity are one field, the last one written: {identity} must be unique"
PACKED = (
    "a row is one packed value: the server sees its key and no column, so that proofs read every row back"
)
NO_KEY = (
    "a row of Valkey is found by its key: the table needs an identity of whole numbers, times, UUIDs or texts, "
    "of which a text may be the first or the last"
)
#: Calls by key that set a whole row; the others name one.
SETS: tuple[RowCall, ...] = ("insert", "update", "write")
#: Patterns of the settings that are read back: all but the passwords (`masterauth`, `requirepass`, `tls-key-file-pass`).
REPORTED = ("[^mprt]*", "max*", "min*", "port", "proto*", "rdb*", "repl*", "tcp*", "timeout", "tracking*")
#: What durability rests on.
SETTINGS = ("appendonly", "appendfsync")
#: Longest time that a write may wait for the sync before it, s. Source: flushAppendOnlyFile in the server's aof.c.
POSTPONED_S = 2.0


class Valkey(Twin):
    name = "valkey"
    title = "Valkey"
    least_version = "6.0"
    years: ClassVar[Mapping[str, int]] = {
        "6.0": 2020,
        "6.2": 2021,
        "7.0": 2022,
        "8.0": 2024,
        "8.1": 2025,
        "9.0": 2025,
    }
    schemes = ("valkey", "redis")
    lifecycle = ValkeyLife()
    methods = ("bulk",)
    keeps_null_items: ClassVar[frozenset[str] | None] = frozenset()
    max_depth = 1024
    collapses = True
    indexes = False
    rate = (1e-4, 1.5e-6)
    password_variable = "REDISCLI_AUTH"
    client_variables = ("SSL_CERT_FILE",)
    list_form = (r":{name}\b", "a command with :{name}, which is written once for each key")
    protocol = Protocol.RESP
    #: Debian's server is a link to the program that checks its files.
    programs: ClassVar[frozenset[str]] = frozenset(
        {"valkey-server", "valkey-check-rdb", "redis-server", "redis-check-rdb"}
    )
    grant = "ACL SETUSER <user> ~inrush_* +@all"
    as_shipped: ClassVar[Mapping[str, str] | None] = {"appendonly": "no", "appendfsync": "everysec"}
    survive_by: ClassVar[Mapping[Survives, str]] = {
        Survives.POWER_LOSS: "--start valkey,appendonly=yes,appendfsync=always",
        Survives.PROCESS_CRASH: "--start valkey,appendonly=yes,appendfsync=no",
    }

    def open_namespace(self, namespace: str) -> tuple[str, ...]:
        return (f"SET {quote(namespace)} {MARK}",)

    def drop_namespace(self, namespace: str) -> tuple[str, ...]:
        body = "redis.call('DEL', ARGV[1])"
        return (script(if_marked(drop_keys("ARGV[3]") + body), namespace, MARK, keys_of(f"{namespace}.")),)

    def foreign_objects(self, namespaces: Sequence[str]) -> str:
        foreign = (
            "local found = {} for _, name in ipairs(ARGV) do "
            "local there = redis.call('EXISTS', name) == 1 or #redis.call('KEYS', name .. '.*') > 0 "
            f"if there and redis.pcall('GET', name) ~= '{MARK}' then found[#found + 1] = name end end return found"
        )
        return script(foreign, *namespaces)

    def drop_foreign_object(self, name: str) -> tuple[str, ...]:
        return (
            script(drop_keys("ARGV[2]") + "return redis.call('DEL', ARGV[1])", name, keys_of(f"{name}.")),
        )

    def lock(self, name: str, holder: str) -> tuple[str, ...]:
        make = (
            "if redis.call('EXISTS', ARGV[1]) == 1 then return redis.error_reply('ERR there is such a lock') end "
            "redis.call('SET', ARGV[1], ARGV[2]) return redis.call('SET', ARGV[1] .. '.holder', ARGV[3])"
        )
        return (script(make, name, MARK, holder),)

    def ask_holder(self, name: str) -> str:
        ask = (
            "return redis.call('GET', ARGV[1] .. '.holder') or redis.error_reply('ERR there is no such lock')"
        )
        return script(ask, name)

    def plan_table(self, table: Table, layout: str, namespace: str) -> TablePlan:
        name = f"{namespace}.{table.name}"
        rows = keys_of(f"{name}/")
        drop = script(if_marked(drop_keys("ARGV[3]")), namespace, MARK, rows)
        return TablePlan(
            name=name,
            create=(),
            fresh=(script(drop_keys("ARGV[1]"), rows),),
            drop=(drop,),
            wire=wires(table),
            losses=(COLLAPSE.format(identity=", ".join(table.identity) or "what they are"), PACKED),
        )

    def plan_operation(
        self, operation: Operation, method: str, tables: Mapping[str, TablePlan], batch_rows: int = 0
    ) -> OpPlan | Unsupported:
        if operation.kind == "together":
            return OpPlan("")
        if operation.kind == "insert":
            plan = tables[operation.table or ""]
            if method not in self.methods:
                return Unsupported(
                    f"valkey has no method {method}; its one insert method is {self.methods[0]}"
                )
            return OpPlan(plan.name, method) if KEY in plan.wire.values() else Unsupported(NO_KEY)
        if "valkey" not in operation.sql and not operation.unsupported.get("valkey"):
            return Unsupported(
                f"operation {operation.name} has no commands (sql.valkey), and Valkey does not understand SQL"
            )
        return sql.statement(operation, "valkey", tables, sql.dollar)

    def plan_row_call(self, operation: Operation, table: Table, plan: TablePlan) -> OpPlan | Unsupported:
        """A call that sets a row sets all of it, packed by the core: so an update has values for the columns that it does
        not change, too."""
        if operation.does not in SETS:
            return super().plan_row_call(operation, table, plan)
        if KEY not in plan.wire.values():
            return Unsupported(NO_KEY)
        columns = tuple(column.name for column in table.columns)
        if (refused := row_calls.unbound(operation, table, columns)) is not None:
            return refused
        record: RecordCall = {"does": operation.does, "table": plan.name, "columns": columns}
        return OpPlan("", params=columns, directives={"record": record})

    def row_call(self, operation: Operation, table: Table, plan: TablePlan) -> str | Unsupported:
        if KEY not in plan.wire.values():
            return Unsupported(NO_KEY)
        (key, *field) = table.identity
        if field and operation.each_row:
            return row_calls.several_columns(table)
        row = f"{{table}}/:{key} " + (",".join(f":{name}" for name in field) or '""')
        return f"HGET {row}" if operation.does == "read" else f"HDEL {row}"

    @staticmethod
    def spread_list(text: str, param: str, names: Sequence[str]) -> str:
        """A command that names the list is written once for each of its keys: they share a pipeline."""
        named = re.compile(rf":{param}\b")

        def written(line: str) -> list[str]:
            return [named.sub(f":{name}", line) for name in names] if named.search(line) else [line]

        return "\n".join(each for line in text.strip().splitlines() for each in written(line))

    def proof(self, table: Table, plan: TablePlan) -> Proof:
        count = (
            "local rows = 0 for _, key in ipairs(redis.call('KEYS', ARGV[1])) do "
            "rows = rows + redis.call('HLEN', key) end return rows"
        )
        rows = keys_of(f"{plan.name}/")
        return Proof(script(count, rows), ({"kind": "rows"},), f"KEYS {quote(rows)}")

    def whole_number(self, value: int) -> str | None:
        """Its values are looked up, not asked for."""
        return None

    def probes(self, tables: Sequence[TablePlan]) -> Probes:
        sizes = (
            "local memory = redis.call('INFO', 'memory') local log = redis.call('INFO', 'persistence') "
            "return {{'memory', string.match(memory, 'used_memory_dataset:(%d+)')}, "
            f"{{'{LOG}', string.match(log, 'aof_current_size:(%d+)') or '0'}}}}"
        )
        version = (
            "local server = redis.call('INFO', 'server') return {{'version', "
            "string.match(server, 'valkey_version:(%S+)') or string.match(server, 'redis_version:(%S+)')}}"
        )
        return Probes(
            sizes=(script(sizes),),
            counters=("INFO stats",),
            settings=tuple(f"CONFIG GET {quote(pattern)}" for pattern in REPORTED),
            version=script(version),
        )

    def tls(self, target: Target, settings: Mapping[str, str]) -> str:
        return http.tls(target)

    def durability(self, settings: Mapping[str, str]) -> Durability:
        """A reply is sent behind the write of the append-only file, and with `always` behind its sync.

        With `everysec`, a write waits up to two seconds for a sync that is under way, and its reply does not: a crash of
        the process may lose it. Snapshots (`save`) promise nothing. Source: flushAppendOnlyFile in Valkey 8.1's aof.c.
        """
        because = {name: settings[name] for name in SETTINGS if name in settings}
        if settings.get("appendonly") != "yes":
            return Durability(Survives.NOTHING, because=because)
        survives = {"always": Survives.POWER_LOSS, "no": Survives.PROCESS_CRASH}
        sync = settings.get("appendfsync", "")
        window_s = POSTPONED_S if sync == "everysec" else 0.0
        return Durability(survives.get(sync, Survives.NOTHING), window_s, because)


def quote(text: str) -> str:
    """A word of a command."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def script(lua: str, *arguments: str) -> str:
    return " ".join(["EVAL", quote(lua), "0", *map(quote, arguments)])


def keys_of(prefix: str) -> str:
    """A pattern of all keys that begin so."""
    return re.sub(r"([*?\[\]^\\])", r"\\\1", prefix) + "*"


def drop_keys(pattern: str) -> str:
    """Lua: removes the keys of a pattern, which is itself Lua."""
    return f"for _, key in ipairs(redis.call('KEYS', {pattern})) do redis.call('UNLINK', key) end "


def if_marked(lua: str) -> str:
    """Lua: only where the namespace `ARGV[1]` bears the mark `ARGV[2]`."""
    return f"if redis.pcall('GET', ARGV[1]) == ARGV[2] then {lua} end"


def wires(table: Table) -> dict[str, str]:
    """Column -> key, field or value; no key where rows have none that could be written unmistakably."""
    types = [table.column(name).type for name in table.identity]
    unmistakable = types and not any(
        kind in NO_KEYS or (kind == "text" and 0 < at < len(types) - 1) for at, kind in enumerate(types)
    )
    first, others = (table.identity[0], table.identity[1:]) if unmistakable else ("", ())
    return {c.name: KEY if c.name == first else FIELD if c.name in others else VALUE for c in table.columns}
