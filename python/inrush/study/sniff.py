"""What a file of rows is: its format, its columns and their types, by looking at its rows.

What a value is stands in `types`; over the files of one table `chosen` decides, and says what is in doubt.
Parquet says its types itself.
"""

from __future__ import annotations

import csv
import re
import stat
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from pathlib import Path

from inrush.errors import UsageError
from inrush.study.first_line import NOTHING_SAID, FirstLineGiven, first_line
from inrush.study.formats import MYSQL
from inrush.study.found import PART_ROWS, SAMPLE_ROWS, Found, Sniffed, distinct_names, kind_with_room
from inrush.study.parquet import sniff_parquet
from inrush.study.quoted import NULL_WORDS, has_misplaced_quote, kind_of_field, with_quotes
from inrush.study.types import Evidence, FilePlace, Seen, TextKind, choose, is_day

#: Bytes at the beginning of a file that decide on its format.
HEAD_BYTES = 1 << 20
#: A longer field ends no look at a file; its row decides on nothing.
FIELD_BYTES = 16 << 20
DELIMITERS = (",", "\t", ";", "|")


def sniff(path: Path, sample_rows: int = SAMPLE_ROWS, said: FirstLineGiven = NOTHING_SAID) -> Sniffed:
    """sample_rows: that decide on types. Raises UsageError for files that cannot be read, are empty or have no columns."""
    if problem := not_a_file(path):
        raise UsageError(problem)
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from error
    if head[:4] == b"PAR1":
        return sniff_parquet(path, sample_rows)
    if not head.strip():
        raise UsageError(f"{path}: is empty; give a file with rows")
    if b"\0" in head[:4096]:
        raise UsageError(f"{path}: is not text; inrush reads CSV, TSV, MySQL text and Parquet")
    text = head.decode("utf-8", "replace").lstrip("\ufeff")
    try:
        dialect = text_dialect(text, len(head) == HEAD_BYTES, said)
    except UsageError as refused:
        raise UsageError(f"{path}: {refused}") from None
    return replace(
        sniff_text(path, dialect, sample_rows, said.format is not None),
        no_header=dialect.no_header,
        named=bool(said.columns),
    )


def not_a_file(path: Path) -> str:
    """What to say of a pipe, a socket or a device: it can be read once, or never ends. Empty for all else."""
    try:
        kind = path.stat().st_mode
    except (OSError, ValueError):
        return ""
    if stat.S_ISREG(kind) or stat.S_ISDIR(kind):
        return ""
    said = "a pipe" if stat.S_ISFIFO(kind) else "a socket" if stat.S_ISSOCK(kind) else "a device"
    return f"{path}: is {said}, and files are read more than once; write what it gives into a file"


# --- text ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FileDialect:
    format: str
    delimiter: str
    header: bool
    names: tuple[str, ...]
    no_header: str = ""


def text_dialect(head: str, cut: bool, said: FirstLineGiven = NOTHING_SAID) -> FileDialect:
    """By the first lines: the delimiter that splits them most evenly, `\\N` for escapes, words for a header. Pure.

    cut: the text ends in the middle of a line.
    """
    of_mysql = said.format == MYSQL
    parts = mysql_lines(head) if of_mysql else head.splitlines()
    lines = [line for line in parts[: -1 if cut else None] if line][:200] or [head]
    delimiter = "\t" if of_mysql else max(DELIMITERS, key=lambda d: evenness(lines, d))
    fields = [field for line in lines for field in line.split(delimiter)]
    # CSV may write NULL like that too, or mean the text; a file that quotes does not escape.
    quotes = delimiter != "\t" and any(len(f) > 1 and f[0] == f[-1] == '"' for f in fields)
    escapes = not quotes and "\\N" in fields
    kind = "csv"
    if delimiter == "\t":
        kind = "tsv"
    elif escapes and is_mysqls(Counter(fields)):
        kind = MYSQL
    kind = said.format or kind
    rows = parsed_lines(lines, delimiter, quoted=kind == "csv")
    first = first_line(rows, said)
    return FileDialect(kind, delimiter, first.header, first.names, first.why)


#: What MySQL writes: a backslash only in front of what would not come back without one.
WRITTEN = re.compile(r"""(?:[^\\]|\\[N0\\,;|"'\t\n\r])*\\?""", re.DOTALL)


def is_mysqls(fields: Mapping[str, int]) -> bool:
    """Whether backslashes escape in most fields that have some. fields: field -> how often it stands there.

    MySQL writes no `C:\\temp`: that is `C:\\\\temp` there.
    """
    escaped = {field: n for field, n in fields.items() if "\\" in field and field != "\\N"}
    written = sum(n for field, n in escaped.items() if WRITTEN.fullmatch(field))
    others = sum(escaped.values()) - written
    return others == 0 or written > others


