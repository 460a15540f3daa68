"""The command line: parses words and calls `commands`, which alone print. Results on stdout, talk on stderr.

Exit codes: 0 valid · 1 workload errors · 2 usage or refusal · 3 result invalid · 99 a limit of [accept] crossed ·
130 interrupted and resumable. Commands import what they need, so that help and completion are quick.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from inrush.commands.printing import opened_store, say, show, show_json
from inrush.errors import InrushError, UsageError, from_core

app = typer.Typer(
    name="inrush",
    help="How much data a database can take in and give back: measured, with its proof.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Study = Annotated[str, typer.Argument(help="Name of a study (see `inrush studies`) or path of a study file.")]
Targets = Annotated[
    list[str] | None,
    typer.Argument(
        help="URLs (postgresql://user@host/db) or names of embedded engines; without any, the study's embedded ones."
    ),
]
Scale = Annotated[
    str | None, typer.Option(help="Preset of the study: xs (seconds), s (minutes), full (as published).")
]
Start = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ENGINE[,SETTING=VALUE…]",
        help="Start this engine here for the length of the study; profile=default or tuned, and any setting of its own.",
    ),
]
Overrides = Annotated[
    list[str] | None, typer.Option("-P", metavar="KEY=VALUE", help="Change one value of the study.")
]
Seed = Annotated[int | None, typer.Option(help="In place of the study's own: decides rows and order.")]
AsJson = Annotated[bool, typer.Option("--json", help="Machine-readable, on stdout.")]
Which = Annotated[
    str | None, typer.Argument(help="Results: path, id, beginning of an id or study; without it the latest.")
]


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


# Running.


@app.command()
def run(
    study: Annotated[
        str | None, typer.Argument(help="Name or path of a study; with --resume: id of its results.")
    ] = None,
    targets: Targets = None,
    scale: Scale = None,
    start: Start = None,
    overrides: Overrides = None,
    seed: Seed = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a study that was interrupted or failed.")
    ] = False,
    data: Annotated[Path | None, typer.Option(help="Folder for the data of started servers.")] = None,
    unequal_durability: Annotated[
        bool,
        typer.Option(
            "--unequal-durability",
            help="Compare engines whose rows survive different things; the report says so.",
        ),
    ] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Rewrite the report while the study runs; the page renews itself.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Work on a database file with other tables; drop a schema in the way."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a study; ends in the answer, the verdict and the next command."""
    from inrush.commands.running import begin, execute, finish
    from inrush.run.prepare import Call, call_of, prepare, unfinished
    from inrush.run.site import split_password

    store = opened_store()
    if resume:
        folder = unfinished(store, study)
        prepared = prepare(call_of(folder), targets or None)
    else:
        if study is None:
            raise UsageError("say which study to run; `inrush studies` lists them")
        shown = tuple(split_password(t)[0] if "://" in t else t for t in targets or ())
        call = Call(study, scale, tuple(overrides or ()), shown, tuple(start or ()), seed, unequal_durability)
        prepared, folder = begin(store, call, targets)
    outcome = execute(prepared, folder, data or store.instances_path, force, live)
    finish(store, outcome, as_json)


