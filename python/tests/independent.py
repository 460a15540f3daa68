"""Texts read by another reader, with marks that whoever made them states: what inrush took for marks says nothing about it."""

from __future__ import annotations

import ast
import csv
import datetime
import io
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from inrush.study.found import Sniffed

LONE_CR = "\ue00d"
UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)


class Marks(NamedTuple):
    """How a text is written."""

    delimiter: str = ","
    quote: str = '"'
    escape: str | None = None


#: Files below data/csv of DuckDB that are not written with `,` and `"`, by what its tests say, or its reader finds and a look at them.
IN_DUCKDB: dict[Marks, str] = {
    Marks("|"): """
        afl/ignore_errors/24.csv afl/ignore_errors/26.csv auto/large_mixed_data.csv auto/multi_column_string_mix.csv
        auto/multi_column_string_r_n.csv auto/pipe_delim.csv auto/pipe_delim_quote.csv auto/quote_escape.csv
        autotypecandidates.csv bad_date_2.csv customer.4.csv double_trouble.csv flights.csv issue2628_中文.csv
        lineitem1k.tbl.gz mixed_decimal_delimiter.csv multidelimiter/many_bytes.csv
        multidelimiter/trailing_delimiter.csv null_mismatch.csv pipe_delim.csv real/greek_utf8.csv
        real/lineitem_sample.csv real/nfc_normalization.csv real/nfc_normalization_rn.csv real/web_page.csv
        test/invalid_utf.csv test/multi_column_integer.csv test/multi_column_integer_rn.csv
        test/multi_column_string.csv test/multi_column_string_rn.csv test/new_line_string.csv
        test/new_line_string_rn.csv test/new_line_string_rn_exc.csv test/test_null_csv.csv test/test_pipe.csv
        test_default_option_2.csv timings.csv tpcds_14.csv tpcds_59.csv union-by-name/gabor/Comment/part-2.csv
        union-by-name/gabor/Post/part-2.csv union-by-name/ubn4.csv unionbyname_21248_1.csv unionbyname_21248_2.csv
        venue_pipe.csv venue_pipe_big.csv zstd/lineitem1k.tbl.zst 中文/中.csv 中文/文.csv
    """,
    Marks(";"): """
        afl/3977/case_2.csv afl/3977/case_3.csv afl/null_padding/10.csv afl/null_padding/11.csv
        afl/null_padding/19.csv afl/null_padding/26.csv afl/null_padding/9.csv auto/semicolon_delim.csv
        auto/semicolon_escape.csv auto/semicolon_quote.csv big_escape.csv comments/empty_space.csv
        comments/mid_line_invalid.csv comments/only_midline.csv conflict_timestamp.csv
        decimal_separators/decimal_separators.csv error/mid_null.csv evil_nullpadding.csv evil_nullpadding_2.csv
        glob_dif_dialect/f_2.csv header_2.csv ignore_errors.csv mixed_decimal.csv no_opt.csv rejects_sniffer.csv
        small_file.csv thousands_separator/multi_column.csv union_by_name_2/1.csv
    """,
    Marks("\t"): """
        [avalon]_daily-avg.csv auto/tab.csv auto/titlebasicsdebug.tsv bug_7578.csv click_mini.tsv.gz
        error/mismatch/example.tsv hebere.csv.gz num.tsv.gz page_namespacepage_title_sample.csv real/ncvoter.csv
        real/voter.tsv sales_snippet.csv tenk.tsv.gz test/big_header.csv test/concat.gz test_apple_financial.csv.gz
        union-by-name/ubn1.csv unquoted_escape/basic.tsv unquoted_escape/human_eval.tsv zstd/ncvoter.csv.zst
    """,
    Marks(";", "'"): "afl/null_padding/7.csv validator/quoted_new_value.csv",
    Marks("\t", "'"): "auto/tab_single_quote.csv auto/tab_single_quote_varchar.csv",
    Marks("|", '"', "\\"): "auto/backslash_escape.csv",
    Marks("|", "'", "\\"): "auto/single_quote_backslash.csv",
    Marks("|", "'"): "no_quote.csv",
}  # fmt: skip


def marks_in_duckdb(name: str) -> Marks:
    """Of a file, by its path below data/csv of DuckDB."""
    return next((marks for marks, names in IN_DUCKDB.items() if name in names.split()), Marks())


def stated(written: dict[str, Any], usual: Marks) -> Marks:
    """Those that a command line says, else the usual ones."""
    return usual._replace(**{name: written[name] for name in Marks._fields if name in written})


#: pandas' texts that its tests read by several marks, by its sniffer or by a pattern: what stands between their fields, by their
#: first line.
OF_PANDAS: dict[str, Marks] = {
    "index|A|B|C": Marks("|"), "A|B|C": Marks("|"), "a;b": Marks(";"), "a\tb": Marks("\t"), "a,b,c~~1,2,3~~4,5,6": Marks(),
}  # fmt: skip


