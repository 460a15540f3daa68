"""Commands that predict, prove and score."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from inrush.cli.words import AsJson, Data, Input, Live, LiveAddress
from inrush.errors import UsageError
from inrush.extras import need

To = Annotated[
    list[str] | None,
    typer.Option(
        "--to",
        metavar="[FACTOR=]N",
        help="Predict this load, such as 16 or rows=3_200_000; may be given again.",
    ),
]
Of = Annotated[
    str | None,
    typer.Option(
        metavar="FIGURE",
        help="Predict this figure of the results (default: the study's); of a file: rate, time or latency.",
    ),
]
Along = Annotated[
    str | None, typer.Option(metavar="FACTOR", help="Continue this factor; default: the study's.")
]
Far = Annotated[
    bool,
    typer.Option(
        "--far",
        help="Predict times of loads and reads even beyond 32 times the largest point; their intervals widen with the distance.",
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(metavar="FACTOR=VALUE", help="Predict only these groups; may be given again."),
]
Level = Annotated[
    float, typer.Option(metavar="SHARE", help="Make the intervals wide enough for this share of predictions.")
]


def predict(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE|RESULTS",
            help="A file of two columns (a load and its figure), or results. Default: the latest that are no proof.",
        ),
    ] = None,
    to: To = None,
    within: Annotated[
        list[float] | None,
        typer.Option(
            "--within",
            metavar="SECONDS",
            help="Instead of --to: find the highest rate with a latency below this.",
        ),
    ] = None,
    of: Of = None,
    along: Along = None,
    far: Far = False,
    where: Where = None,
    level: Level = 0.9,
    claim: Annotated[
        bool,
        typer.Option(
            "--claim",
            help="Keep each prediction from results as a claim, frozen with its hash: `inrush prove` runs and scores it.",
        ),
    ] = False,
    rows_per_s: Annotated[
        float | None,
        typer.Option(
            "--rows-per-s",
            metavar="N",
            help="Instead of --to: find batch, writers, cores and disk for this rate.",
        ),
    ] = None,
    p99_ms: Annotated[
        float | None,
        typer.Option("--p99-ms", metavar="MS", help="With --rows-per-s: hold a call's p99 to this limit."),
    ] = None,
    days: Annotated[
        float, typer.Option("--days", metavar="N", help="With --rows-per-s: keep rows for this many days.")
    ] = 1.0,
    needed: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="ROLE.ops_per_s=N",
            help="Instead of --to: find how many nodes and clients of a cluster give this rate.",
        ),
    ] = None,
    by: Annotated[
        str,
        typer.Option("--by", metavar="nodes,clients", help="With --for: count these; there are no others."),
    ] = "nodes,clients",
    threads: Annotated[
        str | None,
        typer.Option(
            "--threads",
            metavar="TYPE:N+…",
            help="With --for: give a node these threads, such as ldm:12+recv:8. Default: as measured.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Predict a load that was not measured. Without --claim nothing is kept of it."""
    need("inrush predict", "stats")
    from inrush.commands import predict as command

    if claim and (rows_per_s is not None or needed is not None):
        raise UsageError("--claim: is about one load, --to N; remove it")
    if rows_per_s is not None:
        command.predict_need(rows_per_s, p99_ms, days, [what] if what else [], as_json)
        return
    if needed is not None:
        command.predict_for(needed, by, what, threads, level, as_json)
        return
    at, continued = command.targets(to or (), along)
    wanted = command.PredictCall(what, at, of, continued, where or (), level, far)
    command.predict(wanted, within or (), as_json, claim)


def prove(
    predictions: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CLAIM|RESULTS",
            help="Claims: ids, beginnings of ids, `latest`, or `open` for all without a score. With --to: the results to make "
            "the claim from.",
        ),
    ] = None,
    results: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="RESULTS",
            help="Score by these results, which contain the run already. Default: run it.",
        ),
    ] = None,
    to: To = None,
    of: Of = None,
    along: Along = None,
    far: Far = False,
    where: Where = None,
    level: Level = 0.9,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL", help="Run on this target in place of the one that the claim was trained on."
        ),
    ] = None,
    data: Data = None,
    input_folder: Input = None,
    live: Live = False,
    live_address: LiveAddress = None,
    as_json: AsJson = False,
) -> None:
    """Run what a prediction is about, and score it."""
    need("inrush prove", "report")
    from inrush.commands import predict as predicting
    from inrush.commands import prove as command

    specs = predictions or ()
    wanted = None
    if to:
        if results is not None or len(specs) > 1:
            raise UsageError(
                "--to makes a claim of one study's results and runs it; leave out --with and name one study's results at most"
            )
        at, continued = predicting.targets(to, along)
        wanted = predicting.PredictCall(
            specs[0] if specs else None, at, of, continued, where or (), level, far
        )
    elif of or along or far or where:
        raise UsageError("--of, --along, --where and --far say what --to predicts; name a load, --to N")
    elif not specs:
        raise UsageError(
            "name a claim (`latest`, `open`), or results and a load: inrush prove RESULTS --to N"
        )
    command.prove(specs, results, target or (), data, input_folder, as_json, live, live_address, wanted)


def scoreboard(
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the page here; default: beside the claims.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show how good all scored predictions were."""
    need("inrush scoreboard", "stats" if as_json else "report")
    from inrush.commands import prove as command

    command.scoreboard(html, as_json)