@app.command()
def plan(
    study: Study,
    targets: Targets = None,
    scale: Scale = None,
    start: Start = None,
    overrides: Overrides = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """What would run, for how long, and what would be created where; changes nothing."""
    from inrush.run.prepare import Call, prepare
    from inrush.run.site import split_password

    shown = tuple(split_password(t)[0] if "://" in t else t for t in targets or ())
    prepared = prepare(Call(study, scale, tuple(overrides or ()), shown, tuple(start or ()), seed), targets)
    for reason in prepared.places.left_out.values():
        say(f"left out: {reason}")
    if as_json:
        show_json({**prepared.document(), "runs": [dict(r.plan) for r in prepared.plan.all_runs]})
    else:
        from inrush.report.summary import plan_lines

        show(plan_lines(prepared.plan))


# Looking at results.


@app.command()
def report(
    which: Which = None,
    html: Annotated[
        Path | None, typer.Option(help="Where to write the page; else beside the results.")
    ] = None,
    pdf: Annotated[Path | None, typer.Option(help="Folder for the figures as PDF, SVG and PNG.")] = None,
) -> None:
    """Write the report again from the sealed files, and figures for papers."""
    from inrush.report.report import write_figures, write_report

    results = opened_store().find(which)
    path = html or results.report_path
    write_report(results, path)
    show([str(path)])
    if pdf is not None:
        for written in write_figures(results, pdf, ("pdf", "svg", "png")):
            show([str(written)])


@app.command("show")
def show_results(
    which: Which = None,
    as_json: AsJson = False,
    csv: Annotated[Path | None, typer.Option(help="Folder: every table of every run as CSV.")] = None,
    hdr: Annotated[Path | None, typer.Option(help="File: latencies as an HdrHistogram interval log.")] = None,
    bmf: Annotated[Path | None, typer.Option(help="File: figures in Bencher Metric Format.")] = None,
    claims: Annotated[
        Path | None,
        typer.Option(
            help="File: published claims, each confirmed, contradicted or not testable here, as CSV."
        ),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Compare every file with what was sealed.")] = False,
) -> None:
    """Results in short; exports for other tools."""
    from inrush.report.summary import summary, summary_lines
    from inrush.results.export import write_bmf, write_claims, write_csv, write_hdr
    from inrush.stats.measures import study_record
    from inrush.stats.points import analyse

    results = opened_store().find(which)
    if check and (damage := [d for r in results.runs for d in r.damage()]):
        raise UsageError("\n".join(damage))
    analysis = analyse(study_record(results))
    if as_json:
        show_json(summary(analysis))
    else:
        show(summary_lines(results, analysis))
    for path, write in ((csv, write_csv), (hdr, write_hdr)):
        if path is not None:
            say(f"written: {write(results, path)}")
    if bmf is not None:
        say(f"written: {write_bmf(analysis, bmf)}")
    if claims is not None:
        say(f"written: {write_claims(analysis, claims)}")


@app.command()
def compare(
    a: Annotated[str, typer.Argument(help="Results.")], b: Annotated[str, typer.Argument(help="Results.")]
) -> None:
    """Two results of one study, point by point, as ratios with intervals."""
    from inrush.report.summary import compare_lines
    from inrush.stats.measures import study_record
    from inrush.stats.points import analyse

    store = opened_store()
    show(compare_lines(*(analyse(study_record(store.find(x))) for x in (a, b))))


@app.command()
def runs(as_json: AsJson = False) -> None:
    """What has been run: id, status, title."""
    from inrush.report.summary import study_rows
    from inrush.text import columns

    rows = study_rows(opened_store())
    if as_json:
        show_json([dict(zip(("id", "status", "runs", "title"), row, strict=True)) for row in rows])
    else:
        show(columns(rows, ("id", "status", "runs", "title"), right=(2,)))


# Predictions.


@app.command()
def load(
    files: Annotated[
        list[str],
        typer.Argument(help="CSV, TSV, MySQL text or Parquet, compressed or not; patterns; - for stdin."),
    ],
    table: Annotated[str, typer.Option(help="Table, or schema.table.")],
    into: Annotated[
        str | None, typer.Option(metavar="URL", help="Server or database file to load into.")
    ] = None,
    shard: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="A shard, in the order of its partitions; once for each."),
    ] = None,
    key: Annotated[
        str, typer.Option(metavar="COLUMN,…", help="Distribution key, as in PARTITION BY HASH.")
    ] = "",
    create: Annotated[bool, typer.Option("--create", help="Make the table from the files' columns.")] = False,
    replica: Annotated[
        bool, typer.Option("--replica", help="Store each row also on the shard after its own.")
    ] = False,
    method: Annotated[str, typer.Option(help="Way in; default: the engine's fastest.")] = "",
    parallel: Annotated[int, typer.Option(min=1, help="Files read at once.")] = 1,
    connections: Annotated[int, typer.Option(min=1, help="Writers to each shard.")] = 1,
    chunk_rows: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Rows that are stored whole or not at all.")
    ] = 20_000,
    flush_rows: Annotated[int, typer.Option(min=1, help="Rows of one transaction, about.")] = 100_000,
    reject_limit: Annotated[
        int, typer.Option(min=0, help="More rejected rows than this end the load.")
    ] = 1_000,
    patience: Annotated[
        float, typer.Option(min=0, help="Seconds a shard may be away before the load ends.")
    ] = 60.0,
    process_per_file: Annotated[
        bool, typer.Option("--process-per-file", help="A client process for each file, one after the other.")
    ] = False,
    import_id: Annotated[
        str | None, typer.Option(help="Name of this import; default: from files, target and table.")
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="An `inrush load-server`, which knows where the rows go."),
    ] = None,
    token_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="With --server: the token that it was started with.")
    ] = None,
    ca: Annotated[
        str | None, typer.Option(metavar="FILE", help="With --server: certificates (PEM) that are trusted.")
    ] = None,
    fingerprint: Annotated[
        str | None, typer.Option(metavar="SHA256", help="With --server: its certificate's fingerprint.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Load files into one server or many shards: every row stored once, or rejected with line and reason."""
    from inrush.commands.load import load as command
    from inrush.load.call import Call

    keys = tuple(k.strip() for k in key.split(",") if k.strip())
    call = Call(
        tuple(files), table, into, tuple(shard or ()), keys, method, create, parallel, connections, chunk_rows,
        flush_rows, reject_limit, patience, process_per_file, import_id=import_id, replica=replica,
        server=server, token_file=token_file, ca=ca, fingerprint=fingerprint,
    )  # fmt: skip
    raise typer.Exit(command(call, as_json))


@app.command("load-server")
def load_server(
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Port 0: a free one.")] = "127.0.0.1:0",
    into: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Server or database file to load into; with --shard: coordinator."),
    ] = None,
    shard: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="A shard, in the order of its partitions; once for each."),
    ] = None,
    token_file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="What clients must know; made where only this host gets in."),
    ] = None,
    certificate: Annotated[
        str | None, typer.Option(metavar="FILE", help="TLS: certificate and those that signed it, PEM.")
    ] = None,
    certificate_key: Annotated[
        str | None, typer.Option(metavar="FILE", help="TLS: its private key, PEM.")
    ] = None,
    self_signed: Annotated[
        bool, typer.Option("--self-signed", help="TLS: make a certificate, known by its fingerprint.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Wait for `inrush load --server` on this or other hosts, and store what it sends."""
    from inrush.commands.load_server import load_server as command
    from inrush.load.serve import Serving

    call = Serving(listen, into, tuple(shard or ()), token_file, certificate, certificate_key, self_signed)
    raise typer.Exit(command(call, as_json))


@app.command()
def predict(
    what: Annotated[
        str | None,
        typer.Argument(
            help="A file of two columns (a load and its figure), or results; without it the latest."
        ),
    ] = None,
    to: Annotated[
        list[float] | None, typer.Option("--to", metavar="N", help="Load to predict; may be given again.")
    ] = None,
    within: Annotated[
        list[float] | None,
        typer.Option(
            "--within", metavar="S", help="Instead of --to: the highest rate whose latency stays below."
        ),
    ] = None,
    of: Annotated[
        str | None,
        typer.Option(help="Figure of the results (default: the study's); of a file: rate, time or latency."),
    ] = None,
    along: Annotated[str | None, typer.Option(help="Factor to continue; default: the study's.")] = None,
    where: Annotated[
        list[str] | None, typer.Option(metavar="FACTOR=VALUE", help="Only these groups; may be given again.")
    ] = None,
    level: Annotated[float, typer.Option(help="Share of predictions that the interval shall hold.")] = 0.9,
    rows_per_s: Annotated[
        float | None,
        typer.Option("--rows-per-s", help="Instead: batch, writers, cores and disk for this rate."),
    ] = None,
    p99_ms: Annotated[
        float | None, typer.Option("--p99-ms", help="With --rows-per-s: limit of a call.")
    ] = None,
    days: Annotated[float, typer.Option("--days", help="With --rows-per-s: how long rows are kept.")] = 1.0,
    published: Annotated[
        bool,
        typer.Option("--published", help="How well published curves are predicted: docs/predictions.md."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """What a load that was not tried will give; from results, a claim frozen with its hash."""
    from inrush.commands import predict as command

    if published:
        command.predict_published()
        return
    if rows_per_s is not None:
        command.predict_need(rows_per_s, p99_ms, days, [what] if what else [], as_json)
        return
    command.predict(what, to or (), within or (), of, along, where or (), level, as_json)


@app.command()
def prove(
    predictions: Annotated[
        list[str],
        typer.Argument(help="Claims: ids, beginnings of them, `latest`, or `open` for all without a score."),
    ],
    results: Annotated[
        str | None, typer.Option("--with", help="Results that hold the run already; without them it is made.")
    ] = None,
    target: Annotated[list[str] | None, typer.Option(help="URL in place of the one of the training.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder for the data of started servers.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run what a prediction is about, and score it."""
    from inrush.commands import prove as command

    command.prove(predictions, results, target or (), data, as_json)


@app.command()
def scoreboard(
    html: Annotated[
        Path | None, typer.Option(help="Where to write the page; else beside the claims.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """How good all predictions were that were ever scored."""
    from inrush.commands import prove as command

    command.scoreboard(html, as_json)


# Studies.


@app.command()
def studies(as_json: AsJson = False) -> None:
    """The studies that come with inrush, one line each."""
    from inrush.studies import shipped_studies
    from inrush.study.toml import read_toml
    from inrush.text import columns

    rows = [(s.name, str(read_toml(s.path).get("title", ""))) for s in shipped_studies()]
    if as_json:
        show_json([{"name": name, "title": title} for name, title in rows])
    else:
        show(columns(rows, ("study", "title")))


@app.command()
def config(
    study: Study,
    workload: Annotated[bool, typer.Option("--workload", help="The workload file instead.")] = False,
) -> None:
    """Print a study's file, comments and all, to start one's own from."""
    from inrush.studies import find_study, workload_path
    from inrush.study.toml import read_toml

    path = find_study(study).path
    used = workload_path(str(read_toml(path).get("workload", "")), path)
    say(f"# {used if workload else path}")
    show((used if workload else path).read_text().splitlines())


@app.command()
def new(
    name: Annotated[
        str, typer.Argument(help="Name of the new study; files NAME.toml and NAME-workload.toml appear here.")
    ],
    source: Annotated[
        Path, typer.Option("--from", help="CSV, TSV, MySQL text or Parquet with rows of the user's own.")
    ],
    folder: Annotated[Path, typer.Option(help="Where to write the files.")] = Path(),
) -> None:
    """A study of the user's own data: infers the table from a file, writes workload and study."""
    from inrush.study.new import write_new

    written = write_new(name, [source], folder)
    for path in written:
        show([str(path)])
    say(f"look at the types in {written[0]}, then: inrush run {written[-1]}")


# Engines and the machine.


@app.command()
def engines(
    action: Annotated[str, typer.Argument(help="list, fetch, start, stop or status.")] = "list",
    names: Annotated[list[str] | None, typer.Argument(help="Engines.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder for the data of started servers.")] = None,
    as_json: AsJson = False,
) -> None:
    """Engines: what there is; servers fetched, started and stopped without root."""
    from inrush.run.instances import ACTIONS

    if action not in ACTIONS:
        raise UsageError(f"{action}: no such action; it is one of {', '.join(ACTIONS)}")
    found = ACTIONS[action](names or [], data or opened_store().instances_path, say)
    if as_json:
        show_json(found.rows)
    else:
        show(found.lines)


@app.command()
def doctor(
    seconds: Annotated[float, typer.Option(min=0.05, max=60, help="Length of each measurement.")] = 1.0,
    data: Annotated[Path | None, typer.Option(help="Folder whose disk is probed.")] = None,
    as_json: AsJson = False,
) -> None:
    """What the instrument costs here, what the disk can do, and how quiet the machine is."""
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
    show([f"! {sentence}" for sentence in advice] or ["nothing stands in the way of measuring here"])


@app.command()
def version() -> None:
    """Versions of both halves."""
    from inrush.run import host

    show(
        [
            f"inrush {host.inrush_version() or 'from a checkout'}, core {host.core_fact('version') or 'not built'}"
        ]
    )


# Printing.


def shown_figure(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    main()
