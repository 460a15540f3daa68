"""The word for NULL that was found in files, once the table is known. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from inrush.border.table import WrittenAs
from inrush.engines.base.loading import Loading
from inrush.load.input import Input
from inrush.workload import Table


def with_null_of_table(
    inputs: Sequence[Input], table: Table, loading: Loading, said: WrittenAs
) -> list[Input]:
    """Files with a word such as `NA` for NULL only where a column has it that cannot hold it as a text.

    A dump of texts has `NA` where a text is `NA`, and nothing where there is none: read otherwise, the one would be NULL and
    the other an empty text. said: by the command line, which is right about its word.
    """
    if "null" in said:
        return list(inputs)
    texts = {c.name for c in table.columns if c.type == "text" and loading.spelling_of(c.declared) is None}
    names = [c.name for c in table.columns]
    return [one if _is_needed(one, names, texts) else _without(one) for one in inputs]


def _is_needed(source: Input, names: Sequence[str], texts: set[str]) -> bool:
    of = source.sniffed
    if "null" not in of.written:
        return True
    own = [c.name for c in of.columns] if of.has_names or of.named else names
    return any(c.nulls and name not in texts for c, name in zip(of.columns, own, strict=True))


def _without(source: Input) -> Input:
    written = cast(WrittenAs, {k: v for k, v in source.sniffed.written.items() if k != "null"})
    return source._replace(sniffed=replace(source.sniffed, written=written))


def null_lines(inputs: Sequence[Input]) -> list[str]:
    """A line where such a word is taken, for it is taken in every column."""
    word = next((one.sniffed.written["null"] for one in inputs if "null" in one.sniffed.written), None)
    if word is None:
        return []
    return [
        f"NULL is written {word!r}, and an empty field is an empty text; --null '' reads them the other way"
    ]
