"""Commands that predict, prove and score."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from inrush.cli.words import AsJson, Data, Input, Live, LiveAddress
from inrush.extras import need


def predict(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE|RESULTS",
            help="A file of two columns (a load and its figure), or results; without it the latest that are no proof.",
        ),
    ] = None,
    to: Annotated[
        list[str] | None,
        typer.Option(
            "--to",
            metavar="[FACTOR=]N",
            help="Load to predict, such as 16 or rows=3_200_000; may be given again.",
        ),
    ] = None,
    within: Annotated[
        list[float] | None,
        typer.Option(
            "--within",
            metavar="S",
            help="Instead of --to: find the highest rate with a latency below S seconds.",
        ),
    ] = None,
    of: Annotated[
        str | None,
        typer.Option(help="Figure of the results (default: the study's); of a file: rate, time or latency."),
    ] = None,
    along: Annotated[str | None, typer.Option(help="Factor to continue; default: the study's.")] = None,
    far: Annotated[
        bool,
        typer.Option(
            "--far",
            help="Claim times of loads and reads beyond 32 times the largest point too; their intervals widen with the reach.",
        ),
    ] = False,
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="FACTOR=VALUE", help="Predict only these groups; may be given again."),
    ] = None,
    level: Annotated[
        float, typer.Option(help="Share of predictions for which the interval shall be right.")
    ] = 0.9,
    rows_per_s: Annotated[
        float | None,
        typer.Option("--rows-per-s", help="Instead of --to: batch, writers, cores and disk for this rate."),
    ] = None,
    p99_ms: Annotated[
        float | None, typer.Option("--p99-ms", help="With --rows-per-s: limit of a call's p99.")
    ] = None,
    days: Annotated[float, typer.Option("--days", help="With --rows-per-s: how long rows are kept.")] = 1.0,
    needed: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="ROLE.ops_per_s=N",
            help="Instead of --to: how many nodes and clients of a cluster give this rate.",
        ),
    ] = None,
    by: Annotated[str, typer.Option("--by", help="With --for: what is counted.")] = "nodes,clients",
    threads: Annotated[
        str | None,
        typer.Option(
            "--threads", help="With --for: threads of a node, such as ldm:12+recv:8; as measured without it."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Predict a load that was not measured; from results as a claim, frozen with its hash."""
    need("inrush predict", "stats")
    from inrush.commands import predict as command

    if rows_per_s is not None:
        command.predict_need(rows_per_s, p99_ms, days, [what] if what else [], as_json)
        return
    if needed is not None:
        command.predict_for(needed, by, what, threads, level, as_json)
        return
    at, continued = command.targets(to or (), along)
    command.predict(what, at, within or (), of, continued, where or (), level, as_json, far)


def prove(
    predictions: Annotated[
        list[str],
        typer.Argument(
            metavar="CLAIM",
            help="Claims: ids, beginnings of them, `latest`, or `open` for all without a score.",
        ),
    ],
    results: Annotated[
        str | None,
        typer.Option(
            "--with", metavar="RESULTS", help="Results that contain the run already; without them it is run."
        ),
    ] = None,
    target: Annotated[
        list[str] | None, typer.Option(metavar="URL", help="Target in place of that of the training.")
    ] = None,
    data: Data = None,
    input_folder: Input = None,
    live: Live = False,
    live_address: LiveAddress = None,
    as_json: AsJson = False,
) -> None:
    """Run what a prediction is about, and score it."""
    need("inrush prove", "report")
    from inrush.commands import prove as command

    command.prove(predictions, results, target or (), data, input_folder, as_json, live, live_address)


def scoreboard(
    html: Annotated[
        Path | None, typer.Option(help="Where to write the page; default: beside the claims.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show how good all scored predictions were."""
    need("inrush scoreboard", "stats" if as_json else "report")
    from inrush.commands import prove as command

    command.scoreboard(html, as_json)
