"""The public files of `csv-spectrum` 2.0.0 (npm, by Max Ogden; BSD-2-Clause): a load stores the rows that its JSON has.

The files are tiny and stand here byte for byte. Of `location_coordinates` the JSON of the package has another phone number
(1234567890) than the file; the row here is the file's.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pytest

from inrush.load.call import Call
from inrush.load.run import Loaded, load

EMPTY = [{"a": "1", "b": "", "c": ""}, {"a": "2", "b": "3", "c": "4"}]
SIMPLE = [{"a": "1", "b": "2", "c": "3"}]
#: Name -> the file, and its rows as the JSON of the package has them.
FILES: dict[str, tuple[str, list[dict[str, str]]]] = {
    "comma_in_quotes": (
        'first,last,address,city,zip\nJohn,Doe,120 any st.,"Anytown, WW",08123',
        [{"first": "John", "last": "Doe", "address": "120 any st.", "city": "Anytown, WW", "zip": "08123"}],
    ),
    "empty": ('a,b,c\n1,"",""\n2,3,4', EMPTY),
    "empty_crlf": ('a,b,c\r\n1,"",""\r\n2,3,4', EMPTY),
    "escaped_quotes": (
        'a,b\n1,"ha ""ha"" ha"\n3,4\n',
        [{"a": "1", "b": 'ha "ha" ha'}, {"a": "3", "b": "4"}],
    ),
    "json": (
        'key,val\n1,"{""type"": ""Point"", ""coordinates"": [102.0, 0.5]}"\n',
        [{"key": "1", "val": '{"type": "Point", "coordinates": [102.0, 0.5]}'}],
    ),
    # Quotes inside fields without quotes around them.
    "location_coordinates": (
        "Contact Phone Number,Location Coordinates,Cities,Counties\n"
        "2095257564,37�36'37.8\"N 121�2'17.9\"W,Modesto,Stanislaus",
        [
            {
                "Contact Phone Number": "2095257564",
                "Location Coordinates": "37�36'37.8\"N 121�2'17.9\"W",
                "Cities": "Modesto",
                "Counties": "Stanislaus",
            }
        ],
    ),
    "newlines": (
        'a,b,c\n1,2,3\n"Once upon \na time",5,6\n7,8,9\n',
        [
            {"a": "1", "b": "2", "c": "3"},
            {"a": "Once upon \na time", "b": "5", "c": "6"},
            {"a": "7", "b": "8", "c": "9"},
        ],
    ),
    "newlines_crlf": (
        'a,b,c\r\n1,2,3\r\n"Once upon \r\na time",5,6\r\n7,8,9\r\n',
        [
            {"a": "1", "b": "2", "c": "3"},
            {"a": "Once upon \r\na time", "b": "5", "c": "6"},
            {"a": "7", "b": "8", "c": "9"},
        ],
    ),
    "quotes_and_newlines": (
        'a,b\n1,"ha \n""ha"" \nha"\n3,4\n',
        [{"a": "1", "b": 'ha \n"ha" \nha'}, {"a": "3", "b": "4"}],
    ),
    "simple": ("a,b,c\n1,2,3\n", SIMPLE),
    "simple_crlf": ("a,b,c\r\n1,2,3\r\n", SIMPLE),
    "utf8": ("a,b,c\n1,2,3\n4,5,ʤ", [*SIMPLE, {"a": "4", "b": "5", "c": "ʤ"}]),
}


def loaded(engine: str, name: str, text: str, folder: Path) -> tuple[Loaded, list[dict[str, str]]]:
    """What was done, and the rows of the new table as texts, in the order of the file."""
    file, place = folder / f"{name}.csv", folder / f"t.{engine}"
    file.write_bytes(text.encode())
    call = Call((str(file),), "t", into=f"{engine}://{place}", create=True, verify=True)
    done = load(call, folder / "loads", lambda line: None, lambda event: None)
    connect: Any = duckdb.connect if engine == "duckdb" else sqlite3.connect
    connection = connect(str(place))
    found = connection.execute("SELECT * FROM t ORDER BY rowid")
    names = [column[0] for column in found.description]
    rows = [dict(zip(names, map(str, row), strict=True)) for row in found.fetchall()]
    connection.close()
    return done, rows


@pytest.mark.parametrize("engine", [pytest.param("duckdb", marks=pytest.mark.slow), "sqlite"])
@pytest.mark.parametrize("name", FILES)
def test_every_row_is_stored_as_its_json_has_it(name: str, engine: str, tmp_path: Path) -> None:
    text, rows = FILES[name]
    done, stored = loaded(engine, name, text, tmp_path)
    assert stored == rows
    assert (done.verdict, done.verified, done.rejected) == ("proven", True, 0), done.why
