"""Pieces of HTML that every page is made of; everything escaped. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from typing import Any

from inrush.analysis.verdicts import WITH_NOTES, Outcome

Cells = Sequence[str]


def section(title: str, inner: str) -> str:
    return f"<section><h2>{escape(title)}</h2>\n{inner}</section>" if inner else ""


def table(header: Sequence[str], rows: Sequence[Cells], kind: str = "") -> str:
    """Cells are HTML already; a header that starts with # is of numbers. Nothing for no rows.

    kind: a class; rows of `cards` become cards on a narrow screen, where each cell says its column.
    """
    if not rows:
        return ""
    head = "".join(
        f'<th class="num">{escape(h[1:])}</th>' if h.startswith("#") else f"<th>{escape(h)}</th>"
        for h in header
    )
    body = "".join(
        "<tr>"
        + "".join(c if c.startswith("<td") else f"<td>{c}</td>" for c in labelled(row, header, kind))
        + "</tr>\n"
        for row in rows
    )
    return f'<div class="scroll"><table class="{kind}"><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>'


def labelled(row: Cells, header: Sequence[str], kind: str) -> Cells:
    """Of cards: each cell with the name of its column."""
    if "cards" not in kind.split():
        return row
    cells = [c if c.startswith("<td") else f"<td>{c}</td>" for c in row]
    names = [escape(h.removeprefix("#"), quote=True) for h in header]
    return [f'<td data-label="{name}"{c[3:]}' for name, c in zip(names, cells, strict=True)]


def number(text: str) -> str:
    return f'<td class="num">{escape(text)}</td>'


def prose(text: str) -> str:
    """A sentence with its `code` as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def badge(outcome: Outcome) -> str:
    words = {
        Outcome.PASS: ("pass", "valid"),
        Outcome.NOT_CHECKED: ("pass", "valid"),
        Outcome.NOTE: ("note", WITH_NOTES),
        Outcome.INVALID: ("invalid-badge", "INVALID"),
    }
    kind, word = words[outcome]
    return f'<span class="badge {kind}">{word}</span>'


def outcome_word(outcome: Outcome) -> str:
    kind = {
        Outcome.PASS: "pass",
        Outcome.NOT_CHECKED: "unchecked",
        Outcome.NOTE: "note",
        Outcome.INVALID: "invalid-badge",
    }[outcome]
    return f'<span class="badge {kind}">{"INVALID" if outcome is Outcome.INVALID else outcome.value}</span>'


def data(value: Any) -> str:
    """JSON that cannot end its script element early."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
