"""`make docs`: every page is in the site, every link leads to a file of it, and nothing comes from another host."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
#: What a browser fetches by itself, tag by tag; `a` waits for a click.
FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "object": "data"}
#: What a stylesheet fetches.
IN_CSS = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


class Html(HTMLParser):
    """What a page fetches, and where its links lead."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if FETCHED.get(tag) in found and found.get("rel") != "canonical":
            self.fetched.append(found[FETCHED[tag]] or "")
        if tag == "a" and found.get("href"):
            self.links.append(str(found["href"]))
        self.fetched += [one or two for one, two in IN_CSS.findall(found.get("style") or "")]


def elsewhere(address: str) -> bool:
    return bool(urlsplit(address).netloc) or urlsplit(address).scheme in ("http", "https")


def external(site: Path) -> list[str]:
    """What pages and stylesheets fetch from other hosts."""
    found = [(page, a) for page in site.rglob("*.html") for a in Html(page.read_text()).fetched]
    for sheet in site.rglob("*.css"):
        found += [(sheet, one or two) for one, two in IN_CSS.findall(sheet.read_text())]
    return [f"{page.relative_to(site)}: {address}" for page, address in found if elsewhere(address)]


def dead_ends(site: Path) -> Iterator[str]:
    """Links and assets of pages that are no file of the site: a folder is none, where no server looks for its index."""
    for page in site.rglob("*.html"):
        if page.name == "404.html":  # of servers; its addresses begin at their root
            continue
        html = Html(page.read_text())
        for address in (*html.links, *html.fetched):
            path = unquote(urlsplit(address).path)
            inside = path and not elsewhere(address) and not address.startswith("data:")
            if inside and not (page.parent / path).resolve().is_file():
                yield f"{page.relative_to(site)}: {address}"


def built(out: Path) -> Path:
    done = subprocess.run(
        [sys.executable, "tools/site.py", str(out)], cwd=ROOT, capture_output=True, text=True, timeout=240, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"{out}/index.html"
    return out


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("docs") / "site")


def test_every_page_is_in_the_site(site: Path) -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    named = [p.relative_to(ROOT).with_name("index.md" if p.name == "README.md" else p.name) for p in pages]
    missing = [str(p) for p in named if not (site / p.with_suffix(".html")).is_file()]
    assert missing == [] and len(named) > 40


def test_nothing_in_the_site_comes_from_another_host(site: Path) -> None:
    assert external(site) == []


def test_every_link_of_the_site_leads_to_a_file_of_it(site: Path) -> None:
    assert list(dead_ends(site)) == []


def test_an_asset_of_another_host_and_a_link_to_a_folder_are_seen(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "a.html").write_text(
        '<script src="https://cdn.example/x.js"></script><link rel="stylesheet" href="//fonts.example/f">'
        '<a href="docs/">b</a><a href="https://example.org/">c</a><p style="background: url(http://x.example/y)">'
        '<a href="#here">d</a><img src="gone.png">'
    )
    (tmp_path / "a.css").write_text('@import "https://fonts.example/css"; p { src: url(../f.woff) }')
    assert external(tmp_path) == [
        "a.html: https://cdn.example/x.js",
        "a.html: //fonts.example/f",
        "a.html: http://x.example/y",
        "a.css: https://fonts.example/css",
    ]
    assert [line for line in dead_ends(tmp_path) if "example" not in line] == [
        "a.html: docs/",
        "a.html: gone.png",
    ]


def test_a_broken_link_ends_the_build(tmp_path: Path) -> None:
    """In a checkout of one page."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "site.py").write_text((ROOT / "tools" / "site.py").read_text())
    (tmp_path / "mkdocs.yml").write_text((ROOT / "mkdocs.yml").read_text())
    for text in ("[gone](docs/gone.md)", "[a heading](#gone)", "[a folder](docs)"):
        (tmp_path / "README.md").write_text(f"# A\n\n{text}\n")
        done = subprocess.run(
            [sys.executable, "tools/site.py", "site"], cwd=tmp_path, capture_output=True, text=True, timeout=240,
            check=False,
        )  # fmt: skip
        assert done.returncode == 1 and "make docs: " in done.stderr, text


def test_every_decision_is_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = set(re.findall(r"\]\((\d{3}-[^)]+)\)", (folder / "README.md").read_text()))
    assert listed == {path.name for path in folder.glob("[0-9]*.md")}
