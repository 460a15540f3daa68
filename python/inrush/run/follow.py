"""A worker at work: its events go to the listener, its pauses to the deployment, and Ctrl-C goes to the worker."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from inrush.agent.patience import Patience
from inrush.agent.process import Process
from inrush.agent.stopping import Stopping
from inrush.border.events import Event, Paused
from inrush.border.pipeline import AnyPlan
from inrush.results.store import Doc
from inrush.run import full_disk
from inrush.targets.deployment import ACTIONS, Deployment, watched_now

#: How often signals are looked at while a worker says nothing, s.
TICK_S = 0.1


@dataclass
class RunEnded:
    """What the events of a run said."""

    by: str | None = None
    failure: Doc | None = None
    #: What Python did between two segments: index, action, ok, and how or why not.
    actions: list[Doc] = field(default_factory=list)


def follow(
    worker: Process[Event],
    deployment: Deployment,
    plan: AnyPlan,
    listener: full_disk.Hears,
    stopping: Stopping,
    patience: Patience,
) -> RunEnded:
    """Events to the listener, pauses to the deployment, Ctrl-C to the worker, until it has ended.

    A worker that goes on after its time is killed, with everything it started.
    """
    ended = RunEnded()
    detail = False
    overdue: str | None = None
    while True:
        if stopping.asked and not detail:
            detail = True
            listener.note("stopping: the run in hand ends in order; Ctrl-C again ends it now")
            worker.send({"do": "stop"})
            patience.stop_sent(time.monotonic())
        if overdue is None and (overdue := patience.over(time.monotonic())) is not None:
            listener.note(overdue)
            worker.kill()
            ended.by, ended.failure = None, ended.failure or {"kind": "deadline", "message": overdue}
        if stopping.asked > 1:
            worker.kill()
        event = worker.event(TICK_S)
        if event is None:
            continue
        patience.saw(event, time.monotonic())
        match event["event"]:
            case "ended":
                return ended
            case "finished":
                ended.by = event["ended_by"]
            case "failing":
                listener.note(f"the run fails: {event['message']}")
            case "failed":
                ended.failure = {"kind": event["kind"], "message": event["message"]}
            case "paused":
                action = act(deployment, event)
                ended.actions.append(action)
                if action["ok"] is False:
                    listener.note(f"{action['action']}: {action['why']}")
                # After a restart they are others than those that the plan names.
                worker.send(watched_now(deployment, plan))
        listener.event(event)


def act(deployment: Deployment, event: Paused) -> Doc:
    """Does what a pause asks for; what could not be done is part of the result, not an error."""
    name, _, argument = event["action"].partition(":")
    began = time.perf_counter()
    if name not in ACTIONS:
        done: Doc = {"ok": False, "why": f"this inrush knows no action {name}: {', '.join(sorted(ACTIONS))}"}
    else:
        done = ACTIONS[name](deployment, argument)
    return {"index": event["index"], "action": event["action"], **done, "took_s": time.perf_counter() - began}
