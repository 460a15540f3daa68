"""Files of good and malformed rows: what is wrong with each, and what a reader has to say of it, stated beforehand."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

COLUMNS = {
    "id": "bigint NOT NULL", "small": "smallint", "num": "integer", "big": "bigint", "v": "double precision",
    "at": "timestamp with time zone", "ok": "boolean", "name": "varchar(12) NOT NULL", "note": "text",
}  # fmt: skip
NAMES = tuple(COLUMNS)
WIDTH = len(COLUMNS)

#: A good row by its columns; None is NULL.
Row = dict[str, object]
#: Fields as they are written.
Raw = dict[str, bytes]
#: Line within the text -> (column, reason).
Rejected = dict[int, tuple[str, str]]
Kind = Callable[["Writer", random.Random, Raw], tuple[bytes, Rejected]]


@dataclass(frozen=True)
class Writer:
    """One format: how fields become lines."""

    format: str
    delimiter: bytes

    @property
    def null(self) -> bytes:
        return b"" if self.format == "csv" else b"\\N"

    def field(self, value: object) -> bytes:
        if value is None:
            return self.null
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if self.format == "csv":
            special = not text or any(c in text for c in ',"\r\n')
            return (('"' + text.replace('"', '""') + '"') if special else text).encode()
        for plain, escaped in (("\\", "\\\\"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
            text = text.replace(plain, escaped)
        return text.replace(",", "\\,").encode() if self.delimiter == b"," else text.encode()

    def raw(self, row: Row) -> Raw:
        return {name: self.field(value) for name, value in row.items()}

    def line(self, raw: Raw) -> bytes:
        return self.delimiter.join(raw.values()) + b"\n"


WRITERS = {w.format: w for w in (Writer("csv", b","), Writer("tsv", b"\t"), Writer("mysql", b","))}


@dataclass
class File:
    text: bytes = b""
    good: list[Row] = field(default_factory=list)
    #: Line of the file -> (kind, column, reason).
    rejected: dict[int, tuple[str, str, str]] = field(default_factory=dict)


def one(column: str, reason: str, *values: bytes) -> Kind:
    """A field that is wrong in one of several ways."""

    def made(writer: Writer, rng: random.Random, raw: Raw) -> tuple[bytes, Rejected]:
        return writer.line({**raw, column: rng.choice(values)}), {0: (column, reason)}

    return made


def whole(reason: str, change: Callable[[Writer, Raw], bytes]) -> Kind:
    """A line that is no row."""

    def made(writer: Writer, _rng: random.Random, raw: Raw) -> tuple[bytes, Rejected]:
        return change(writer, raw), {0: ("", reason)}

    return made


def without(raw: Raw, *names: str) -> Raw:
    return {name: value for name, value in raw.items() if name not in names}


def broken_in_two(writer: Writer, _rng: random.Random, raw: Raw) -> tuple[bytes, Rejected]:
    """A line end inside of a field that nothing protects: neither part is a row."""
    text = writer.line({**raw, "name": b"ab\ncd"})
    return text, {
        0: ("", f"too few fields: {WIDTH - 1} of {WIDTH}"),
        1: ("", f"too few fields: 2 of {WIDTH}"),
    }


def few(n: int) -> str:
    return f"too few fields: {n} of {WIDTH}"


def many(n: int) -> str:
    return f"too many fields: {n} for {WIDTH}"


COMMON: Mapping[str, Kind] = {
    "a column less": whole(few(WIDTH - 1), lambda w, raw: w.line(without(raw, "ok"))),
    "half a row": whole(few(3), lambda w, raw: w.line(dict(list(raw.items())[:3]))),
    "a column more": whole(many(WIDTH + 1), lambda w, raw: w.line({**raw, "more": b"1"})),
    "a delimiter at the end": whole(many(WIDTH + 1), lambda w, raw: w.line({**raw, "more": b""})),
    "an empty line": whole(few(1), lambda w, raw: b"\n"),
    "another delimiter": whole(few(1), lambda w, raw: b";".join(without(raw, "note").values()) + b"\n"),
    "line ends of carriage returns alone": whole(
        many(2 * WIDTH - 1), lambda w, raw: w.line(raw)[:-1] + b"\r" + w.line(raw)
    ),
    "a line end inside of a field": broken_in_two,
    "no integer": one("num", "not an integer", b"abc", b"12x", b"0x1F", b"1_000", b"--5", b"1.5", b"1e3", "١٢".encode()),
    "a mark of byte order": one("id", "not an integer", b"\xef\xbb\xbf12"),
    "NUL in a number": one("big", "not an integer", b"1\x002", b"\x00"),
    "beyond 16 bits": one("small", "out of range of i16", b"32768", b"-32769", b"99999999999999999999"),
    "beyond 32 bits": one("num", "out of range of i32", b"2147483648", b"-2147483649"),
    "beyond 64 bits": one("big", "out of range of i64", b"9223372036854775808", b"-9223372036854775809"),
    "no number": one("v", "not a number", b"0.2.5", b"1e", b"12abc", b"e5", b"1 2", b"0x1p3"),
    "a number beyond double": one("v", "out of range of f64", b"1e400", b"-1e999"),
    "a month that is none": one("at", "not a time", b"2026-13-01", b"2026-00-10 00:00:00"),
    "a day that is none": one("at", "not a time", b"2026-02-29", b"2026-04-31", b"1900-02-29 10:00:00"),
    "an hour that is none": one("at", "not a time", b"2026-01-01 24:00:00", b"2026-01-01 10:60:00", b"2026-01-01 10:00:61"),
    "a time in another order": one("at", "not a time", b"01/02/2026", b"31.01.2026", b"yesterday", b"2026-1-1"),
    "a zone that is none": one("at", "not a time", b"2026-01-01 00:00:00 Mars", b"2026-01-01 00:00:00+99"),
    "a time too fine": one("at", "time finer than the column", b"2026-01-01 00:00:00.1234567"),
    "a number among dates": one("at", "not a time", b"9223372036854775808", b"-9223372036854775808", b"20260101"),
    "no truth": one("ok", "not a truth value", b"maybe", b"2", b"tru", b"truefalse"),
    "a text too long": one("name", "text longer than 12 characters", b"x" * 13, "é".encode() * 13, b"twelve + one  "),
    "NUL in a text": one("note", "NUL byte in a text", b"a\x00b", b"\x00"),
    "no UTF-8": one("note", "not UTF-8", b"\xff\xfe", b"\xc3(", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"caf\xe9"),
}  # fmt: skip

CSV: Mapping[str, Kind] = {
    **COMMON,
    "a quote left open": whole("unbalanced quote", lambda w, raw: w.line({**raw, "name": b'"open'})),
    "a blank before the quotes of a field": whole(
        "quote inside an unquoted field", lambda w, raw: w.line({**raw, "note": b' "pipe"'})
    ),
    "text behind a quote": whole(
        "text after a closing quote", lambda w, raw: w.line({**raw, "name": b'"a"b'})
    ),
    "a backslash before a quote": whole(
        "unbalanced quote", lambda w, raw: w.line({**raw, "note": b'"a\\"b"'})
    ),
    "a line end in a quoted number": one("num", "not an integer", b'"1\n2"'),
    "NULL where none may be": one("name", "null in a required column", b""),
    "no key": one("id", "null in a required column", b""),
}
ESCAPES: Mapping[str, Kind] = {
    **COMMON,
    "an escaped delimiter": whole(few(WIDTH - 1), lambda w, raw: w.line({**raw, "name": b"ab\\"})),
    "quotes around a number": one("num", "not an integer", b'"12"'),
    "an escaped line end in a number": one("num", "not an integer", b"1\\\n2"),
    "an escape for NUL": one("note", "NUL byte in a text", b"a\\0b", b"\\0"),
    "a small n for NULL": one("num", "not an integer", b"\\n", b"NULL", b""),
    "the end mark of COPY": whole(few(1), lambda w, raw: b"\\.\n"),
    "NULL where none may be": one("name", "null in a required column", b"\\N"),
    "no key": one("id", "null in a required column", b"\\N"),
}
KINDS: Mapping[str, Mapping[str, Kind]] = {
    "csv": CSV,
    "tsv": {**ESCAPES, "an escape for no UTF-8": one("note", "not UTF-8", b"\\xff", b"a\\377")},
    "mysql": ESCAPES,
}


def written(form: str, seed: int, each: int, head: int = 300) -> File:
    """`each` rows of every kind in random order among as many good ones; `head` good rows come first.

    Good rows have ids from 0, malformed ones below 0.
    """
    writer, rng, file = WRITERS[form], random.Random(f"{form} {seed}"), File()
    parts = [
        b"\xef\xbb\xbf" if form == "csv" else b"",
        writer.delimiter.join(n.encode() for n in NAMES) + b"\n",
    ]
    wanted: list[str | None] = [kind for kind in KINDS[form] for _ in range(each)]
    wanted += [None] * len(wanted)
    rng.shuffle(wanted)
    line = 2
    for at, kind in enumerate([None] * head + wanted):
        if kind is None:
            row = good_row(rng, len(file.good))
            file.good.append(row)
            text = writer.line(writer.raw(row))
        else:
            # What is wrong stands in a row that is good in everything else, and on one line.
            plain = {**good_row(rng, -at), "name": "plain", "note": "plain"}
            text, rejected = KINDS[form][kind](writer, rng, writer.raw(plain))
            file.rejected.update({line + k: (kind, *why) for k, why in rejected.items()})
        parts.append(text)
        line += text.count(b"\n")
    file.text = b"".join(parts)
    return file


def good_row(rng: random.Random, key: int) -> Row:
    """With everything that makes a reader stumble and is allowed."""
    names = ("twelve chars", "é" * 12, "日本語のなまえ", "a,b", 'say "x"', "tab\there", "back\\slash", "")
    notes = (*names, "two\nlines", "three\n\nlines,", '"', '",', "\\N", "NULL", "\ufeff", "x" * 500, None)
    day = f"20{rng.randrange(10, 90):02}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"
    return {
        "id": key,
        "small": rng.choice((-32768, 32767, 0, None)),
        "num": rng.choice((-(2**31), 2**31 - 1, rng.randrange(1000), None)),
        "big": rng.choice((-(2**63), 2**63 - 1, rng.randrange(10**12), None)),
        "v": rng.choice((0.1, -1e300, 1e-300, 12.5, None)),
        "at": rng.choice((f"{day} 23:59:59.999999+00", f"{day}T00:00:00Z", day, None)),
        "ok": rng.choice((True, False, None)),
        "name": rng.choice(names),
        "note": rng.choice(notes),
    }
