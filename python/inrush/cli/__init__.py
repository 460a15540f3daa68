"""The command line: parses words and calls `commands`. Results on stdout, talk on stderr.

Exit codes: 0 valid · 1 workload errors · 2 usage or refusal · 3 result invalid · 99 a limit of [accept] crossed ·
130 interrupted and resumable. Commands import what they need, so that help and completion are quick.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping

import typer

from inrush.cli import engines, load, predict, results, run, studies
from inrush.commands.printing import say
from inrush.errors import InrushError, from_core

#: In the order of `inrush --help`.
COMMANDS: Mapping[str, Callable[..., None]] = {
    "run": run.run,
    "plan": run.plan,
    "report": results.report,
    "show": results.show_results,
    "compare": results.compare,
    "runs": results.runs,
    "load": load.load,
    "load-server": load.load_server,
    "predict": predict.predict,
    "prove": predict.prove,
    "scoreboard": predict.scoreboard,
    "studies": studies.studies,
    "config": studies.config,
    "new": studies.new,
    "engines": engines.engines,
    "doctor": engines.doctor,
    "version": engines.version,
}

app = typer.Typer(
    name="inrush",
    help="How much data a database can take in and give back: measured, with its proof.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for name, command in COMMANDS.items():
    app.command(name)(command)


def main() -> None:
    """Entry point: every error of ours is one message and its exit code, never a traceback."""
    try:
        app()
    except InrushError as e:
        say(f"inrush: {e}")
        sys.exit(e.exit_code)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`); nothing is left to say to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as e:
        # The core's own class is known only once the core is loaded, and loading it for `--help` is too slow.
        core = sys.modules.get("inrush._core")
        if core is None or not isinstance(e, core.CoreFailure):
            raise
        failure = from_core(*e.args)
        say(f"inrush: {failure}")
        sys.exit(failure.exit_code)
