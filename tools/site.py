"""`make docs`: the pages of this checkout as a site that works from a folder, without a network or a server.

The pages lie in the site as they lie here, so that every link between them is the same. What MkDocs warns of, such as a
link or a heading that is not there, ends it.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import MkDocsException

ROOT = Path(__file__).parents[1]
#: Beside the pages, what they show or link to.
SHOWN = (".md", ".png", ".svg", ".yaml", ".json", ".csv")


def main(words: list[str]) -> int:
    """words: the folder of the site. 0: it is there; 1: a page has a fault, which was printed."""
    out = Path(words[0]).resolve() if words else ROOT / "site"
    with tempfile.TemporaryDirectory(prefix="inrush-site-") as staged:
        stage(Path(staged))
        try:
            build(settings(Path(staged), out))
        except MkDocsException as fault:
            print(f"make docs: {fault}", file=sys.stderr)
            return 1
    print(f"{out}/index.html")
    return 0


def stage(folder: Path) -> None:
    """Links to all pages, and to what they show, in the folders that they lie in."""
    shown = [*ROOT.glob("*.md"), *(p for p in (ROOT / "docs").rglob("*") if p.suffix in SHOWN)]
    for path in shown:
        place = folder / path.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(path)


def settings(pages: Path, out: Path) -> object:
    return load_config(
        str(ROOT / "mkdocs.yml"),
        docs_dir=str(pages),
        site_dir=str(out),
        markdown_extensions=["tables", "fenced_code", {"toc": {"slugify": anchor}}],
    )


def anchor(heading: str, separator: str) -> str:
    """A heading's name in a link, by the rule of GitHub: both follow the same links."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
