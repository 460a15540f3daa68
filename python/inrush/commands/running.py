"""A prepared study on its engines, and what is said at its end: `inrush run` and `inrush prove`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from inrush.commands.browser import open_page
from inrush.commands.printing import harmless, say, show, show_json, took
from inrush.errors import UsageError, refuse
from inrush.extras import need
from inrush.fleet.address import WAIT_S
from inrush.fleet.waiting import WaitingTime
from inrush.times import Times

if TYPE_CHECKING:
    from rich.console import Console

    from inrush.analysis.points import Analysis
    from inrush.plan.planned import PlannedRun
    from inrush.report.live.opened import LivePage
    from inrush.results.store import Results, Store, StudyFolder
    from inrush.run.call import Prepared, StudyCall
    from inrush.run.listener import Listener
    from inrush.run.run import StudyEnd
    from inrush.targets.deployment import Deployment

#: Exit codes that no error class carries.
WORKLOAD_ERRORS, INVALID, LIMIT_CROSSED = 1, 3, 99
#: From the study file, and a look at its input files, to a plan; the runs; figures and report. The rest is servers'.
PARTS = ("planning_s", "runs_s", "report_s")


def begin(
    store: Store,
    call: StudyCall,
    secret_targets: Sequence[str] | None,
    quiet: bool = False,
    force: bool = False,
) -> tuple[Any, StudyFolder]:
    """Plans a call, asks its targets, and makes the folder of its results. Raises UsageError before that."""
    prepared = planned(store, call, secret_targets)
    check_targets(store, prepared, quiet, force)
    document = {**prepared.document(), "begun_unix_ns": time.time_ns()}
    return prepared, store.new_study(prepared.plan.study.name, document)


def check_targets(
    store: Store, prepared: Prepared, quiet: bool, force: bool = False, begun: bool = False
) -> None:
    """Says of each server that it is ready, and of each folder for data that it is made. force, begun: as of `execute`, and whether runs were made before.

    Raises UsageError for a package that the study or its report needs, and with a line for everything that machine and servers
    have against it.
    """
    from inrush.run.preflight import admit
    from inrush.targets.ready import libraries, made_said

    need(f"the study {prepared.plan.study.name}", "report", *libraries(prepared.plan))
    given = prepared.call.data
    data = Path(given) if given else usual_data(store, prepared)
    named = (given,) if given else prepared.call.storages.values()
    lines = admit(prepared, data, Path(given) if given else store.root, force, begun)
    for line in [*lines, *made_said(prepared.named_targets, named)]:
        if not quiet:
            say(line)


def usual_data(store: Store, prepared: Prepared) -> Path:
    """Where the data of its engines lie if the call does not say it."""
    return store.instances_path if prepared.named_targets.start else store.root


def planned(store: Store, call: StudyCall, secret_targets: Sequence[str] | None = None) -> Prepared:
    """The plan of a call, with what other studies found best; touches no engine. Raises as `prepare` does."""
    from dataclasses import replace

    from inrush.run.prepare import best_found, best_of_names, prepare, read_study

    best = call.best or best_found(store, best_of_names(read_study(call)), call.scale)
    return prepare(replace(call, best=best), secret_targets)


def execute(
    prepared: Any,
    folder: Any,
    usual: Path,
    times: Times,
    force: bool = False,
    page: LivePage | None = None,
    quiet: bool = False,
    waiting: WaitingTime | None = None,
) -> StudyEnd:
    """The study on its engines, with progress on stderr.

    usual: folder for the data of servers, where the call names none. times: with PARTS. force: works on what is not inrush's own.
    page: shows the study while it runs. quiet: no progress and no notes. waiting: for a fleet that is not there yet.
    Raises UsageError for a comparison or a target that is refused.
    """
    from inrush.agent.realtime import realtime_environment
    from inrush.run.run import run_study
    from inrush.run.stop_rules import StopRules, confirmations

    for reason in () if quiet else prepared.named_targets.left_out.values():
        say(f"left out: {reason}")
    if prepared.call.data:
        folder.keep_data_in(Path(prepared.call.data))
    if prepared.call.input:
        folder.keep_inputs_in(Path(prepared.call.input))
    begun = folder.doc.get("runs") is not None
    with contextlib.ExitStack() as held:
        held.enter_context(folder.locked())
        try:
            listener = held.enter_context(listening(folder, prepared.plan.all_runs, page, quiet))
            prepared, deployments = opened_servers(
                held, prepared, folder, usual, listener, force, begun, quiet
            )
            on_fleet = held.enter_context(on_its_fleet(prepared, deployments, waiting, listener.note))
        except BaseException:
            if not begun:  # nothing was run: it would be the latest result, with nothing in it
                folder.discard_if_empty()
            raise
        plan = prepared.plan
        rules = StopRules(plan, listener.note)
        with times.part("runs_s"):
            return run_study(
                plan.all_runs, folder, deployments, listener, rules, rules.look, confirmations(plan),
                *(({"realtime": True}, realtime_environment) if prepared.call.realtime else (on_fleet,)),
            )  # fmt: skip


def opened_servers(
    held: contextlib.ExitStack,
    prepared: Any,
    folder: Any,
    usual: Path,
    listener: Listener,
    force: bool,
    begun: bool,
    quiet: bool,
) -> tuple[Any, Mapping[str, Deployment]]:
    """The study as its servers can do it, and these, open as long as `held`. begun: it is resumed."""
    from inrush.report.live.opened import replanned
    from inrush.run.going_on import unfinished
    from inrush.run.prepare import as_servers_can
    from inrush.targets.deployments import opened
    from inrush.targets.durability import refuse_unequal
    from inrush.targets.locks import locked
    from inrush.targets.marks import drop_unmarked, mark_problems

    @contextlib.contextmanager
    def admitted(servers: Mapping[str, Deployment]) -> Iterator[None]:
        """Nothing of the user's is in the way of the study, and no other study works there meanwhile."""
        if force:
            drop_unmarked(prepared.plan, servers, listener.note)
        else:
            refuse(mark_problems(prepared.plan, servers))
        with locked(prepared.plan, servers, folder.path, force, listener.note):
            yield

    data = Path(prepared.call.data) if prepared.call.data else usual
    storages = prepared.named_targets.storages
    stays = bool(storages) or data.absolute() != usual.absolute()
    deployments = held.enter_context(
        opened(
            prepared.named_targets,
            data,
            listener.note,
            lambda: stays or unfinished(folder),
            lambda one: admitted({one.target.engine: one}),
        )
    )
    held.callback(folder.leave_data, storages.values())
    if not begun and (able := as_servers_can(prepared, deployments.values())) is not prepared:
        prepared = able
        folder.write(prepared.document())
        replanned(listener, prepared.plan.all_runs)
    for engine, reasons in () if quiet else prepared.call.lacks.items():
        for operation, reason in reasons.items():
            listener.note(f"left out: {engine}: {operation}: {reason}")
    held.enter_context(admitted({key: of for key, of in deployments.items() if of.turns is None}))
    refuse_unequal(prepared.plan, deployments, folder.data_path, begun, listener.note)
    return prepared, deployments


