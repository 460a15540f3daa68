"""Commands about engines, the machine and inrush itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from inrush.cli.words import AsJson, Data
from inrush.commands.printing import opened_store, say, show, show_json
from inrush.errors import UsageError


def engines(
    action: Annotated[
        str, typer.Argument(metavar="ACTION", help="list, fetch, start, stop or status.")
    ] = "list",
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ENGINE",
            help="Engines, or all. With start also ENGINE,SETTING=VALUE…, and profile=default or tuned.",
        ),
    ] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """List engines; fetch, start and stop their servers, without root."""
    from inrush.targets.instances import ACTIONS, EVERYWHERE, everywhere

    if action not in ACTIONS:
        raise UsageError(f"{action}: no such action; it is one of {', '.join(ACTIONS)}")
    usual = opened_store().instances_path
    if data is None and action in EVERYWHERE:
        found = EVERYWHERE[action](names or [], everywhere(usual), say)
    else:
        found = ACTIONS[action](names or [], data or usual, say)
    if as_json:
        show_json(found.rows)
    else:
        show(found.lines)


def doctor(
    seconds: Annotated[
        float, typer.Option(min=0.05, max=60, metavar="SECONDS", help="Measure each thing for this long.")
    ] = 1.0,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="Probe the disk of this folder.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure what inrush costs here, what the disk can do, and how quiet the machine is."""
    from inrush.run import doctor as instrument
    from inrush.run.prepare import generators
    from inrush.text import columns

    generators()  # says in one line what to do when the core is not built
    from inrush import _core

    say(f"measuring for about {7 * seconds:.0f} s")
    figures = instrument.examine(_core.calibrate, _core.build_profile(), data or opened_store().root, seconds)
    advice = instrument.findings(figures)
    if as_json:
        show_json({**{f.key: f.value for f in figures}, "findings": advice})
        return
    show(columns([(f.key, shown_figure(f.value), f.unit, f.about) for f in figures], right=(1,)))
    show([f"! {sentence}" for sentence in advice] or ["this machine is ready to measure"])


def version() -> None:
    """Show the versions of the Python and the Rust half."""
    from inrush.machine import host

    older = f"; {said}" if (said := host.older_core()) else ""
    show(
        [
            f"inrush {host.inrush_version() or 'from a checkout'}, core {host.core_fact('version') or 'not built'}{older}"
        ]
    )


def shown_figure(value: float | str) -> str:
    if isinstance(value, str):
        return value
    from inrush.stats.quantity import digits

    return digits(value)
