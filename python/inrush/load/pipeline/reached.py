"""How far a load had come when it was killed, by its ledger: what the load server will find, file by file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from inrush.border.pipeline import GoesOn

#: Rows of one statement.
Ask = Callable[[str], Sequence[Sequence[Any]]]
#: Files of which the chunks are asked for in one statement.
ASKED_MOST = 500


@dataclass(frozen=True)
class Reached:
    """Of all files; a chunk behind one that is missing does not count, as its client comes to it again."""

    #: By number: 1 where the file is stored whole.
    whole: bytearray
    #: Rows of whole files.
    rows: int
    #: (file, rows, bytes) of those that are stored in part.
    in_hand: Sequence[tuple[int, int, int]]

    @property
    def rows_stored(self) -> int:
        return self.rows + sum(rows for _, rows, _ in self.in_hand)

    def bytes_stored(self, size_of: Callable[[int], int]) -> int:
        done = sum(size_of(n) for n, is_whole in enumerate(self.whole) if is_whole)
        return done + sum(size for _, _, size in self.in_hand)

    @property
    def left(self) -> list[int]:
        return [n for n, is_whole in enumerate(self.whole) if not is_whole]


def nothing(files: int) -> Reached:
    return Reached(bytearray(files), 0, ())


def reached(of: GoesOn, files: int, ask: Ask, size_of: Callable[[int], int]) -> Reached:
    """size_of: bytes of a file."""
    whole, rows, partly = bytearray(files), 0, []
    for file, chunks, last_chunk, is_last, stored in (map(int, row) for row in ask(of["files"])):
        if is_last and chunks == last_chunk + 1:
            whole[file], rows = 1, rows + stored
        else:
            partly.append(file)
    held = []
    for begin in range(0, len(partly), ASKED_MOST):
        some = partly[begin : begin + ASKED_MOST]
        held += prefixes(ask(f"{of['chunks']} ({', '.join(map(str, some))})"), size_of)
    return Reached(whole, rows, held)


def prefixes(lines: Iterable[Sequence[Any]], size_of: Callable[[int], int]) -> list[tuple[int, int, int]]:
    """(file, rows, bytes) up to the first chunk that is missing. lines: file, chunk, rows and the place behind it. Pure."""
    by_file: dict[int, dict[int, tuple[int, str]]] = {}
    for file, chunk, rows, after in lines:
        by_file.setdefault(int(file), {})[int(chunk)] = (int(rows), str(after))
    found = []
    for file, chunks in sorted(by_file.items()):
        rows, size, chunk = 0, 0, 0
        while chunk in chunks:
            more, after = chunks[chunk]
            place = json.loads(after)
            # Behind its last row a file's place is the beginning of the next one.
            rows, size = rows + more, size_of(file) if place["file"] else int(place["offset"])
            chunk += 1
        if chunk:
            found.append((file, rows, size))
    return found
