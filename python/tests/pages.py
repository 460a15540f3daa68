"""A page of the documentation as its reader uses it: links to follow, commands to type, lines to read. Pure but for `page_at`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

#: Columns of a line of text. Tables and code are as wide as they need.
WIDTH = 120
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
#: Code in a sentence; it may go over a line and not over a paragraph.
SPAN = re.compile(r"`(?:[^`\n]|\n(?!\n))*`")
ELSEWHERE = ("http://", "https://", "mailto:")


@dataclass(frozen=True)
class Line:
    number: int
    text: str
    #: Between two fences.
    code: bool


@dataclass(frozen=True)
class Page:
    #: Relative to the root of the project.
    path: str
    text: str

    def lines(self) -> Iterator[Line]:
        """All lines but the fences."""
        code = False
        for number, text in enumerate(self.text.splitlines(), 1):
            if text.lstrip().startswith("```"):
                code = not code
            else:
                yield Line(number, text, code)

    def prose(self) -> Iterator[Line]:
        return (line for line in self.lines() if not line.code)

    def too_long(self) -> list[str]:
        """Lines of text over the width, tables left out."""
        return [
            f"{self.path}:{line.number}: {len(line.text)} columns"
            for line in self.prose()
            if len(line.text) > WIDTH and not line.text.lstrip().startswith("|")
        ]

    def anchors(self) -> set[str]:
        """The headings as links name them: the rule of GitHub, a number behind a heading that stood before."""
        found: dict[str, int] = {}
        names = set()
        for line in self.prose():
            if heading := re.match(r"#{1,6} +(.*)", line.text):
                plain = re.sub(r"[^\w\- ]", "", heading[1].strip().lower()).replace(" ", "-")
                seen = found.get(plain, 0)
                found[plain] = seen + 1
                names.add(f"{plain}-{seen}" if seen else plain)
        return names

    def links(self) -> Iterator[tuple[int, str]]:
        """Line and target of every link to a place in the project, also over two lines; what stands in backticks is text."""
        prose = {line.number: line.text for line in self.prose()}
        text = "\n".join(prose.get(number, "") for number in range(1, len(self.text.splitlines()) + 1))
        text = SPAN.sub(lambda span: "\n" * span[0].count("\n"), text)
        for link in LINK.finditer(text):
            if not link[1].startswith(ELSEWHERE):
                yield text.count("\n", 0, link.start()) + 1, link[1]

    def typed(self, program: str) -> Iterator[tuple[int, list[str]]]:
        """Line and words of every call of a program in a code block, as a shell reads them: comments go, `\\` joins."""
        joined, begun = "", 0
        for line in self.lines():
            if not line.code:
                joined = ""
                continue
            begun = begun if joined else line.number
            joined += line.text
            if joined.endswith("\\"):
                joined = joined[:-1] + " "
                continue
            whole, joined = joined.strip(), ""
            if whole.split(" ", 1)[0] == program:
                yield begun, shlex.split(whole, comments=True)[1:]

    def named(self, program: str) -> Iterator[tuple[int, str]]:
        """Line and first word of every call of a program, in code blocks and in backticks."""
        for line in self.lines():
            pattern = rf"^\s*{program} +([\w-]+)" if line.code else rf"`{program} ([\w-]+)[^`]*`"
            for word in re.findall(pattern, line.text):
                yield line.number, word


def page_at(root: Path, path: Path) -> Page:
    return Page(str(path.relative_to(root)), path.read_text(encoding="utf-8"))


def broken_links(page: Page, pages: Mapping[str, Page], exists: set[str]) -> list[str]:
    """One line for each link to a file or heading that is not there.

    pages: by path. exists: paths of all other files and folders that a link may lead to.
    """
    return [
        f"{page.path}:{number}: {target}: {reason}"
        for number, target in page.links()
        if (reason := wrong_with(target, page, pages, exists))
    ]


def wrong_with(target: str, page: Page, pages: Mapping[str, Page], exists: set[str]) -> str:
    """Why a link leads nowhere, or nothing."""
    file, _, anchor = target.partition("#")
    path = resolved(page.path, file) if file else page.path
    if path not in pages:
        return "" if path in exists and not anchor else "no such file"
    return "no such heading" if anchor and anchor not in pages[path].anchors() else ""


def resolved(page: str, target: str) -> str:
    """A path relative to a page's folder, relative to the root."""
    parts: list[str] = []
    for part in [*page.split("/")[:-1], *target.split("/")]:
        if part == ".." and parts:
            parts.pop()
        elif part not in (".", ""):
            parts.append(part)
    return "/".join(parts)