def on_its_fleet(
    prepared: Any,
    deployments: Mapping[str, Deployment],
    waiting: WaitingTime | None,
    note: Callable[[str], None],
) -> contextlib.AbstractContextManager[Mapping[str, object]]:
    """What documents of its runs have more; nothing without a fleet."""
    from inrush.fleet.open import opened
    from inrush.plan.cost import text_row_bytes
    from inrush.run.shard_servers import servers_of_study
    from inrush.run.unseen_servers import unseen_servers

    call, runs = prepared.call, prepared.plan.all_runs
    for line in unseen_servers(runs, deployments) if call.fleet is None else ():
        note(line)
    return opened(
        call.fleet,
        call.fleet_insecure,
        waiting or WaitingTime(WAIT_S),
        [run.plan for run in runs],
        note,
        lambda: servers_of_study(runs, deployments),
        partial(text_row_bytes, prepared.plan),
    )


@contextlib.contextmanager
def listening(
    folder: StudyFolder, runs: Sequence[PlannedRun], page: LivePage | None, quiet: bool
) -> Iterator[Listener]:
    """Progress and notes on stderr, with `quiet` neither; a terminal and a page show what goes on."""
    from inrush.run.listener import Silent

    if quiet and page is None:
        yield Silent()
        return
    from inrush.report.live.terminal import Plain, Terminal
    from inrush.report.live.view import View, claims_of

    console = stderr()
    terminal = console.is_terminal and not quiet

    def say_line(line: str) -> None:
        if not quiet:
            console.print(harmless(line), markup=False, highlight=False, soft_wrap=True)

    view = (View if terminal or quiet else Plain)(say_line, folder, runs, claims_of(folder, runs))
    if page is not None:
        page.open(view)
        stays = " (at the end it serves the report, until Ctrl-C)" if page.of.stay else ""
        say(f"live: {page.of.url}{stays}")
    with Terminal(console, view) if terminal else contextlib.nullcontext():
        yield view


