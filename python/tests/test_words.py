"""The field's terms: words that inrush used for itself come back neither as names nor in what people read.

The list is data. A name is that of a file, a module, a class, a function, a parameter, a variable, a column or a table;
what people read is `--help`, messages, the report's texts, the documentation, comments and docstrings.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import inrush
from inrush.cli import app
from inrush.results.schema import SCHEMAS

PACKAGE = Path(inrush.__file__).parent
ROOT = PACKAGE.parents[1]
#: The sources of all crates.
CORE = sorted((ROOT / "rust").glob("*/src/**/*.rs"))

#: Part of a name -> the term to use.
NAMES = {
    "shot": "repetition",
    "shots": "repetitions",
    "calm": "steal free",
    "stolen": "steal",
    "lane": "generator",
    "lanes": "generators",
    "maker": "generator",
    "makers": "generators",
    "fates": "outcomes",
    "book": "log",
    "books": "logs",
    "gate": "barrier",
    "meeting": "barrier",
    "meetings": "barriers",
    "site": "deployment",
    "sites": "deployments",
    "fence": "CPU quota",
    "fenced": "limited",
    "stranger": "foreign object, or unauthenticated connection",
    "strangers": "foreign objects, or unauthenticated connections",
    "aside": "quarantine",
    "wish": "options",
    "trouble": "error",
    "desk": "sender",
    "talk": "message",
    "told": "event, report, or what it is",
    "tell": "send",
    "attend": "observer",
    "attendant": "observer",
    "pulse": "progress",
    "halting": "shutdown",
    "screen": "checksum query",
    "screens": "checksum queries",
    "scatter": "route",
    "careful": "full parser",
    # A name of types alone: what is made has a name.
    "Made": "ready call, certificate: what it is",
}
#: Names in which such a word is another's: the plan's wire and studies (version 1), other fields, libraries.
ALLOWED = {
    "rust/load/src/content.rs": {"lane", "lanes"},  # of a hash
    "rust/rows/src/plan/generator.rs": {"scatter"},
    "rust/rows/src/rows/compile/mod.rs": {"scatter"},
    "rust/rows/src/rows/compile/series.rs": {"scatter"},
    "python/inrush/border/segment.py": {"screen"},
    "python/inrush/commands/browser.py": {"screens"},  # of a desktop
}
#: A point's label in plans of version 1, which stay as they are.
LABELS = {"own share: "}
#: Names of tests are sentences: longer ones are not looked at.
WORDS_MOST = 4

TELL = r"\b(tell|tells|told|telling)\b"
#: What people read -> what to write instead.
TEXTS = {
    r"\bshots?\b": "repetition",
    r"\bcalm\b": "steal-free",
    r"\bstolen\b": "steal",
    r"\bstrangers?\b": "foreign object, or unauthenticated connection",
    r"\baside/": "quarantine/",
    r"\bown share\b": "client overhead",
    r"\bways in\b": "insert methods",
    r"\bnobody\b(?!`)": "no process, no user: name it",
    r"\blikewise\b": "in the same way",
    r"\bmend(s|ed)?\b": "fix",
    r"\bhung up\b": "closed",
    r"\bcomes? before all else\b": "real-time priority",
    TELL: "show, report, send, distinguish: what it does",
    r"\b(some|every|any)body\b": "name it: a user, a server, a thread",
    r"\b[Ww]ho(ever|m)?\b": "name it: a user, a server, a thread",
}

#: What people read of the source -> what to write instead. Programs are no persons.
COMMENTS = {
    r"\b([Nn]o|[Ss]ome|[Ee]very|[Aa]ny)body\b(?!`)": "name it: a user, a server, a thread, a role",
    r"\b[Ww]ho(ever|m)?\b": "name it, or `that`",
    r"\b([Tt]ell|[Tt]ells|[Tt]old|[Tt]elling)\b": "show, report, send, distinguish: what it does",
    r"\b[Ll]ikewise\b": "in the same way",
    r"\b[Mm]end(s|ed)?\b": "fix",
    r"\bhung up\b": "closed",
}


def parts(name: str) -> list[str]:
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)]


def old_parts(name: str) -> set[str]:
    words = parts(name)
    return ({*words, name} & NAMES.keys()) if len(words) <= WORDS_MOST else set()


def python_names(text: str) -> Iterator[str]:
    """Names that a module gives; those of others, which it uses, are theirs."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def rust_names(text: str) -> Iterator[str]:
    """As `python_names`: of items, fields, parameters and variables. Names of tests are sentences."""
    code = re.sub(r'//[^\n]*|"(?:\\.|[^"\\])*"|#\[test\]\s*fn \w+', " ", text)
    yield from re.findall(r"\b(?:fn|struct|enum|trait|type|mod|const|static)\s+([A-Za-z_]\w*)", code)
    yield from re.findall(r"\blet\s+(?:mut\s+)?([a-z_]\w*)", code)
    yield from re.findall(r"\b([a-z_]\w*)\s*:\s*[&A-Z\[(]", code)
    yield from re.findall(r"\bfor\s+([a-z_]\w*)\s+in\b", code)


