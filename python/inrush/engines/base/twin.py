"""The Python twin of an engine, composed: its dialect, what is true of it, and the parts that it has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar, Literal

from inrush.engines.base.cluster import Cluster
from inrush.engines.base.dialect import Dialect
from inrush.engines.base.durability_level import Survives
from inrush.engines.base.in_memory import InMemory
from inrush.engines.base.instance import Target
from inrush.engines.base.lifecycle import Lifecycle
from inrush.engines.base.loading import Loading
from inrush.engines.base.page_counters import PageCounters
from inrush.engines.base.pages import Pages
from inrush.engines.base.plans import Unsupported
from inrush.engines.base.protocol_probe import Protocol
from inrush.engines.base.versions import is_older, number_of, year_of
from inrush.workload import NOT_FINITE


class NoDatabase(Exception):
    """A file that an embedded engine cannot open, in its words."""


class Twin(Dialect):
    """Twin of rust/engines/src/engine/<name>.rs. A part that an engine does not have is None."""

    #: As its makers write it, for sentences.
    title: ClassVar[str] = ""

    # its parts

    #: Starts and stops servers on this machine.
    lifecycle: Lifecycle | None = None
    #: Several servers of this kind stand as one behind a coordinator.
    cluster: Cluster | None = None
    #: `inrush load` fills its tables, and proves them.
    loading: Loading | None = None
    #: Opens a database in memory, which answers of other engines are compared with.
    in_memory: type[InMemory] | None = None

    # where it runs

    #: Schemes of its URLs.
    schemes: ClassVar[tuple[str, ...]]
    #: Runs inside the client's process.
    embedded: ClassVar[bool] = False
    #: A URL may say where its data lies; without, `--data` alone does.
    takes_url: ClassVar[bool] = True
    #: At least a part of its work is done inside the client's process: CPU there is not the client's alone.
    works_in_client: ClassVar[bool] = False
    #: What a server of this kind speaks; None: nothing listens anywhere.
    protocol: ClassVar[Protocol | None] = None
    #: Files of the programs that its server is: what else listens at its port is a proxy, whose CPU is none of the server's.
    programs: ClassVar[frozenset[str]] = frozenset()
    #: The oldest version that inrush works with; empty: it asks for none.
    least_version: ClassVar[str] = ""
    #: Series of versions -> the year of its first release.
    years: ClassVar[Mapping[str, int]] = {}
    #: Its server works in the folder that it keeps its tables in.
    works_in_data: ClassVar[bool] = False
    #: Values that the option `transport` may have; empty: there is no choice.
    transports: ClassVar[tuple[str, ...]] = ()
    #: Variable that the engine's own programs read a password from.
    password_variable: ClassVar[str] = "INRUSH_PASSWORD"
    #: Others that its client reads, none of them a secret: twins of `env::var` in rust/engines/src/engine.
    client_variables: ClassVar[tuple[str, ...]] = ()
    #: The extra (`inrush.extras`) that brings the engine's library; empty: inrush has it, or needs none.
    extra: ClassVar[str] = ""

    def year_of(self, version: str) -> int | None:
        """The year of a version in the words of a server; None where it is not known."""
        return year_of(version, self.years)

    def too_old(self, version: str) -> str:
        """Why inrush does not work with a server of this version, in its own words; empty where it does."""
        if not is_older(version, self.least_version):
            return ""
        return (
            f"{self.title} {number_of(version)} is too old: inrush works with {self.least_version} and later"
        )

    # what it can do

    #: Sessions that may write at once; None: no limit.
    max_writers: ClassVar[int | None] = None
    #: Calls that one session can have in flight; twin of `max_depth` in rust/engines/src/engine/mod.rs.
    max_depth: ClassVar[int] = 1
    #: Insert method -> calls in flight, of those with fewer than `max_depth`.
    depths: ClassVar[Mapping[str, int]] = {}
    #: Reads and writes records of a file in place of rows.
    takes_records: ClassVar[bool] = False
    #: Gives back what it was given; instruments keep nothing, so they are not asked.
    answers: ClassVar[bool] = True
    #: Rows of equal identity are one, which of them is left to the engine: sums cannot prove them. Twin of Rust's
    #: `Caps::identity_collapses`.
    collapses: ClassVar[bool] = False
    #: Cuts a table by time as `partitions` of the workload says; `counted`: makes each partition beforehand.
    partitions: ClassVar[Literal["", "cut", "counted"]] = ""
    #: The same by the values of a column.
    cuts_by_value: ClassVar[bool] = False
    #: The engine that its quiet answers are compared with: one with the part `in_memory`, never itself.
    oracle: ClassVar[str] = "duckdb"
    #: Seconds of a call, and of a row of ten columns: orders of magnitude for a forecast; the pilot replaces them.
    rate: ClassVar[tuple[float, float]] = (5e-3, 5e-6)
    #: Where its B-trees lie; None: it keeps no tables in them.
    pages: ClassVar[Pages | None] = None
    #: How many of its pages were read is counted so; None: it does not count them.
    page_counters: ClassVar[PageCounters | None] = None

    #: Of `workload.NOT_FINITE`, what its floats keep as it was written.
    keeps_not_finite: ClassVar[frozenset[str]] = frozenset(NOT_FINITE)

    #: Of the same, what the items of its lists keep.
    keeps_not_finite_items: ClassVar[frozenset[str]] = frozenset(NOT_FINITE)
    #: Types of lists that may have a NULL in them; None: all.
    keeps_null_items: ClassVar[frozenset[str] | None] = None
    #: Logical types that it cannot store at all.
    lacks: ClassVar[frozenset[str]] = frozenset()

    #: Has strings of bits; without, they are unsigned numbers of the next width.
    has_bits: ClassVar[bool] = False
    #: Digits that its decimals have behind the point at most.
    most_scale: ClassVar[int] = 38
    #: First and last day of its dates.
    days: ClassVar[tuple[str, str]] = ("0001-01-01", "9999-12-31")

    #: Settings that bear on what rows survive and that no server reports, lower case: of one that inrush started they are
    #: what it was started with, of another they are not known.
    unreported: ClassVar[frozenset[str]] = frozenset()

    #: Settings that `durability` asks for, as a server that inrush starts has them where nobody sets them; None: not known
    #: before it is asked.
    as_shipped: ClassVar[Mapping[str, str] | None] = None

    # what messages say of it

    #: What rows are to survive -> how it is set: the end of an `--start`, or an entry of `[options.<engine>]`.
    survive_by: ClassVar[Mapping[Survives, str]] = {}
    #: How a user gets the right to make the homes of runs.
    grant: ClassVar[str] = ""
    #: A query for the bytes that are free where its tables lie; empty where a server does not report.
    free_bytes: ClassVar[str] = ""

    #: A query for the folder that a server keeps its tables in; empty where it does not report it.
    data_folder: ClassVar[str] = ""

    def run_target(self, target: Target, data: Path) -> Target:
        """Where one run of the study goes. Embedded engines without a file of the user's get a fresh one in
        `data`, and the options that the core needs to open it (the driver's path)."""
        return target

    def coordinator(self, shards: int) -> Twin | Unsupported:
        """Of a server in front of so many shards, which sessions of a study call as if it had all rows itself: its
        statements make tables there and on the shards alike."""
        return Unsupported(f"sessions of a study do not go over shards of {self.name}")

    def folder_of_data(self, opened: Iterable[str]) -> str:
        """Of a server that does not work there, by the paths of files that it has open; empty: not known. Pure."""
        return ""

    def unready(self, target: Target, methods: frozenset[str]) -> str:
        """What keeps a server that answers statements from taking rows by one of `methods`; empty: nothing."""
        return ""

    def unfit(self, folder: Path, options: Mapping[str, str], needed_bytes: int) -> str:
        """What keeps its files from being in a folder that is there, as the end of a sentence about it; empty: nothing."""
        return ""

    def ask_file(self, path: Path, statement: str) -> list[str]:
        """First values of a query on an embedded engine's file, opened for reading alone: opening it as a run does
        would change it already. Empty where it cannot be asked for now: a run will say so.

        Raises NoDatabase, with the engine's words, for what is not a file of this engine, or of another version of it.
        """
        return []