def pandas_cases(tests: Path) -> list[tuple[bytes, Marks]]:
    """The texts that pandas' tests of its parser call data, with the marks that these tests read them by.

    A delimiter that is no single character is none of a text that inrush reads: it is read by commas then, as without one.
    """
    found: dict[str, Marks] = {}
    for file in sorted((tests / "io/parser").rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        found.update({text: Marks() for text in texts_of(tree) if text not in found})
        for test in ast.walk(tree):
            marks = marks_of(test) if isinstance(test, ast.FunctionDef) else Marks()
            found.update({text: marks for text in texts_of(test) if marks != Marks()})
    named = {text: OF_PANDAS.get(text.partition("\n")[0], marks) for text, marks in found.items()}
    return [(text.encode(), marks) for text, marks in sorted(named.items())]


def texts_of(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            is_data = any(isinstance(t, ast.Name) and t.id == "data" for t in node.targets)
            yield from [node.value.value] if is_data and isinstance(node.value.value, str) else []


def marks_of(test: ast.FunctionDef) -> Marks:
    """By the arguments of the calls in it."""
    fields = {"sep": "delimiter", "delimiter": "delimiter", "quotechar": "quote", "escapechar": "escape"}
    calls = (node for node in ast.walk(test) if isinstance(node, ast.Call))
    given = [(fields.get(word.arg or ""), word.value) for call in calls for word in call.keywords]
    return Marks()._replace(
        **{
            field: value.value
            for field, value in given
            if field
            and isinstance(value, ast.Constant)
            and isinstance(value.value, str)
            and len(value.value) == 1
        }
    )


def text_rows(file: Path, rejects: list[tuple[int, str]], of: Sniffed, marks: Marks) -> list[list[str]]:
    """The rows that are left, as Python's csv reads them by these marks, whatever inrush took for marks.

    In the formats with escapes by the words of PostgreSQL and MySQL.
    """
    physical = file.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    gone = {n for line, text in rejects for n in range(line, line + text.count("\n") + 1)}
    text = b"\n".join(line for n, line in enumerate(physical, 1) if n not in gone).decode(errors="replace")
    comment = of.written.get("comment")
    text = "\n".join(line for line in text.split("\n") if not (comment and line.startswith(comment)))
    if of.format == "ndjson":
        found = [json.loads(line) for line in text.split("\n") if line.strip()]
        rows = [[in_text(row.get(c.name)) for c in of.columns] for row in found]
    elif of.format != "csv":
        rows = escaped_rows(text, marks.delimiter)
    else:
        quoting = {"quotechar": marks.quote} if marks.quote else {"quoting": csv.QUOTE_NONE}
        # Of the last line end a file may have the first half alone.
        text = text.removesuffix("\r") if "\r\n" in text else text
        # To Python's reader a CR alone ends a line, to inrush it is a part of a text.
        file_like = io.StringIO(re.sub(r"\r(?!\n)", LONE_CR, text), "")
        reader = csv.reader(file_like, delimiter=marks.delimiter, escapechar=marks.escape, **quoting)  # type: ignore[arg-type]
        # A blank line is a row of one column without a value.
        rows = [
            [field.replace(LONE_CR, "\r") for field in row or [""]]
            for row in reader
            if row or len(of.columns) == 1
        ]
    return rows[1:] if of.header else rows


def in_text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def escaped_rows(text: str, delimiter: str) -> list[list[str]]:
    """Of the formats in which a backslash escapes, line ends too."""
    rows: list[list[str]] = [[]]
    one = re.escape(delimiter)
    for found in re.finditer(rf"((?:[^{one}\n\\]|\\.)*)({one}|\r?\n|\Z)", text, re.DOTALL):
        field = found[1].removesuffix("\r")
        rows[-1].append(
            field if field == "\\N" else re.sub(r"\\([0-7]{1,3}|.)", unescaped, field, flags=re.DOTALL)
        )
        if found[2] != delimiter:
            rows.append([])
    return [row for row in rows if row not in ([], [""])]


def unescaped(found: re.Match[str]) -> str:
    if found[1].isdigit():
        return chr(int(found[1], 8))
    return {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "v": "\v", "f": "\f"}.get(found[1], found[1])


TRUTHS = {True: ("true", "t", "yes", "y", "on", "1"), False: ("false", "f", "no", "n", "off", "0")}


def same(text: str, value: Any, null: str) -> bool:
    """What is stored is what the reader has: a number as this number, a time as this instant, a text letter by letter."""
    if value is None or isinstance(value, str):
        return text == (null if value is None else value)
    if isinstance(value, bool):
        return text.strip().lower() in TRUTHS[value]
    if isinstance(value, float):
        return float(text) == value or (value != value and text.strip().lower() == "nan")
    if isinstance(value, list):
        return bool(json.loads(text) == value)
    if isinstance(value, int) and re.fullmatch(r"\s*[+-]?\d+\s*", text):
        return int(text) == value
    is_day = isinstance(value, datetime.date)
    stored_at = (
        datetime.datetime.combine(value, datetime.time(), UTC)
        if is_day
        else EPOCH + datetime.timedelta(microseconds=value)
    )
    return stored_at in instants(text.strip())


def instants(text: str) -> list[datetime.datetime]:
    """That a text may mean; of no zone those of UTC."""
    day = re.match(r"(\d\d?)([./-])(\d\d?)\2(\d{4})", text)
    orders = ((day[1], day[3]), (day[3], day[1])) if day else ()
    spelled = [f"{day[4]}-{m:0>2}-{d:0>2}{text[day.end() :]}" for d, m in orders if day] or [
        text.replace("Z", "+00:00")
    ]
    found = []
    for one in spelled:
        with suppress(ValueError):
            found.append(datetime.datetime.fromisoformat(one))
    return [at if at.tzinfo else at.replace(tzinfo=UTC) for at in found]