def old_names(path: str, names: Iterator[str]) -> list[str]:
    found = {(name, word) for name in names for word in old_parts(name) - ALLOWED.get(path, set())}
    return [f"{path}: `{name}`: {NAMES[word]}" for name, word in sorted(found)]


def texts_of(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of each string of a module that is a message: with a blank, and no docstring."""
    tree = ast.parse(text)
    documented = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        is_text = (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented
        )
        if is_text and " " in node.value:
            yield node.lineno, node.value


def old_words(where: str, text: str, words: dict[str, str] = TEXTS) -> list[str]:
    return [
        f"{where}: {found[0]!r}: {term}" for word, term in words.items() for found in re.finditer(word, text)
    ]


def comments_of(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of each comment and docstring of a Python module."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (
            said := ast.get_docstring(node)
        ):
            yield node.body[0].lineno, said


def rust_comments(text: str) -> Iterator[tuple[int, str]]:
    """As `comments_of`: of a Rust file. `//` inside a text (an address) is none."""
    for number, line in enumerate(text.splitlines(), 1):
        code = re.sub(r'"(?:\\.|[^"\\])*"', '""', line)
        if "//" in code:
            yield number, code[code.index("//") :]


#: A comment, a byte or a character, a text as it is written, a text: from left to right none begins inside another.
RUST_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?'(?:\\.|[^'\\])'|b?r(?P<hashes>\#*)"(?P<raw>.*?)"(?P=hashes)|b?"(?P<text>(?:\\.|[^"\\])*)\"""",
    re.DOTALL,
)


def rust_texts(text: str) -> Iterator[tuple[int, str]]:
    """As `texts_of`: of the shipped code of a Rust file, whose tests stand at its end."""
    code = re.split(r"^ *#\[cfg\(test\)\]\n *mod \w+ \{", text, maxsplit=1, flags=re.MULTILINE)[0]
    for token in RUST_TOKEN.finditer(code):
        message = token["text"] if token["raw"] is None else token["raw"]
        if message and " " in message:
            yield code.count("\n", 0, token.start()) + 1, message


