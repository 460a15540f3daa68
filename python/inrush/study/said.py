"""What a command line says of text files: their format, their first line, their columns, and how their rows are written. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from inrush.border.table import WrittenAs
from inrush.errors import Problem, refuse
from inrush.study.formats import DELIMITERS, JSON_LINES, MYSQL, TEXT_FORMATS


@dataclass(frozen=True)
class TextSaid:
    header: bool | None = None
    #: Of files without a header.
    columns: tuple[str, ...] = ()
    #: Of a text file: csv, tsv, mysql or ndjson.
    format: str | None = None
    #: Where it is otherwise than the first lines show.
    written: WrittenAs = field(default_factory=WrittenAs)


NOTHING_SAID = TextSaid()
#: Words for characters that a shell makes hard to write.
WORDS = {"tab": "\t", "\\t": "\t", "space": " ", "none": ""}
#: Characters that are not seen in a line.
NAMES = {" ": "space", "\u00a0": "no-break space", "\u202f": "narrow no-break space"}
#: What are single characters in `WrittenAs`.
MARKS = ("delimiter", "quote", "escape", "comment", "decimal")
WRITTEN = tuple(WrittenAs.__annotations__)


def written_as(**options: str | int | None) -> WrittenAs:
    """Of the options that were given; words for characters become these."""
    given = {name: value for name, value in options.items() if value is not None and value != 0}
    spelled = {
        name: WORDS.get(value, value) if isinstance(value, str) and name != "null" else value
        for name, value in given.items()
    }
    return cast(WrittenAs, spelled)


def read_types(given: Sequence[str]) -> dict[str, str]:
    """`COLUMN=TYPE` each. Raises UsageError with all that are not."""
    pairs = [text.partition("=") for text in given]
    names = [name.strip() for name, _, _ in pairs]
    wrong = [pair for pair in pairs if not pair[0].strip() or not pair[2].strip()]
    refuse(
        [
            *(
                Problem.sentence(f"--type {''.join(p)}: write COLUMN=TYPE, for instance price=numeric(10,2)")
                for p in wrong
            ),
            *(
                Problem.sentence(f"--type {name}=…: is given twice")
                for name in dict.fromkeys(names)
                if names.count(name) > 1
            ),
        ]
    )
    return {name.strip(): kind.strip() for name, _, kind in pairs}


def read_said(
    header: str | None,
    columns: str | None,
    format: str | None = None,
    written: Mapping[str, Any] | WrittenAs | None = None,
) -> TextSaid:
    """`--header yes|no`, `--columns a,b,c`, `--format NAME` and how rows are written. Raises UsageError with all that is wrong."""
    names = tuple(name.strip() for name in columns.split(",")) if columns else ()
    how = cast(WrittenAs, dict(written or {}))
    refuse([*first_line_problems(header, names, format), *written_problems(how, format)])
    return TextSaid(None if header is None else header == "yes", names, format, how)


def first_line_problems(header: str | None, names: Sequence[str], format: str | None) -> Iterator[Problem]:
    if format not in (None, *TEXT_FORMATS):
        yield Problem.sentence(
            f"--format {format}: write {', '.join(TEXT_FORMATS[:-1])} or {TEXT_FORMATS[-1]}"
        )
    if header not in (None, "yes", "no"):
        yield Problem.sentence(f"--header {header}: write yes or no")
    if "" in names:
        yield Problem.sentence(f"--columns: column {names.index('') + 1} has no name; give each column one")
    if header == "yes" and names:
        yield Problem.sentence(
            "--columns: line 1 names the columns; leave it out, or give --header no if line 1 is data"
        )


def mark_problem(name: str, text: str) -> str:
    """What is wrong with a text of `WrittenAs`; empty where nothing is."""
    if name == "thousands" and (len(text) != 1 or text.isalnum()):
        return "write one character that is no letter and no digit"
    if name not in MARKS or (name == "quote" and not text):
        return ""
    return "" if len(text) == 1 and text.isascii() and text not in "\r\n\0" else "write one ASCII character"


def written_problems(written: WrittenAs, format: str | None) -> Iterator[Problem]:
    texts = cast(Mapping[str, str], written)
    for name in (name for name in WRITTEN if name != "skip" and name in texts):
        if why := mark_problem(name, texts[name]):
            yield Problem.sentence(f"--{name} {texts[name]!r}: {why}")
    apart = ("delimiter", "quote", "comment", "decimal", "thousands")
    # Within quotes a delimiter is none: "1,234.50" is one field of a file with commas between fields.
    is_quoted = format in (None, "csv") and texts.get("quote") != ""
    yield from (
        Problem.sentence(f"--{one} and --{other} are both {texts[one]!r}; they are two characters in a file")
        for at, one in enumerate(apart)
        for other in apart[at + 1 :]
        if texts.get(one)
        and texts.get(one) == texts.get(other)
        and not (is_quoted and (one, other) == ("delimiter", "thousands"))
    )
    if texts.get("quote") == "" and "escape" in texts:
        yield Problem.sentence(
            f"--escape {texts['escape']!r}: it stands in quotes, and --quote none says that there are none; --format {MYSQL} reads "
            "texts in which backslashes escape without quotes"
        )
    thousands = texts.get("thousands")
    if thousands is not None and thousands == texts.get("decimal", "."):
        yield Problem.sentence(
            f"--thousands {thousands!r}: it is the mark before a fraction too; give --decimal"
        )
    if format in (*TEXT_FORMATS,) and format != "csv":
        for name in (name for name in ("quote", "escape") if name in texts):
            yield Problem.sentence(f"--{name}: fields are quoted in csv alone, and --format is {format}")
    if format == JSON_LINES:
        for name in (name for name in texts if name not in ("comment", "skip", "quote", "escape")):
            yield Problem.sentence(f"--{name}: JSON says it itself; leave it out")


def shown_line(format: str, written: WrittenAs, encoding: str, header: bool, why: str) -> str:
    """One line on how files are read: what is not usual for their format, and whether line 1 is a header."""
    if format == JSON_LINES:
        first = ["JSON lines"]
    else:
        delimiter = written.get("delimiter", DELIMITERS[format])
        named = {"\t": "tabs"}.get(str(delimiter), f"`{delimiter}`")
        first = [named] if "delimiter" in written else []
    marks = {",": "decimal comma"}.get(written.get("decimal", ""), f"decimal {written.get('decimal')}")
    found = [
        *first,
        *(["no quotes"] if written.get("quote") == "" else []),
        *([f"quote {written['quote']}"] if written.get("quote") else []),
        *([f"escape {written['escape']}"] if "escape" in written else []),
        *([marks] if "decimal" in written else []),
        *([f"thousands {NAMES.get(parts, parts)}"] if (parts := written.get("thousands")) else []),
        *([f"comment {written['comment']}"] if "comment" in written else []),
        *([f"{written['skip']:,} line{'s' * (written['skip'] != 1)} skipped"] if written.get("skip") else []),
        *([encoding] if encoding else []),
    ]
    if format != JSON_LINES:
        line = written.get("skip", 0) + 1
        found.append(
            f"line {line} is the header" if header else f"no header: line {line} is data, because {why}"
        )
    return ", ".join(found)
