"""How an import reads its files: what holds when its first row is stored holds for its last one. Pure.

The same import given again with other options would go on in another reading, and one table would hold two of one file.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any, Literal

from inrush.errors import UsageError
from inrush.load.identity import date_of
from inrush.load.ledger import Header
from inrush.plan.ends import TextFile, read_as
from inrush.study.chosen import ORDER_NAMES, Asked, DatesUndecided, is_pattern
from inrush.study.units import UNITS
from inrush.study.zones import changes, rules_of

Doc = dict[str, Any]


class OptionEffect(Enum):
    """What an option has to do with the values that are stored and where they lie."""

    #: Another one is another import, or the ledger of another place: `identity`.
    NAMES = "names the import"
    #: The import goes on with what it was begun with, whatever is said now.
    NOTED = "is noted"
    #: Another one is refused while rows are stored: here.
    COMPARED = "is compared"
    #: No stored value depends on it.
    NONE = "has no part"


#: Every field of `Call`. A new one needs a decision: tests/test_load_options.py.
PARTS: Mapping[str, OptionEffect] = {
    "files": OptionEffect.NAMES, "table": OptionEffect.NAMES, "into": OptionEffect.NAMES, "shards": OptionEffect.NAMES, "server": OptionEffect.NAMES,
    "import_id": OptionEffect.NAMES, "again": OptionEffect.NAMES,
    "key": OptionEffect.COMPARED, "rule": OptionEffect.COMPARED, "dates": OptionEffect.COMPARED, "date_formats": OptionEffect.COMPARED, "timezone": OptionEffect.COMPARED,
    # Types, the word for NULL, delimiter and header are found in files: in more rows of them with --create.
    "create": OptionEffect.NOTED, "strict": OptionEffect.NOTED, "header": OptionEffect.NOTED, "columns": OptionEffect.NOTED, "format": OptionEffect.NOTED,
    "written": OptionEffect.COMPARED, "types": OptionEffect.NOTED,
    # Its content is what was made of it.
    "encoding": OptionEffect.NAMES,
    "chunk_rows": OptionEffect.NOTED,
    "method": OptionEffect.NONE, "parallel": OptionEffect.NONE, "connections": OptionEffect.NONE, "flush_rows": OptionEffect.NONE, "reject_limit": OptionEffect.NONE,
    "limit_said": OptionEffect.NONE, "merging": OptionEffect.NONE, "truncate": OptionEffect.NAMES, "series": OptionEffect.NONE, "dry_run": OptionEffect.NONE, "patience_s": OptionEffect.NONE, "process_per_file": OptionEffect.NONE, "hash_threads": OptionEffect.NONE, "bytes_per_s": OptionEffect.NONE, "shard_rows_per_s": OptionEffect.NONE,
    "verify": OptionEffect.NONE, "count_only": OptionEffect.NONE, "replica": OptionEffect.NONE, "token_file": OptionEffect.NONE, "ca": OptionEffect.NONE, "fingerprint": OptionEffect.NONE,
}  # fmt: skip

#: Of a file's document, what says how its texts are read.
OF_FILE: tuple[Literal["format", "header", "written"], ...] = (
    "format",
    "header",
    "written",
)


def begun_with(header: Header, stored: bool) -> Header:
    """What an import must go on with: nothing where none of its rows is stored yet. stored: some are."""
    return header if stored else replace(header, types={}, reading={})


def reading_of(
    files: Sequence[TextFile],
    numbers: Sequence[int],
    times: Mapping[str, str],
    key: Sequence[str],
    rule: Mapping[str, Any],
) -> Doc:
    """As the ledger keeps it. files: documents as of `plan.Wanted`; numbers: of each in the ledger."""
    several = list(files[:1])  # one document for all files, where all are read alike
    if len(set(map(read_as, files))) > 1:
        several = [file for _, file in sorted(zip(numbers, files, strict=True), key=lambda pair: pair[0])]
    found = {
        "files": [{name: file[name] for name in OF_FILE} for file in several],
        "times": dict(times),
        "key": list(key),
        # Without a key no row is placed.
        "rule": dict(rule) if key else {},
    }
    read_again: Doc = json.loads(json.dumps(found))
    return read_again


def files_as_begun(files: Sequence[TextFile], numbers: Sequence[int], begun: Header) -> tuple[TextFile, ...]:
    """The documents of the files, read as the import was begun."""
    noted = begun.reading.get("files")
    if noted is None:
        return tuple(files)
    if len(noted) == 1:
        return tuple({**file, **noted[0]} for file in files)
    return tuple({**file, **noted[number]} for number, file in zip(numbers, files, strict=True))


def refuse_other_marks(
    said: Collection[str], files: Sequence[TextFile], as_begun: Sequence[TextFile], begun: Header
) -> None:
    """Raises UsageError where a command says how rows are written, and the import reads them otherwise. said: names of marks."""
    for file, before in zip(files, as_begun, strict=True):
        for name in said:
            now, was = file["written"].get(name), before["written"].get(name)
            if now != was:
                raise UsageError(
                    f"--{name}: import {begun.load}{date_of(begun)} was begun {f'with {was}' if was is not None else 'without it'}, and "
                    f"goes on so; leave it out, or --again loads the files anew, behind what is there"
                )


def times_as_begun(
    times: Mapping[str, str], undecided: DatesUndecided | None, asked: Asked, begun: Header
) -> dict[str, str]:
    """Column -> how its times are written, as the import was begun. times: as of this command; none where they are undecided.

    Raises UsageError where this command asks for another order of a column, `undecided` where no import knows it.
    """
    noted: Mapping[str, str] | None = begun.reading.get("times")
    if noted is None:
        if undecided is not None:
            raise undecided
        return dict(times)
    general = asked.formats.get("")
    if undecided is not None and general is not None and general.text not in noted.values():
        raise _other_format(general.text, "any column", begun)
    for column, wanted in asked.formats.items():
        if column and wanted.text != noted.get(column):
            raise _other_format(wanted.text, f"column {column}", begun)
    for column in sorted({*times, *noted}):
        order = asked.order(column)
        now = times.get(column) if undecided is None else None if order == "text" else order
        said = now if is_pattern(now) else order
        if said is not None and now != noted.get(column):
            was = noted.get(column, "text")
            option = "date-format" if is_pattern(now) else "dates"
            raise UsageError(
                f"--{option}: column {column} would be read as {said} from here on, and import {begun.load}{date_of(begun)} was "
                f"begun with {was}; leave --{option} out, or --again loads the files anew, behind what is there"
            )
    return dict(noted)


def _other_format(text: str, of: str, begun: Header) -> UsageError:
    return UsageError(
        f"--date-format: {of} would be read as {text} from here on, and import {begun.load}{date_of(begun)} was begun otherwise; "
        "leave --date-format out, or --again loads the files anew, behind what is there"
    )


def zone_as_begun(asked: str, begun: Header) -> str:
    """The zone of times that name none, as the import was begun. Raises UsageError where this command asks for another one."""
    if not begun.reading:
        return asked
    was = str(begun.reading.get("timezone", ""))
    if asked and changes(asked) != changes(was or "UTC"):
        raise UsageError(
            f"--timezone {asked}: import {begun.load}{date_of(begun)} was begun with {was or 'UTC'}, and goes on so; leave "
            "--timezone out, or --again loads the files anew, behind what is there"
        )
    noted = begun.reading.get("zone_rules", "")
    if was and noted != (now := rules_of(was)):
        raise UsageError(
            f"--timezone {was}: import {begun.load}{date_of(begun)} was begun by other rules of this zone ({noted}) than are known here "
            f"({now}); go on where it was begun, or --again loads the files anew, behind what is there"
        )
    return was


def refuse_other_columns(columns: Sequence[str], begun: Header) -> None:
    """Raises UsageError where the files' columns are others now, or files without a header would fill them in another order."""
    was, now = list(begun.types), list(columns)
    if any(file["header"] for file in begun.reading.get("files", ())):
        was, now = sorted(was), sorted(now)
    if begun.types and was != now:
        raise UsageError(
            f"table {begun.table}: import {begun.load}{date_of(begun)} was begun with the columns {', '.join(begun.types)}, "
            f"and now they are {', '.join(columns)}; give the table those columns, or --again loads the files anew, behind "
            "what is there"
        )


