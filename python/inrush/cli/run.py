"""Commands that run a study, or say what would run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from inrush.cli.words import (
    AsJson,
    Fleet,
    FleetInsecure,
    FleetWait,
    Input,
    Limits,
    Live,
    LiveAddress,
    LivePush,
    LiveStay,
    Open,
    Overrides,
    Places,
    Quiet,
    Repeats,
    Scale,
    Seed,
    Start,
    Study,
    Targets,
)
from inrush.commands.printing import opened_store, say
from inrush.errors import UsageError, refuse


def run(
    study: Annotated[
        str | None,
        typer.Argument(metavar="STUDY", help="Name or path of a study; with --resume: id of its results."),
    ] = None,
    targets: Targets = None,
    scale: Scale = None,
    start: Start = None,
    overrides: Overrides = None,
    repeats: Repeats = None,
    seed: Seed = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume a study that was interrupted or failed.")
    ] = False,
    data: Places = None,
    input_folder: Input = None,
    limits: Limits = None,
    unequal_durability: Annotated[
        bool,
        typer.Option(
            "--unequal-durability",
            help="Compare engines even if their rows survive different failures; the report says so.",
        ),
    ] = False,
    realtime: Annotated[
        bool,
        typer.Option(
            "--realtime",
            help="Run the client with real-time priority (SCHED_FIFO), so that a busy server on the same machine cannot delay it. "
            "Needs root.",
        ),
    ] = False,
    fleet: Fleet = None,
    fleet_insecure: FleetInsecure = False,
    fleet_wait: FleetWait = 60.0,
    live: Live = False,
    live_address: LiveAddress = None,
    live_stay: LiveStay = False,
    live_push: LivePush = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Use a database file that has other tables, drop a schema or database that is in the way, and take over the "
            "lock of a study on another machine.",
        ),
    ] = False,
    in_browser: Open = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Run a study and show the answer, the verdict and the next command."""
    from inrush.border.address import without_password
    from inrush.commands.running import PARTS, begin, check_targets, execute, finish, shown_live
    from inrush.fleet.open import workers_of
    from inrush.fleet.waiting import WaitingTime
    from inrush.run.call import said_of
    from inrush.run.prepare import prepare, unfinished, with_clients
    from inrush.run.resume import resumed
    from inrush.run.run import other_plan_problems
    from inrush.study.shipped import from_anywhere
    from inrush.times import Times

    times = Times(PARTS)
    if not 0 <= fleet_wait < float("inf"):
        raise UsageError(f"--fleet-wait {fleet_wait:g}: seconds are 0 or more, and an end")
    waiting = WaitingTime(fleet_wait)
    with shown_live(live, live_address, live_stay, live_push) as page:
        said = said_of(
            data,
            input_folder,
            scale=scale,
            overrides=changed(overrides, repeats),
            start=start,
            seed=seed,
            unequal_durability=unequal_durability,
            realtime=realtime,
            limits=limits,
            fleet=fleet,
            fleet_insecure=fleet_insecure,
        )
        store = opened_store()
        store.refuse_unwritable()
        if resume:
            folder = unfinished(store, study)
            if not quiet and study is None:
                say(f"resumes {folder.path.name}: {folder.doc.get('title', '')}")
            with times.part("planning_s"):
                prepared = prepare(resumed(folder, said), targets or None)
                begun = folder.doc.get("runs") is not None
                refuse(other_plan_problems(prepared.plan.all_runs, folder))
                check_targets(store, prepared, quiet, force, begun)
            folder.write({"call": prepared.call.document(), "command": prepared.call.command()})
        else:
            if study is None:
                raise UsageError("say which study to run; `inrush studies` lists them")
            call = replace(
                said, study=from_anywhere(study), targets=tuple(map(without_password, targets or ()))
            )
            call = with_clients(
                call, workers_of(fleet, fleet_insecure, waiting, (lambda _: None) if quiet else say)
            )
            with times.part("planning_s"):
                prepared, folder = begin(store, call, targets, quiet, force)
        outcome = execute(prepared, folder, store.instances_path, times, force, page, quiet, waiting)
        finish(store, outcome, times, as_json, in_browser)


def plan(
    study: Study,
    targets: Targets = None,
    scale: Scale = None,
    start: Start = None,
    overrides: Overrides = None,
    repeats: Repeats = None,
    seed: Seed = None,
    data: Places = None,
    input_folder: Input = None,
    limits: Limits = None,
    fleet: Fleet = None,
    fleet_insecure: FleetInsecure = False,
    as_json: AsJson = False,
) -> None:
    """Show what would run, for how long, and what would be created where. Changes nothing."""
    from inrush.border.address import without_password
    from inrush.commands import plan as command
    from inrush.fleet.open import workers_of
    from inrush.run.call import said_of
    from inrush.run.prepare import prepare, with_clients

    said = said_of(
        data, input_folder, scale=scale, overrides=changed(overrides, repeats), start=start, seed=seed, limits=limits, fleet=fleet,
        fleet_insecure=fleet_insecure,
    )  # fmt: skip
    call = replace(said, study=study, targets=tuple(map(without_password, targets or ())))
    command.plan(prepare(with_clients(call, workers_of(fleet, fleet_insecure)), targets), as_json)


def changed(overrides: Sequence[str] | None, repeats: int | None) -> list[str] | None:
    """What changes the study file, as the plan is called with it."""
    said = [*(overrides or ()), *([] if repeats is None else [f"repeats.count={repeats}"])]
    return said or None
