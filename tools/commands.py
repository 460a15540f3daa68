"""docs/commands.md, every command with its arguments and options: `.venv/bin/python tools/commands.py` writes it.

The words are those of `--help`, and a test compares the two.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import fill

import typer

from inrush.cli import app

ROOT = Path(__file__).parents[1]
#: Columns of a line of text.
WIDTH = 120
#: A line up to this long is repeated where a later command has the same option.
SHORT = 60
#: Wider than any usage, which the parser would break.
UNBROKEN = 1_000

INTRO = """# Commands: which arguments and options does each one take?

`.venv/bin/python tools/commands.py` writes this page from what each command's `--help` (or `-h`) says.
[Which page answers which question](README.md) has the exit codes.
"""


def page() -> str:
    """The whole page. Pure."""
    group = typer.main.get_command(app)
    commands = vars(group)["commands"]
    explained: dict[str, str] = {}
    return INTRO + "".join(section(name, command, explained) for name, command in commands.items())


def section(name: str, command: typer.core.TyperCommand, explained: dict[str, str]) -> str:
    """What one command does, its usage, and a line for each argument and option.

    explained: each long line so far -> the command that has it. A later command names what it shares, and its own are added.
    """
    context = typer.Context(
        command, info_name=f"inrush {name}", max_content_width=UNBROKEN, terminal_width=UNBROKEN
    )
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    records = [p.get_help_record(context) for p in command.get_params(context)]
    lines, shared = [], dict[str, list[str]]()
    for said, about in (record for record in records if record and not record[0].startswith("--help")):
        line = item(said, about)
        if len(line) > SHORT and line in explained:
            shared.setdefault(explained[line], []).append(f"`{typed(said)}`")
        else:
            explained.setdefault(line, name)
            lines.append(line)
    lines += [wrapped(f"* As of [{of}](#{of}): {', '.join(names)}.", "  ") for of, names in shared.items()]
    parts = [f"\n## {name}\n", paragraph(command.help or ""), f"\n`{usage}`\n", *lines]
    return "\n".join(parts).rstrip() + "\n"


def paragraph(text: str) -> str:
    return wrapped(" ".join(text.split()), "")


def item(said: str, about: str) -> str:
    return wrapped(f"* `{typed(said)}`: {' '.join(about.split())}", "  ")


def typed(said: str) -> str:
    """said: as `STUDY <str>` or `--to [FACTOR=]N`; the type of an argument is nothing that a reader types."""
    return said.partition(" <")[0]


def wrapped(text: str, indent: str) -> str:
    return fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    (ROOT / "docs" / "commands.md").write_text(page())