def refuse_other_places(reading: Mapping[str, Any], begun: Header) -> None:
    """Raises UsageError where rows would lie on other shards than those that are stored."""
    for part in ("key", "rule"):
        was, now = begun.reading.get(part), reading[part]
        if was is not None and was != now:
            said = f"--key {','.join(now)}" if part == "key" else "the rule that places rows on shards"
            before = f"--key {','.join(was)}" if part == "key" else f"{was}"
            raise UsageError(
                f"{said}: import {begun.load}{date_of(begun)} was begun with {before or 'none'}, and rows of a chunk would lie "
                "on two shards or on none; give it as it was, or --again loads the files anew, behind what is there"
            )


def unused_lines(asked: Asked, zone: str, types: Mapping[str, str], times: Mapping[str, str]) -> list[str]:
    """A line for an order of dates and for a zone that no column is read by. types: of the table's columns."""
    found = []
    for column, order in asked.dates.items():
        if order != "text" and order not in (times.values() if not column else [times.get(column)]):
            whose = f"column {column} has" if column else "no column has"
            dates = "none" if column else "dates"
            found.append(
                f"--dates: {whose} {dates} that are written as {ORDER_NAMES[order]}; --date-format reads those of other forms"
            )
    if zone and not any(types.get(column) in UNITS for column in times):
        found.append(
            f"--timezone {zone}: no column has times of day that are read from texts, and so nothing is of that zone"
        )
    return found
