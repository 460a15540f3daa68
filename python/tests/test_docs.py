"""The documentation as its reader meets it: links lead somewhere, commands can be typed, lines are short enough to read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from inrush.cli import app
from inrush.engines import engine_of_url, server
from inrush.errors import UsageError
from inrush.guards.guard import run_guards, study_guards
from inrush.run.call import StudyCall
from inrush.run.prepare import prepare
from inrush.study.shipped import find_study, shipped_studies
from tests.pages import Page, broken_links, page_at

ROOT = Path(__file__).parents[2]
PAGES = {
    page.path: page
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    for page in [page_at(ROOT, path)]
}
#: By name, as the parser has them.
COMMANDS = vars(typer.main.get_command(app))["commands"]
#: What a parser raises, of whichever copy of click typer brings along.
Refused = typer.BadParameter.__bases__[0]
#: The changelog tells what commands were, and decisions what was thought of them; both stay as they were written.
TODAY = [path for path in sorted(PAGES) if path != "CHANGELOG.md" and not path.startswith("docs/decisions/")]

#: Written by commands, a sentence or a table a line (`benches.published.page`, `benches.claims.page`).
WIDE = {"docs/findings/predictions.md", "docs/findings/claims.md"}


def files() -> set[str]:
    """Paths that are no pages: what lies beside them, folders included."""
    places = [ROOT / "docs", ROOT / "python", ROOT / "rust", ROOT / ".ci"]
    found = [
        path for place in places for path in [place, *place.rglob("*")] if "__pycache__" not in path.parts
    ]
    return {str(path.relative_to(ROOT)) for path in [*found, *ROOT.iterdir()]}


def refusal(words: list[str]) -> str:
    """Why `inrush WORDS` is refused by its parser, or nothing; nothing is run and nothing is touched."""
    if not words or words[0] not in COMMANDS:
        return f"no such command: {' '.join(words[:1])}"
    try:
        context = COMMANDS[words[0]].make_context(words[0], words[1:])
    except Refused as refused:
        return str(refused.format_message())
    return "; ".join(unknown_names(words[0], context.params))


def unknown_names(command: str, given: dict[str, object]) -> Iterator[str]:
    """Studies and engines that a call names and that do not exist. A word in capitals stands for one of the reader's."""
    study = given.get("study")
    if command in ("run", "plan", "config") and not given.get("resume") and of_ours(study):
        yield from refused(find_study, str(study))
    for key in ("targets", "target", "shard", "into"):
        value = given.get(key)
        for name in (value,) if isinstance(value, str) else value if isinstance(value, (list, tuple)) else ():
            if of_ours(name):
                yield from refused(engine_of_url if "://" in name else server, name)
    words = [str(word).split(",")[0] for word in (*listed(given, "start"), *listed(given, "names"))]
    yield from (line for word in words if word != "all" for line in refused(server, word))


def of_ours(name: object) -> bool:
    """Neither a placeholder nor a file of the reader's."""
    return isinstance(name, str) and not name.isupper() and not name.endswith(".toml")


def listed(given: dict[str, object], key: str) -> list[object]:
    value = given.get(key)
    return list(value) if isinstance(value, (list, tuple)) else []


def refused(look_up: object, name: str) -> list[str]:
    assert callable(look_up)
    try:
        look_up(name)
    except UsageError as error:
        return [str(error)]
    return []


def make_targets(makefile: str) -> set[str]:
    return set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


@pytest.mark.parametrize("path", sorted(PAGES))
def test_every_link_leads_to_a_file_and_a_heading(path: str) -> None:
    assert broken_links(PAGES[path], PAGES, files()) == []


@pytest.mark.parametrize("path", TODAY)
def test_every_command_of_a_code_block_can_be_typed(path: str) -> None:
    wrong = [f"{path}:{n}: {why}" for n, words in PAGES[path].typed("inrush") if (why := refusal(words))]
    assert wrong == []


#: What stands for variables of a shell that a page's block has set before.
SET_BEFORE = {"$TARGET": "postgresql://me@db.example/bench", "$workers": "2"}


def shipped_runs() -> list[list[str]]:
    """The calls of studies that come with inrush, in code blocks of all pages, each once."""
    calls = [words for path in TODAY for _, words in PAGES[path].typed("inrush")]
    ours = [words for words in calls if words[:1] in (["run"], ["plan"]) and "--resume" not in words]
    return [list(words) for words in dict.fromkeys(map(tuple, ours)) if not words[1].endswith(".toml")]


@pytest.mark.parametrize("words", shipped_runs(), ids=" ".join)
def test_every_shipped_study_that_a_page_runs_can_be_planned_so(words: list[str]) -> None:
    """Overrides and targets too, which the parser takes as texts. Without a scale: the smallest, which is planned at once."""
    for name, value in SET_BEFORE.items():
        words = [word.replace(name, value) for word in words]
    given = COMMANDS[words[0]].make_context(words[0], words[1:]).params
    call = StudyCall(
        str(given["study"]),
        given["scale"] or "xs",
        tuple(given["overrides"] or ()),
        tuple(given["targets"] or ()),
        tuple(given["start"] or ()),
    )
    assert prepare(call).plan.runs


@pytest.mark.parametrize("path", TODAY)
def test_every_command_that_is_named_exists(path: str) -> None:
    targets = make_targets((ROOT / "Makefile").read_text())
    wrong = [f"{path}:{n}: inrush {word}" for n, word in PAGES[path].named("inrush") if word not in COMMANDS]
    wrong += [f"{path}:{n}: make {word}" for n, word in PAGES[path].named("make") if word not in targets]
    assert wrong == []


