"""Formats of files with rows."""

from __future__ import annotations

from collections.abc import Mapping

#: What MySQL's `SELECT … INTO OUTFILE` writes; any engine is loaded from it.
MYSQL = "mysql"
#: An object on each line.
JSON_LINES = "ndjson"
#: Format of a text file -> the delimiter of its fields where none is named.
DELIMITERS: Mapping[str, str | None] = {"csv": ",", "tsv": "\t", MYSQL: "\t", JSON_LINES: None}
#: The core reads these itself. Of any other, `study/files.py` makes an Arrow stream before the clock runs.
TEXT_FORMATS = tuple(DELIMITERS)
#: Its columns are known by name in every row.
NAMED_FORMATS = (JSON_LINES, "parquet")
FORMATS = (*TEXT_FORMATS, "parquet")
#: What MySQL's and PostgreSQL's texts write for NULL.
ESCAPED_NULL = "\\N"


def usual_null(format: str) -> str:
    """What a text of this format writes for NULL."""
    return ESCAPED_NULL if format in ("tsv", MYSQL) else ""