def help_of(command: Any, name: str = "inrush") -> Iterator[tuple[str, str]]:
    yield name, command.help or ""
    for option in command.params:
        yield f"{name} {option.name}", getattr(option, "help", None) or ""
    for child, of in getattr(command, "commands", {}).items():
        yield from help_of(of, f"{name} {child}")


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def in_root(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_names_of_the_half_off_the_clock_are_the_fields_terms() -> None:
    renamed = PACKAGE / "results" / "renamed.py"
    names = ((in_root(p), python_names(p.read_text(encoding="utf-8"))) for p in modules() if p != renamed)
    assert [line for path, of in names for line in old_names(path, of)] == []


def test_names_of_the_half_on_the_clock_are_the_fields_terms() -> None:
    names = ((in_root(p), rust_names(p.read_text(encoding="utf-8"))) for p in CORE)
    assert [line for path, of in names for line in old_names(path, of)] == []


def test_files_are_named_by_the_fields_terms() -> None:
    paths = [in_root(p) for p in (*modules(), *CORE)]
    assert [line for p in paths for line in old_names(p, iter(p.removesuffix(".py").split("/")))] == []


def test_tables_and_columns_are_named_by_the_fields_terms() -> None:
    names = [name for table, schema in SCHEMAS.items() for name in (table, *schema.names)]
    assert len(names) > 50 and old_names("results", iter(names)) == []


def test_help_uses_the_fields_terms() -> None:
    texts = list(help_of(typer.main.get_command(app)))
    assert len(texts) > 100
    assert [line for where, text in texts for line in old_words(where, text)] == []


def test_messages_use_the_fields_terms() -> None:
    assert [
        line
        for path in modules()
        for number, text in texts_of(path.read_text(encoding="utf-8"))
        if text not in LABELS
        for line in old_words(f"{in_root(path)}:{number}", text)
    ] == []


def test_messages_of_the_half_on_the_clock_use_the_fields_terms() -> None:
    texts = [
        (f"{in_root(path)}:{number}", text)
        for path in CORE
        if path.name not in ("tests.rs", "fuzz.rs") and "fuzz" not in path.parts
        for number, text in rust_texts(path.read_text(encoding="utf-8"))
    ]
    assert len(texts) > 800
    assert [line for where, text in texts for line in old_words(where, text)] == []


def test_comments_of_both_halves_name_what_does_something() -> None:
    texts = [
        (f"{in_root(path)}:{number}", text)
        for paths, of in ((modules(), comments_of), (CORE, rust_comments))
        for path in paths
        for number, text in of(path.read_text(encoding="utf-8"))
    ]
    assert len(texts) > 5_000
    assert [line for where, text in texts for line in old_words(where, text, COMMENTS)] == []


def test_the_documentation_uses_the_fields_terms() -> None:
    pages = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
    pages = [p for p in pages if "decisions" not in p.parts]  # those stand as they were decided
    assert len(pages) > 20
    assert [
        line
        for page in pages
        for number, text in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
        if "was named" not in text
        for line in old_words(f"{in_root(page)}:{number}", text)
    ] == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("shots = 1", "shots"),
        ("def of_site(): ...", "of_site"),
        ("class TalkError: ...", "TalkError"),
        ("def f(told): ...", "told"),
        ("self.fence = 1", "fence"),
        ("for shot in rows: ...", "shot"),
    ],
)
def test_an_old_name_in_python_is_seen(text: str, name: str) -> None:
    (line,) = old_names("module.py", python_names(text))
    assert f"`{name}`" in line


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("fn scatter() {}", "scatter"),
        ("pub struct ShotRow {", "ShotRow"),
        ("let mut gate = 1;", "gate"),
        ("    site: Site,", "site"),
        ("pub trait Told: Send {}", "Told"),
        ("for lane in lanes {", "lane"),
        ("pub struct Made {", "Made"),
        ("#[test]\nfn a_shot_is_a_sentence() { let shot = 1; }", "shot"),
    ],
)
def test_an_old_name_in_rust_is_seen(text: str, name: str) -> None:
    assert any(f"`{name}`" in line for line in old_names("module.rs", rust_names(text)))


def test_an_old_word_in_a_message_is_seen_and_one_in_a_docstring_is_none() -> None:
    module = '"""Of a shot."""\ndef f():\n    """A stranger."""\n    return f"{1} is told apart", "shot"\n'
    ((number, text),) = texts_of(module)
    assert number == 4 and old_words("here", text) == [f"here: 'told': {TEXTS[TELL]}"]


def test_an_old_word_in_a_rust_message_is_seen_and_one_elsewhere_is_none() -> None:
    code = """let quote = '"'; // "nobody, who"
fail("use a user who may"); fail(b'"', r#"it "told" us"#);
let name = "who"; /// "Who asks?"
#[cfg(test)]
mod tests { fail("nobody is told"); }
"""
    assert list(rust_texts(code)) == [(2, "use a user who may"), (2, 'it "told" us')]
    assert len([line for _, text in rust_texts(code) for line in old_words("here", text)]) == 2


def test_an_old_word_in_a_comment_is_seen_and_one_in_code_or_a_text_is_none() -> None:
    module = '"""Of nobody."""\nwho = "told"  # likewise\n'
    assert [n for n, text in comments_of(module) if old_words("here", text, COMMENTS)] == [2, 1]
    code = 'let tell = "http://nobody"; // Who asks?\n/// Told.\nlet who = 1;\n'
    assert [n for n, text in rust_comments(code) if old_words("here", text, COMMENTS)] == [1, 2]


def test_a_sentence_as_the_name_of_a_test_is_not_looked_at() -> None:
    assert old_parts("stalls_are_told_once_and_no_more") == set() and old_parts("told_once") == {"told"}