#: A line of MySQL's text, in which a backslash takes away the meaning of a line end, a tab and a backslash behind it.
MYSQL_LINE = re.compile(r"(?:[^\\\n]|\\.)*\n|(?:[^\\\n]|\\.?)+\Z", re.DOTALL)
#: A NUL as MySQL's text has it.
NUL = re.compile(r"(?:[^\\]|\\[^0])*\\0", re.DOTALL)


def mysql_lines(text: str) -> list[str]:
    """The lines of MySQL's text, without their ends and with letters in place of what is escaped in them."""
    plain = str.maketrans({"\n": "n", "\t": "t"})
    escaped = re.compile(r"\\[\n\t]")
    return [
        escaped.sub(lambda found: found[0].translate(plain), line.removesuffix("\n"))
        for line in MYSQL_LINE.findall(text)
    ]


def evenness(lines: Sequence[str], delimiter: str) -> tuple[int, int]:
    """(lines with the most frequent number of fields above one, that number)."""
    counts = [len(row) for row in parsed_lines(lines, delimiter, quoted=True)]
    many = [count for count in counts if count > 1]
    if not many:
        return (0, 1)
    usual = max(set(many), key=many.count)
    return (many.count(usual), usual)


def parsed_lines(lines: Sequence[str], delimiter: str, quoted: bool) -> list[list[str]]:
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    try:
        return list(csv.reader(lines, delimiter=delimiter, quoting=quoting))  # type: ignore[arg-type]
    except csv.Error:
        return [line.split(delimiter) for line in lines]


def sniff_text(path: Path, dialect: FileDialect, sample_rows: int, said: bool = False) -> Sniffed:
    """said: the command line names the format."""
    quoted = dialect.format == "csv"
    rows, counts = values_of(path, dialect, sample_rows)
    if dialect.format == MYSQL and not said and not is_mysqls(sum(counts, Counter())):
        return sniff_text(path, replace(dialect, format="csv"), sample_rows)
    if rows == 0:
        raise UsageError(f"{path}: {without_rows(path, dialect)}")
    columns = [Values(column) for column in counts]
    escaped = (v for column in counts for v in column if "\\" in v and v != "\\N")
    words = [word for word in NULL_WORDS if word == "" or any(word in column for column in counts)]
    tried = {word: [column.without(word) for column in columns] for word in (words if quoted else ("\\N",))}
    null = max(tried, key=lambda word: sum(choose(e).typed for e in tried[word]))
    placed = with_places(path, dialect, columns, null, tried[null])
    usual = "" if quoted else "\\N"
    usual_delimiter = "," if quoted else "\t"
    found = [
        found_column(name, evidence, column, null, rows < sample_rows, dialect)
        for name, evidence, column in zip(dialect.names, placed, counts, strict=True)
    ]
    return Sniffed(
        format=dialect.format,
        delimiter=None if dialect.delimiter == usual_delimiter else dialect.delimiter,
        header=dialect.header,
        null=None if null == usual else null,
        columns=distinct_names(found),
        rows=rows,
        complete=rows < sample_rows,
        every_row=rows < sample_rows,
        escaped="" if quoted or said else next(escaped, ""),
    )


def without_rows(path: Path, dialect: FileDialect) -> str:
    """Why no row of the file can be read."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if len(head) == HEAD_BYTES and not any(end in head for end in (b"\n", b"\r")):
        return (
            f"line 1 is longer than {HEAD_BYTES >> 20} MiB, and its columns are not found; give fewer columns"
        )
    quoting = csv.QUOTE_MINIMAL if dialect.format == "csv" else csv.QUOTE_NONE
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
        reader = csv.reader(lines, delimiter=dialect.delimiter, quoting=quoting)  # type: ignore[arg-type]
        try:
            if dialect.header:
                next(reader, None)
            has_more = any(reader)
        except csv.Error:
            has_more = True
    if not has_more:
        return f"has no rows{' below its header' if dialect.header else ''}"
    fields = len(dialect.names)
    return (
        f"none of its rows can be read: line 1 has {fields:,} field{'s' * (fields != 1)}, and each row has more, or a quote "
        "that does not end it"
    )


def found_column(
    name: str, evidence: Evidence, counts: Mapping[str, int], null: str, complete: bool, dialect: FileDialect
) -> Found:
    """By the evidence of this file alone. counts: value -> how often it stands in the column."""
    kind = choose(evidence).fit.type
    longest = max((len(value) for value in counts if value != null), default=0)
    nul = dialect.format == MYSQL and any(NUL.match(value) for value in counts if "\\0" in value)
    return Found(name, kind_with_room(kind, complete), counts.get(null, 0), evidence, longest, nul=nul)


class Values:
    """The different values of a column, how often each stands in it, and its kind."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.counts = counts
        self.kinds = {value: kind_of_field(value) for value in counts}
        self.all: Counter[TextKind] = Counter()
        for value, n in counts.items():
            self.all[self.kinds[value]] += n

    def without(self, null: str) -> Evidence:
        """Of all values but this one."""
        found = self.all
        if null in self.counts:
            found = found - Counter({self.kinds[null]: self.counts[null]})
        return Evidence({kind: Seen(n) for kind, n in found.items()})