@pytest.mark.parametrize("path", sorted(PAGES.keys() - WIDE))
def test_no_line_of_text_is_too_long(path: str) -> None:
    assert PAGES[path].too_long() == []


def test_readme_begins_with_the_two_commands_that_ci_runs() -> None:
    named = [word for _, word in PAGES["README.md"].named("make")]
    first = next(line for line in PAGES["README.md"].lines() if line.code)
    run_by_ci = re.findall(
        r"^ *(?:\.ci/bare )?make ([a-z-]+)", (ROOT / ".ci" / "run").read_text(), re.MULTILINE
    )
    assert set(named) == {"run", "test"} and first.text.startswith("make run ")
    assert run_by_ci.index("run") < run_by_ci.index("test")
    assert run_by_ci[0] == "run", "nothing is built before it"


def test_readme_asks_for_the_versions_that_the_builds_ask_for() -> None:
    python = re.search(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    rust = re.search(r'rust-version = "([\d.]+)"', (ROOT / "Cargo.toml").read_text())
    assert python is not None and rust is not None
    text = PAGES["README.md"].text
    assert f"Python {python[1]} or newer" in text and f"Rust {rust[1]} or newer" in text


def test_the_pages_have_commands_and_links_at_all() -> None:
    """Else the tests above would hold of nothing."""
    assert len(list(PAGES["README.md"].typed("inrush"))) >= 6
    assert sum(1 for page in PAGES.values() for _ in page.links()) >= 40
    assert set(re.findall(r"\]\(([\w-]+\.md)\)", PAGES["docs/README.md"].text)) >= {
        path.removeprefix("docs/") for path in PAGES if path.count("/") == 1 and path != "docs/README.md"
    }


def test_a_broken_link_is_seen() -> None:
    there = Page("docs/there.md", "# There\n\n## Two words, `code`\n\n## Again\n\n## Again\n")
    text = """[a](there.md) [b](there.md#two-words-code) [c](there.md#again-1) [d](../Makefile) [e](#here) `[f](no.md)`
[g](https://example.org/no.md)

# Here

[h](gone.md) [i](there.md#three) [j](../gone/Makefile) [k](#nowhere) [l](../Makefile#a)
```
[m](gone.md)
```
[n
o](gone.md)
"""
    page = Page("docs/page.md", text)
    pages = {page.path: page, there.path: there}
    assert broken_links(page, pages, {"Makefile"}) == [
        "docs/page.md:6: gone.md: no such file",
        "docs/page.md:6: there.md#three: no such heading",
        "docs/page.md:6: ../gone/Makefile: no such file",
        "docs/page.md:6: #nowhere: no such heading",
        "docs/page.md:6: ../Makefile#a: no such file",
        "docs/page.md:10: gone.md: no such file",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("inrush run quickstart", ""),
        ("inrush run mine.toml -P batch_rows=[1,2]  # a comment", ""),
        ("inrush run batch --scale s \\\n    --start postgresql,shared_buffers=1GB", ""),
        ("inrush run --resume RESULTS", ""),
        ("inrush load 'a/*.csv' --table t --into COORDINATOR --replica", ""),
        ("inrush engines start clickhouse,shards=4 --data DIR", ""),
        ("inrush runn quickstart", "no such command: runn"),
        ("inrush run quickstart --scael s", "No such option"),
        ("inrush load data.csv --into sqlite:///a.db", "Missing option"),
        ("inrush doctor --seconds soon", "Invalid value"),
        ("inrush run quickstrat", "unknown study"),
        ("inrush run batch postgrseql://host/db", "no engine speaks postgrseql://"),
        ("inrush run batch --start mysqll,a=1", "no such engine"),
        ("inrush engines fetch oracle", "no such engine"),
    ],
)
def test_a_call_that_the_parser_refuses_is_seen(words: str, said: str) -> None:
    [(number, call)] = Page("a.md", f"text\n\n```\n{words}\n```\n").typed("inrush")
    found = refusal(call)
    assert number == 4 and (said in found if said else found == ""), found


def test_a_line_too_long_is_seen_in_text_alone() -> None:
    long = "x" * 121
    page = Page("a.md", f"{long}\n| {long} |\n```\n{long}\n```\n{'ä' * 120}\n  {long}\n")
    assert page.too_long() == ["a.md:1: 121 columns", "a.md:7: 123 columns"]


def test_a_command_in_a_sentence_is_found_by_its_first_word() -> None:
    page = Page("a.md", "Use `inrush load-server` or `make tset`, not inrush.\n```\ninrush plan x\n```\n")
    assert list(page.named("inrush")) == [(1, "load-server"), (3, "plan")]
    assert list(page.named("make")) == [(1, "tset")]


def test_the_page_about_studies_names_every_shipped_study() -> None:
    rows = re.findall(r"^\| `(\w+)`: .* \| (.*) \|$", PAGES["docs/studies.md"].text, re.MULTILINE)
    named = {f"{family}-{study}" for family, studies in rows for study in studies.split(", ")}
    assert named == {study.name for study in shipped_studies()}


def test_the_page_about_measuring_has_a_row_for_every_guard() -> None:
    section = PAGES["docs/measuring.md"].text.partition("\n## Guards\n")[2].partition("\n## ")[0]
    of_run, of_study = (
        re.findall(r"^\| ([^|]+?)(?: †)? \|", table, re.MULTILINE)
        for table in section.split("| guard, of a study |")
    )
    assert sorted(of_run[1:]) == sorted(guard.name for guard in run_guards())
    assert sorted(of_study) == sorted(guard.name for guard in study_guards())
