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
#: Wider than any usage, which the parser would break.
UNBROKEN = 1_000

INTRO = """# Commands: which arguments and options does each one take?

`.venv/bin/python tools/commands.py` writes this page from what each command's `--help` (or `-h`) says.
[Which page answers which question](README.md) has an example of each, and the exit codes.
"""


def page() -> str:
    """The whole page. Pure."""
    group = typer.main.get_command(app)
    commands = vars(group)["commands"]
    return INTRO + "".join(section(name, command) for name, command in commands.items())


def section(name: str, command: typer.core.TyperCommand) -> str:
    """What one command does, its usage, and a line for each argument and option."""
    context = typer.Context(
        command, info_name=f"inrush {name}", max_content_width=UNBROKEN, terminal_width=UNBROKEN
    )
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    records = [p.get_help_record(context) for p in command.get_params(context)]
    lines = [item(*record) for record in records if record and not record[0].startswith("--help")]
    parts = [f"\n## {name}\n", paragraph(command.help or ""), f"\n`{usage}`\n", *lines]
    return "\n".join(parts).rstrip() + "\n"


def paragraph(text: str) -> str:
    return wrapped(" ".join(text.split()), "")


def item(said: str, about: str) -> str:
    """said: as `STUDY <str>` or `--to [FACTOR=]N`; the type of an argument is nothing that a reader types."""
    return wrapped(f"* `{said.partition(' <')[0]}`: {' '.join(about.split())}", "  ")


def wrapped(text: str, indent: str) -> str:
    return fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    (ROOT / "docs" / "commands.md").write_text(page())
