"""The part that every twin has: what an engine is asked, as statements. Pure, golden-tested, no I/O."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from inrush.border.plan import Statement
from inrush.engines.base.durability_level import Durability
from inrush.engines.base.instance import Target
from inrush.engines.base.plans import TLS, Ask, OpPlan, Probes, Proof, TablePlan, Unsupported
from inrush.workload import Column, Operation, Table


class Dialect(ABC):
    """How marked homes, tables, operations, proofs and probes are written for one engine."""

    name: ClassVar[str]
    #: Insert methods, fastest first; factor `method`.
    methods: ClassVar[tuple[str, ...]]
    #: Insert methods that take whole files of text: `client_file`, `server_file`. Twin of rust/engines/src/engine/whole_file.rs.
    file_methods: ClassVar[tuple[str, ...]] = ()
    #: They read a backslash in such a file as the begin of an escape.
    reads_escapes: ClassVar[bool] = True
    #: How rows of an extract come out, the usual way first; empty: it has none. Twin of `check_way` in rust/engines/src/engine.
    ways_out: ClassVar[tuple[str, ...]] = ()
    #: What studies call a method on every engine (`bulk`: whole batches, `multirow`: INSERTs of many rows) -> its name here.
    ways: ClassVar[Mapping[str, str]] = {}
    #: Dropping the namespace drops its tables.
    namespace_holds_tables: ClassVar[bool] = True
    #: A table may have keys and indexes; without, every layout is the same table.
    indexes: ClassVar[bool] = True
    #: How its own statements write a list of keys: a pattern with `{name}` for the parameter, and the same for people.
    list_form: ClassVar[tuple[str, str]] = (r"\bIN\s*\(\s*:{name}\s*\)", "key IN (:{name})")

    # marked homes

    @abstractmethod
    def open_namespace(self, namespace: str) -> tuple[Statement, ...]:
        """Statements that create the marked home of one run (schema, database, mark table)."""

    @abstractmethod
    def drop_namespace(self, namespace: str) -> tuple[Statement, ...]:
        """Statements that remove it; they touch nothing without inrush's mark."""

    def foreign_objects(self, namespaces: Sequence[str]) -> Statement:
        """A query whose rows name what is not inrush's: tables of a file, homes of these names without its mark.

        Empty for an engine that cannot hold any.
        """
        return ""

    def find_foreign_objects(self, namespaces: Sequence[str], ask: Ask) -> list[str]:
        """What `foreign_objects` finds; an engine that needs more than one query asks them here."""
        statement = self.foreign_objects(namespaces)
        return [str(row[0]) for row in ask(statement)] if statement else []

    def drop_foreign_object(self, name: str) -> tuple[Statement, ...]:
        """What `--force` does to one of them; nothing where it is no obstacle."""
        return ()

    def lock(self, name: str, holder: str) -> tuple[Statement, ...]:
        """Statements that make a marked home which names its holder; they fail where it is there already.

        Empty for an engine that has no server which two studies could meet on. holder: has neither slash nor quote.
        """
        return ()

    def ask_holder(self, name: str) -> Statement:
        """A query for the holder of a lock; fails where there is no such lock."""
        return ""

    def ask_locks(self) -> str:
        """A query for names that begin with LOCK, of homes or what lies in them; empty where there is none that is quick."""
        return ""

    def parse_holder(self, rows: Sequence[Sequence[Any]]) -> str:
        """The holder, of the rows of `ask_holder`."""
        return str(rows[0][0]) if rows else ""

    # tables and operations

    @abstractmethod
    def plan_table(self, table: Table, layout: str, namespace: str) -> TablePlan: ...

    @abstractmethod
    def plan_operation(
        self, operation: Operation, method: str, tables: Mapping[str, TablePlan], batch_rows: int = 0
    ) -> OpPlan | Unsupported: ...

    def plan_row_call(self, operation: Operation, table: Table, plan: TablePlan) -> OpPlan | Unsupported:
        """An operation that reads or changes the row of a key (`operation.does`); its parameters are columns, by name, or
        those of several rows (`operation.each_row`)."""
        text = self.row_call(operation, table, plan)
        if isinstance(text, Unsupported):
            return text
        for column, names in operation.each_row.items():
            text = self.spread_list(text, column, names)
        return self.plan_operation(replace(operation, sql={self.name: text}), "", {table.name: plan})

    def row_call(self, operation: Operation, table: Table, plan: TablePlan) -> str | Unsupported:
        """The same as a text with `:name` for parameters and `{table}`, of engines whose calls are statements. A column of
        `operation.each_row` stands where its list will (`list_form`)."""
        return Unsupported(f"{self.name} has no calls by key ({operation.does})")

    def maintenance(self, text: str) -> str:
        """A statement of an operation of kind `maintain`, its tables named, as this engine takes it."""
        return text

    @staticmethod
    def spread_list(text: str, param: str, names: Sequence[str]) -> str:
        """`IN (:param)` with one parameter for each of `names`."""
        each = ", ".join(f":{name}" for name in names)
        return re.sub(rf"\(\s*:{param}\s*\)", f"({each})", text)

    def deleting(self, plan: TablePlan) -> str:
        """A query with rows as long as deletes by age are worked on in the background; empty: they are done when answered."""
        return ""

    def unseen(self, plan: TablePlan) -> str:
        """A query with rows as long as queries may not see what was acknowledged; empty: they see it at once. Twin of
        `reads_late` in rust/engines/src/engine/mod.rs."""
        return ""

    def uncounted(self) -> str:
        """A query with rows as long as its counters may lack what sessions did that have ended; empty: they never do."""
        return ""

    # proofs and probes

    @abstractmethod
    def proof(self, table: Table, plan: TablePlan) -> Proof: ...

    def instant(self, column: Column, at_ns: int) -> str | None:
        """A time as this engine stores it in `column`, as a literal; None where proofs cannot ask by time."""
        return None

    def whole_number(self, value: int) -> str | None:
        """A whole number as a literal; None where proofs cannot ask by the number that a column holds."""
        return str(value)

    @abstractmethod
    def probes(self, tables: Sequence[TablePlan]) -> Probes: ...

    @abstractmethod
    def durability(self, settings: Mapping[str, str]) -> Durability: ...

    def tls(self, target: Target, settings: Mapping[str, str]) -> str:
        """Version and cipher of the connections, `none` where they were not encrypted; empty where it is not known, or
        there is no connection. settings: as read back, where servers that know say it of the connection that asks."""
        return settings.get(TLS, "")