def needs_a_place(kind: TextKind) -> bool:
    """Of a column that has no other kind too."""
    return is_day(kind) or bool(kind.changed)


def with_places(
    path: Path, dialect: FileDialect, columns: Sequence[Values], null: str, evidence: Sequence[Evidence]
) -> list[Evidence]:
    """The evidence with the first value of each kind, of columns that have several."""
    sought = {at: set(e.kinds) for at, e in enumerate(evidence) if len(e.kinds) > 1 or e.count(needs_a_place)}
    firsts: list[dict[TextKind, FilePlace]] = [{} for _ in columns]
    for line, record in records_of(path, dialect) if sought else ():
        for at in list(sought):
            value = record[at] if at < len(record) else null
            if value == null or (kind := columns[at].kinds[value]) not in sought[at]:
                continue
            firsts[at][kind] = FilePlace(0, line, value)
            sought[at].discard(kind)
            if not sought[at]:
                del sought[at]
        if not sought:
            break
    return [
        Evidence({kind: Seen(seen.number, places.get(kind)) for kind, seen in e.kinds.items()})
        for e, places in zip(evidence, firsts, strict=True)
    ]


def values_of(path: Path, dialect: FileDialect, sample_rows: int) -> tuple[int, list[Counter[str]]]:
    """How many rows were looked at, and the different values of each column; a field that a short line lacks is left out."""
    seen: list[Counter[str]] = [Counter() for _ in dialect.names]
    rows = 0
    records = (record for _, record in records_of(path, dialect))
    while part := list(islice(records, min(PART_ROWS, sample_rows - rows))):
        rows += len(part)
        for counts, values in zip(seen, zip_longest(*part), strict=False):
            counts.update(value for value in values if value is not None)
    return rows, seen


def records_of(path: Path, dialect: FileDialect) -> Iterator[tuple[int, list[str]]]:
    """Records below the header, each with the number of its first line."""
    csv.field_size_limit(FIELD_BYTES)
    of_mysql = dialect.format == MYSQL
    with path.open(encoding="utf-8-sig", errors="replace", newline="\n" if of_mysql else "") as file:
        records = whole_records(joined(file) if of_mysql else file, dialect)
        if dialect.header:
            next(records, None)
        yield from records


def joined(lines: Iterator[str]) -> Iterator[str]:
    """Lines of MySQL's text, each up to a line end that nothing escapes."""
    held = ""
    for line in lines:
        held += line
        body = held.removesuffix("\n")
        if (len(body) - len(body.rstrip("\\"))) % 2 == 1 and body != held and len(held) < FIELD_BYTES:
            continue
        # A carriage return is data here, which Python's reader would take for a line end.
        yield from (part.replace("\r", "\ufffd") + "\n" for part in mysql_lines(held))
        held = ""
    yield from mysql_lines(held)


def whole_records(lines: Iterator[str], dialect: FileDialect) -> Iterator[tuple[int, list[str]]]:
    """Records of a text. What is no record, or has more fields than columns, the core's reader would reject: left out.

    A word for NULL in quotes keeps them: it is a text.
    """
    quotes = dialect.format == "csv"
    quoting = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    most, line = len(dialect.names), 1
    given = SampleLines(lines)
    # The record before was broken: lines with a quote inside a field may be the rest of it.
    given_up = False
    while True:
        reader = csv.reader(given, delimiter=dialect.delimiter, quoting=quoting, strict=True)  # type: ignore[arg-type]
        try:
            for record in reader:
                # As the core: the quote of a field of several lines was left open, or one stands where none belongs.
                if quotes and (
                    (len(given.held) > 1 and len(record) != most)
                    or has_misplaced_quote(given.held, dialect.delimiter, given_up)
                ):
                    raise csv.Error
                begun, line = line, line + len(given.held)
                if quotes:
                    record = with_quotes(record, given.held, dialect.delimiter)
                given.held.clear()
                if not record and most == 1:
                    record = [""]
                given_up = given_up and len(record) != most
                if 0 < len(record) <= most:
                    yield begun, record
            return
        except csv.Error:
            # As the core reads: a record that is broken costs its first line, and those behind it are read again.
            given.give_back()
            given_up = True
            line += 1


class SampleLines:
    """SampleLines of a text, of which those behind the first one of a record can be read again."""

    def __init__(self, lines: Iterator[str]) -> None:
        self.lines = lines
        #: Of the record that is being read.
        self.held: list[str] = []
        self.again: deque[str] = deque()

    def __iter__(self) -> SampleLines:
        return self

    def __next__(self) -> str:
        line = self.again.popleft() if self.again else next(self.lines)
        self.held.append(line)
        return line

    def give_back(self) -> None:
        self.again.extendleft(reversed(self.held[1:]))
        self.held.clear()
