"""Commands that show results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inrush.cli.words import AsJson, Open, Which
from inrush.commands.browser import open_page
from inrush.commands.printing import opened_store, say, show, show_json
from inrush.errors import UsageError
from inrush.extras import need

if TYPE_CHECKING:
    from inrush.results.store import Results

#: No processor has such a clock: a larger number is one of MHz.
MOST_GHZ = 20.0


def report(
    which: Which = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the page here; default: beside the results.")
    ] = None,
    pdf: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the figures to this folder, as PDF, SVG and PNG."),
    ] = None,
    in_browser: Open = False,
) -> None:
    """Write the report again from the sealed files, and figures for papers."""
    need("inrush report", "report")
    from inrush.report.report import write_figures, write_report
    from inrush.report.run_list import keep_verdict
    from inrush.results.store import StudyFolder

    results = opened_store().find(which)
    path = html or results.report_path
    analysis = write_report(results, path)
    if html is None and results.only is None:
        keep_verdict(StudyFolder(results.path), analysis)
    show([str(path)])
    if in_browser:
        open_page(path)
    if pdf is not None:
        drawn = write_figures(results, pdf, ("pdf", "svg", "png"))
        show([str(written) for written in drawn])
        if not drawn:
            say(f"{results.path.name}: no figure to draw: no run that counts has measured anything")
            raise typer.Exit(1)


def show_results(
    which: Which = None,
    as_json: AsJson = False,
    csv: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write every table of every run to this folder, as CSV."),
    ] = None,
    hdr: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write latencies to this file, as an HdrHistogram interval log."),
    ] = None,
    bmf: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write figures to this file, in Bencher Metric Format."),
    ] = None,
    claims: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write published claims to this file as CSV, each confirmed, contradicted or not testable here.",
        ),
    ] = None,
    as_markdown: Annotated[
        bool,
        typer.Option("--markdown", help="Print only the answer and the table of engines, as Markdown."),
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Check that every file is unchanged since it was sealed.")
    ] = False,
) -> None:
    """Show results in short; export them for other tools."""
    need("inrush show", "stats")
    from inrush.analysis.claims import judged_claims
    from inrush.guards.analyse import analyse
    from inrush.report.export import write_bmf, write_claims, write_csv, write_hdr
    from inrush.report.summary import markdown_lines, summary, summary_lines
    from inrush.stats.measures import study_record

    results = opened_store().find(which)
    if check:
        if damage := [d for r in results.runs for d in r.damage()]:
            raise UsageError("\n".join(damage))
        files = sum(len(r.doc.get("tables", {})) for r in results.runs)
        say(f"{files:,} files of {len(results.runs):,} runs are unchanged since they were sealed")
    analysis = analyse(study_record(results))
    if as_json:
        show_json(summary(analysis))
    elif as_markdown:
        show(markdown_lines(analysis))
    else:
        show([*summary_lines(results, analysis), report_line(results)])
    for path, write in ((csv, write_csv), (hdr, write_hdr)):
        if path is not None:
            say(f"written: {write(results, path)}")
    if bmf is not None:
        say(f"written: {write_bmf(analysis, bmf)}")
    if claims is not None:
        none = (
            ""
            if judged_claims(analysis)
            else ": the header alone, for no published claim of this study has a rule"
        )
        say(f"written: {write_claims(analysis, claims)}{none}")


def report_line(results: Results) -> str:
    """Where the page is; of results without one the command that writes it."""
    path = results.report_path.resolve()
    return (
        f"report: {path}"
        if path.is_file()
        else f"report: none yet; `inrush report {results.path.name}` writes it"
    )


def compare(
    a: Annotated[
        str,
        typer.Argument(metavar="RESULTS", help="Path, id, beginning of an id, or study: see `inrush runs`."),
    ],
    b: Annotated[
        str, typer.Argument(metavar="RESULTS", help="The results to compare with, named in the same way.")
    ],
    ghz: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Show figures per core and GHz, with these clocks of both processors, where you have fixed them.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare two results of one study point by point, as ratios with intervals; of two hosts also per core and GHz."""
    need("inrush compare", "stats")
    from inrush.guards.analyse import analyse
    from inrush.report.comparison import compare_document, compare_lines
    from inrush.stats.measures import study_record

    clocks = clocks_of(ghz) if ghz is not None else None
    store = opened_store()
    first, second = (store.find(x) for x in (a, b))
    if (first.path.resolve(), first.only) == (second.path.resolve(), second.only):
        nothing = f"{a} and {b} are the same results ({first.path.name}): nothing to compare; name two, see `inrush runs`"
        if as_json:
            raise UsageError(nothing)
        show([nothing])
        return
    x, y = (analyse(study_record(found)) for found in (first, second))
    if as_json:
        show_json(compare_document(x, y, clocks))
    else:
        show(compare_lines(x, y, clocks))


def clocks_of(text: str) -> tuple[float, float]:
    """`2.6,3.1`: GHz of both results. Raises UsageError."""
    try:
        x, y = (float(part) for part in text.split(","))
    except ValueError:
        x = y = 0.0
    if not (0 < x < MOST_GHZ and 0 < y < MOST_GHZ):
        raise UsageError(f"--ghz {text}: two numbers of GHz, one for each of the results, as `--ghz 2.6,3.1`")
    return x, y


def runs(
    delete: Annotated[
        str | None,
        typer.Option("--delete", metavar="ID", help="Delete these results, after asking."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="With --delete: do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the results of all studies: id, status, verdict, targets, title."""
    from inrush.commands import runs as command

    if delete is None:
        command.runs(as_json)
    else:
        command.delete(delete, yes)
