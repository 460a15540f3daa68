"""Formats of files with rows."""

from __future__ import annotations

#: What MySQL's `SELECT … INTO OUTFILE` writes; any engine is loaded from it.
MYSQL = "mysql"
#: Format of a text file -> the delimiter of its fields where none is named.
DELIMITERS = {"csv": ",", "tsv": "\t", MYSQL: "\t"}
#: The core reads these itself. Of any other, `study/files.py` makes an Arrow stream before the clock runs.
TEXT_FORMATS = tuple(DELIMITERS)
FORMATS = (*TEXT_FORMATS, "parquet")