def shown_live(
    live: bool, address: str | None, stay: bool, push: str | None = None
) -> contextlib.AbstractContextManager[LivePage | None]:
    """The page of a study to come, where it is wanted. Raises UsageError for an address or a token that will not do."""
    if not live:
        if address or stay or push:
            raise UsageError(
                "--live-address, --live-stay and --live-push say how --live shows the study; add --live"
            )
        return contextlib.nullcontext()
    from inrush.report.live.opened import page, wanted

    return page(wanted(address, stay, push))


def report(store: Store, outcome: StudyEnd, times: Times) -> tuple[Results, Analysis]:
    """Writes the report and keeps the verdict; what failed, the time by part and where the report is go to stderr."""
    from inrush.analysis.deciding import cut_steps
    from inrush.report.report import write_report
    from inrush.report.run_list import keep_verdict
    from inrush.results.store import StudyFolder

    results = store.find(str(outcome.path))
    for run, message in outcome.failed.items():
        say(f"{run}: {message}")
    with times.part("report_s"):
        analysis = write_report(results, results.report_path)
    for run, sentence in cut_steps(analysis):
        say(f"{run}: {sentence}")
    keep_verdict(StudyFolder(outcome.path), analysis)
    say(took(times.whole_s, times.parts()))
    say(f"report: {results.report_path}")
    return results, analysis


def finish(store: Store, outcome: StudyEnd, times: Times, as_json: bool, in_browser: bool = False) -> None:
    """Report, the last lines or JSON, and the exit code of the verdict."""
    from inrush.report.report import closing_lines
    from inrush.report.summary import crossed_lines, verdict_document

    results, analysis = report(store, outcome, times)
    if in_browser:
        open_page(results.report_path)
    if as_json:
        for line in crossed_lines(analysis):
            say(line)
        verdicts = [verdict_document(run, v) for run, v in analysis.verdicts]
        show_json(
            {
                "run_dir": str(outcome.path),
                "report": str(results.report_path),
                "valid": analysis.valid and not outcome.failed,
                "verdicts": verdicts,
            }
        )
    else:
        answered = len(crossed_lines(analysis)) + 1
        lines = closing_lines(analysis)
        show(lines[:answered], bold=True)
        show(lines[answered:])
    if outcome.failed:
        raise typer.Exit(WORKLOAD_ERRORS)
    if not analysis.valid:
        raise typer.Exit(INVALID)
    if crossed_lines(analysis):
        raise typer.Exit(LIMIT_CROSSED)


def stderr() -> Console:
    """rich honours NO_COLOR and knows a terminal."""
    from rich.console import Console

    return Console(stderr=True)
