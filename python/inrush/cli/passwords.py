"""Passwords among the arguments of this process: whatever is printed here, also by the parser of arguments, is without them.

Commands hand on no password themselves. This is for an address where none is expected: `inrush runs URL`, a wrong option.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

#: A shorter password is a part of many words; the address that it stands in is masked as a whole.
SHORTEST = 4


class Masked:
    """A stream of text that leaves out what may not be shown."""

    def __init__(self, stream: TextIO, masks: Sequence[tuple[str, str]]) -> None:
        self._stream, self._masks = stream, masks

    def write(self, text: str) -> int:
        for secret, shown in self._masks:
            text = text.replace(secret, shown)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def masks(arguments: Sequence[str]) -> list[tuple[str, str]]:
    """What may not be shown, with what stands in its place; the longest first."""
    found: dict[str, str] = {}
    for argument in arguments:
        if not any(sign in argument for sign in ("://", "@", "=")):
            continue
        from inrush.border.address import SCHEME, SECRET, read

        begins = SCHEME.search(argument)
        text = argument[begins.start() :] if begins else argument
        if begins or "@" in argument:
            at = read(text)
            if at.problems or at.password is not None:
                found |= dict.fromkeys(ways(text), at.shown)
            if at.password is not None and len(at.password) >= SHORTEST:
                found[at.password] = "…"
        if secret := SECRET.search(text):
            for begin in (0, secret.start()):
                if text[begin:] not in found:
                    found |= dict.fromkeys(ways(text[begin:]), text[begin : secret.end()] + "…")
    return sorted(found.items(), key=lambda pair: -len(pair[0]))


def ways(text: str) -> list[str]:
    """How an argument is printed: as it is, by `repr`, and by the parser of arguments."""
    return [text, repr(text)[1:-1], "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)]
