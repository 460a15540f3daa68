"""A statement as data (`rust/rows/src/plan/statement.rs`), and how it is run outside of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict, TypeVar

from inrush.workload import IoKind, IoOrder, RowCall

if TYPE_CHECKING:
    from typing_extensions import NotRequired

#: Of one answer.
Rows = TypeVar("Rows", bound=Sequence[Sequence[object]])

#: `as`: its name in the answer. prefix: all values with names that begin like `name`, a name being `series.column`.
Pick = TypedDict("Pick", {"name": str, "prefix": "NotRequired[bool]", "as": "NotRequired[str]"})


class Tag(TypedDict):
    tag: str
    value: str


class IoPlan(TypedDict):
    """What a call does with a file (`rust/rows/src/plan/io.rs`)."""

    does: IoKind
    order: IoOrder
    record_bytes: int
    file_bytes: int


class LayOut(TypedDict):
    """The file is made anew, and written from its first byte to its last."""

    kind: Literal["lay_out"]
    bytes: int


class FileSize(TypedDict):
    """One row of (name, value)."""

    kind: Literal["size"]


FileAction: TypeAlias = LayOut | FileSize


class RecordCall(TypedDict):
    """What each call of an operation does with a row, or with several of one table (`rust/rows/src/plan/record.rs`).

    `ndb` and `null:record` take all calls by key so, `valkey` those that set a whole row.
    """

    does: RowCall
    #: Name in the database.
    table: str
    #: By parameter, the column that it is a value of; one that comes more than once is a list.
    columns: Sequence[str]


class NdbColumn(TypedDict):
    name: str
    wire: str
    key: NotRequired[bool]
    nullable: NotRequired[bool]


class CreateTable(TypedDict):
    kind: Literal["create_table"]
    table: str
    columns: Sequence[NdbColumn]


class OnTable(TypedDict):
    """A drop touches only what is inrush's; a count and a scan read every row."""

    kind: Literal["drop_table", "count", "scan"]
    table: str


class MarkDatabase(TypedDict):
    kind: Literal["mark"]
    database: str
    holder: NotRequired[str]


class AskHolder(TypedDict):
    kind: Literal["holder"]
    database: str


class DropDatabase(TypedDict):
    kind: Literal["drop_database"]
    database: str
    #: Also where it is not inrush's.
    force: NotRequired[bool]


class ForeignDatabases(TypedDict):
    kind: Literal["foreign"]
    databases: Sequence[str]


class TableSizes(TypedDict):
    kind: Literal["sizes"]
    tables: Sequence[str]


class OfCluster(TypedDict):
    kind: Literal["version", "settings"]


NdbAction: TypeAlias = (
    CreateTable
    | OnTable
    | MarkDatabase
    | AskHolder
    | DropDatabase
    | ForeignDatabases
    | TableSizes
    | OfCluster
)


class Directives(TypedDict, total=False):
    """What the engine's language cannot say (`rust/rows/src/plan/directives.rs`)."""

    #: The database that names without one are in.
    on: str
    #: Nothing is done where there is no such database; one that is not inrush's is an error.
    if_marked: str
    #: What a row of the answer holds: columns and tags by name, in this order.
    columns: Sequence[str]
    #: An answer without rows is one row of zeros.
    zero_when_empty: bool
    #: Rows of (name, value) in place of columns: these values; all of them where the list is empty.
    pairs: Sequence[Pick]
    #: Of `pairs`, those of series with this tag.
    only: Tag
    #: Of `device`, beside an operation: what each of its calls does.
    io: IoPlan
    #: Of `device`, beside a statement.
    file: FileAction
    #: Beside an operation by key whose calls are no statement: what each of them does with a row.
    record: RecordCall
    #: Of `ndb`, beside a statement.
    ndb: NdbAction


class DetailedStatement(TypedDict):
    """A text with what is done with its rows, with directives, or with both."""

    text: str
    #: `each_row`: a query for statements, the text of every row that it gives is run. `until_no_rows`: it is asked again until
    #: it gives none, as what a server works on in the background is done then.
    repeat: NotRequired[Literal["each_row", "until_no_rows"]]
    directives: NotRequired[Directives]


#: A text alone is run once, as it is written.
Statement: TypeAlias = str | DetailedStatement


def statement(text: str, directives: Directives | None = None) -> Statement:
    """The text alone where there are no directives: plans without any stay as they were."""
    return {"text": text, "directives": directives} if directives else text


def text_of(of: Statement) -> str:
    """The text, of engines that have nothing beside it."""
    return of if isinstance(of, str) else of["text"]


def run_statement(of: Statement, ask: Callable[[str, Directives | None], Rows]) -> Rows:
    """The rows of its text; of `each_row`, the text of every row is run too. ask: a text and its directives -> its rows.

    Raises ValueError for `until_no_rows`: only a run has a time limit for the waiting.
    """
    if isinstance(of, str):
        return ask(of, None)
    repeat = of.get("repeat")
    if repeat == "until_no_rows":
        raise ValueError(f"only a run asks until there are no rows: {of['text']}")
    rows = ask(of["text"], of.get("directives"))
    for row in rows if repeat == "each_row" else ():
        if row and isinstance(row[0], str):
            ask(row[0], None)
    return rows
