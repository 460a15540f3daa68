"""The word for NULL that was found in files, once the table is known. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from inrush.border.table import WrittenAs
from inrush.engines.base.loading import Loading, base_type
from inrush.load.call import Call
from inrush.load.input import Input
from inrush.workload import Table


def with_null_of_table(
    inputs: Sequence[Input], table: Table, loading: Loading, said: WrittenAs
) -> list[Input]:
    """Files with a word such as `NA` for NULL only where a column of one has it that cannot hold it as a text.

    A dump of texts has `NA` where a text is `NA`, and nothing where there is none: read otherwise, the one would be NULL and
    the other an empty text. said: by the command line, which is right about its word.
    """
    if "null" in said:
        return list(inputs)
    texts = {c.name for c in table.columns if c.type == "text" and _holds_any(c.declared, loading)}
    names = [c.name for c in table.columns]
    # One import reads its files alike: where one of them needs its word, so do the others.
    return [*inputs] if any(_is_needed(one, names, texts) for one in inputs) else [*map(_without, inputs)]


def _holds_any(declared: str, loading: Loading) -> bool:
    """Whether a column of texts takes every text: none of a type that the server reads texts into."""
    return not loading.is_as_text(declared) and base_type(declared) != "json"


def _is_needed(source: Input, names: Sequence[str], texts: set[str]) -> bool:
    of = source.sniffed
    if "null" not in of.written:
        return False
    own = [c.name for c in of.columns] if of.has_names or of.named else names
    return any(c.nulls and name not in texts for c, name in zip(of.columns, own, strict=True))


def _without(source: Input) -> Input:
    written = cast(WrittenAs, {k: v for k, v in source.sniffed.written.items() if k != "null"})
    return source._replace(sniffed=replace(source.sniffed, written=written))


def null_lines(call: Call, inputs: Sequence[Input]) -> list[str]:
    """A line where such a word is taken for a table that is there, for it is taken in every column. Of a new one `type_lines` says it."""
    having = [one for one in inputs if "null" in one.sniffed.written]
    if not having or call.create or "null" in call.written:
        return []
    where = (
        "" if len(having) == len(inputs) else f" in {having[0].shown}" + (" and others" * (len(having) > 1))
    )
    return [
        f"NULL is written {having[0].sniffed.written['null']!r}{where}, and an empty field is an empty text there; "
        "--null '' reads them the other way"
    ]
