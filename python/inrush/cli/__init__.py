"""The command line: parses arguments and calls `commands`. Results go to stdout, all else to stderr.

Exit codes: 0 valid · 1 workload errors · 2 usage or refusal · 3 result invalid · 99 a limit of [accept] crossed ·
130 interrupted and resumable. Commands import what they need, so that help and completion are quick.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, NoReturn, TextIO, cast

import typer

from inrush.cli import engines, load, passwords, predict, results, run, studies
from inrush.commands.printing import say
from inrush.errors import InrushError, from_core

#: In the order of `inrush --help`, with what it says of each in a terminal of 80 columns.
COMMANDS: Mapping[str, tuple[Callable[..., None], str]] = {
    "run": (run.run, "Run a study and show the answer with its verdict"),
    "plan": (run.plan, "Show what would run, how long, and what it would create"),
    "report": (results.report, "Write the report again; figures for papers"),
    "show": (results.show_results, "Show results in short; export them for other tools"),
    "compare": (results.compare, "Compare two results of one study, as ratios with intervals"),
    "runs": (results.runs, "List the results of all studies"),
    "load": (load.load, "Load files: every row stored once, or rejected"),
    "loads": (load.loads, "List what was loaded into a database, and from which files"),
    "load-server": (load.load_server, "Serve `inrush load --server` and store its rows"),
    "predict": (predict.predict, "Predict a load that was not measured"),
    "prove": (predict.prove, "Run what a prediction is about, and score it"),
    "scoreboard": (predict.scoreboard, "Show how good all scored predictions were"),
    "studies": (studies.studies, "List the studies that come with inrush"),
    "config": (studies.config, "Print a study's file, as a start for your own"),
    "new": (studies.new, "Write a study of your own data, from a file of it"),
    "engines": (engines.engines, "Fetch, start and stop servers, without root"),
    "doctor": (engines.doctor, "Measure what inrush costs here, and how quiet the machine is"),
    "version": (engines.version, "Show the versions of the Python and the Rust half"),
}

app = typer.Typer(
    name="inrush",
    help="How much data a database can take in and give back: measured, with its proof.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def print_version(wanted: bool) -> None:
    if wanted:
        engines.version()
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=print_version,
            is_eager=True,
            help="Show the versions of the Python and the Rust half.",
        ),
    ] = False,
) -> None:
    """Options that stand before any command."""


for name, (command, in_short) in COMMANDS.items():
    app.command(name, short_help=in_short)(command)


#: What a file or folder that cannot be written raises; any other error of the system is a fault of ours.
NOT_WRITABLE = (
    errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST,
    errno.ENAMETOOLONG,
)  # fmt: skip


def gone() -> NoReturn:
    """The reader of our output has gone (`| head`); nothing is left to say to it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


class WithoutPandas:
    """A finder that finds pandas nowhere. inrush uses none, and pyarrow loads it with the first array that it makes: a
    third of a second of every command that reads results, where pandas is installed for another program."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("inrush works without pandas", name=name)


#: Commands that ask servers in their own process.
ASKING_SERVERS = (["run"], ["prove"], ["load"])


def main() -> None:
    """Entry point: every error of ours is one message and its exit code, never a traceback."""
    # Whatever the user's umask says: what is written here, every user could change.
    os.umask(os.umask(0) | stat.S_IWOTH)
    sys.meta_path.insert(0, WithoutPandas)  # before any command imports pyarrow
    if hidden := passwords.masks([*sys.argv[1:], os.environ.get("INRUSH_RESULTS", "")]):
        sys.stdout = cast(TextIO, passwords.Masked(sys.stdout, hidden))
        sys.stderr = cast(TextIO, passwords.Masked(sys.stderr, hidden))
    if sys.argv[1:2] in ASKING_SERVERS and not {"-h", "--help"} & set(sys.argv):
        from inrush.engines.servers.client_libraries import load_before_others
        from inrush.machine import host

        load_before_others()
        if older := host.older_core():
            say(f"inrush: {older}")
    try:
        app()
    except InrushError as e:
        say(f"inrush: {e}")
        sys.exit(e.exit_code)
    except OSError as e:
        if isinstance(e, BrokenPipeError):
            gone()
        if e.errno not in NOT_WRITABLE:
            raise
        say(
            f"inrush: {e.filename or 'a file'}: {e.strerror}; give rights or make room, or name another folder "
            "(results: INRUSH_RESULTS=DIR)"
        )
        sys.exit(2)
    except Exception as e:
        # The core's own class is known only once the core is loaded, and loading it for `--help` is too slow.
        core = sys.modules.get("inrush._core")
        if core is None or not isinstance(e, core.CoreFailure):
            from inrush.machine import host

            if older := host.older_core():
                say(f"inrush: {type(e).__name__}: {e}; {older}")
                sys.exit(2)
            raise
        failure = from_core(*e.args)
        say(f"inrush: {failure}")
        sys.exit(failure.exit_code)
