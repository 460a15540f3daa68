"""A study's `[[steps]]`: what a run does, one after the other, each with a name and figures of its own. Pure.

`step_kinds` has the kinds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from inrush.metrics import OF_ROLE, OF_WORK, WATCHED, names
from inrush.study.document import Node, unknown
from inrush.study.dumps import parse_dump, with_dumps
from inrush.study.forms import Factors, FromFactor
from inrush.study.metric_names import Named
from inrush.study.parts import Schedule
from inrush.study.pipeline import read_resumable
from inrush.study.role_steps import (
    LENGTHS,
    load_by_pipeline,
    load_of_dump,
    load_of_files,
    read_seconds,
    role_step,
    with_load,
)
from inrush.study.roles import FACTOR_NAME, Role, parse_roles
from inrush.study.step_kinds import (
    COMMON,
    STEPS,
    Cold,
    Dump,
    Extract,
    Io,
    KeyCalls,
    Load,
    Read,
    Restart,
    Roles,
    Settle,
    Step,
)
from inrush.study.step_order import check_order
from inrush.study.totals import FIGURES as OF_TOTALS
from inrush.study.totals import parse_only
from inrush.workload import Workload

#: Keys of a study's schedule that no step heeds -> what says it instead.
UNHEEDED: Mapping[str, str] = {
    "at_least_s": "a step runs once: load more rows, or remove it",
    "max_repetitions": "a step runs once: remove it",
    "measure_s": "a read lasts for its calls or its seconds: remove it",
    "proof": "the rows are proven at the end of the run, both ways: remove it",
}
#: Keys of a load that adds no rows to a table -> why.
NOT_ADDED: Mapping[str, str] = {
    "from": "a load from a dump empties the table before",
    "pipeline": "the loader proves its rows by a ledger that only it fills",
}
#: Kinds of steps that may be cut: one that is waited for whole has its own end.
LIMITED = [do for do, kind in STEPS.items() if kind not in (Cold, Restart, Settle)]
#: Keys of a kind of step without a reader of its own that are no seconds.
NAMED = ("operation", "roles")


def parse_steps(
    node: Node | None, factors: Factors, workload: Workload, without: Mapping[str, str] = MappingProxyType({})
) -> tuple[Step[FromFactor], ...]:
    """Every mistake of every step is a problem; what cannot be read is left out. without: step -> why no point does it."""
    if node is None:
        return ()
    steps: list[Step[FromFactor]] = []
    #: Names so far, also of steps that could not be read: what follows them is no mistake of its own.
    before: dict[str, str] = {}
    #: With their places; None: it may have loaded any table, and which one could not be read.
    in_order: list[tuple[int, Step[FromFactor] | None]] = []
    later = [item.value.get("name") for item in node.items(at_least=1) if isinstance(item.value, dict)]
    for i, item in enumerate(node.items()):
        said = len(node.problems)
        step = parse_step(item, factors, workload, before, later, steps)
        if step is not None and len(node.problems) == said and step.mistake:
            item.problem(step.mistake)
        if step is not None:
            step = replace(step, without=without.get(step.name, ""))
            steps.append(step)
        is_read = step is not None and not (isinstance(step, Load) and step.role.table is None)
        if is_read or any(key in item.members() for key in ("table", "roles")):
            in_order.append((i, step if is_read else None))
    check_order(node, in_order, factors, workload)
    return tuple(steps)


def parse_step(
    node: Node,
    factors: Factors,
    workload: Workload,
    before: dict[str, str],
    later: Sequence[object],
    steps: Sequence[Step[FromFactor]],
) -> Step[FromFactor] | None:
    """before: names of those before it, with their kinds; steps: those of them that could be read."""
    members = node.members()
    do = members["do"].text(STEPS, "kind of step") if "do" in members else ""
    kind = STEPS.get(do)
    keys = (*COMMON, *(kind.keys if kind else [k for each in STEPS.values() for k in each.keys]))
    fields = node.fields(keys, required=("name", "do", *(kind.required if kind else ())))
    name = fields["name"].text() if "name" in fields else ""
    if name and not FACTOR_NAME.match(name):
        fields["name"].problem("steps are named by lower case letters, digits and _")
    if name in WATCHED:
        fields["name"].problem("figures of a process have this name; give the step another one")
    if name and name in before:
        fields["name"].problem("two steps have this name, and figures are named by it; give one another name")
    after = read_after(fields["after"], name, before, later) if "after" in fields else None
    before[name] = do
    limit_s = read_seconds(fields["limit_s"]) if "limit_s" in fields else None
    if limit_s is not None and kind is not None and do not in LIMITED:
        fields["limit_s"].problem(f"only steps of kind {', '.join(LIMITED)} have a limit; remove it")
    only = parse_only(fields["only"], factors) if "only" in fields else {}
    common: dict[str, object] = {"name": name, "after": after, "limit_s": limit_s, "only": only}
    if kind is None or any(key not in fields for key in kind.required):
        return None
    if kind is Load and "resumable" in fields:
        common["resumable"] = read_resumable(fields.pop("resumable"), fields, before)
    if kind is Load and "adds" in fields:
        common["adds"] = read_adds(fields.pop("adds"), fields)
    if kind is Load and "pipeline" in fields:
        return load_by_pipeline(node, fields, factors, workload, common, steps, before)
    if kind is Load and "files" in fields:
        return load_of_files(node, fields, factors, workload, common, before)
    if kind is Load and "from" in fields:
        return load_of_dump(node, fields, factors, workload, common, steps, before)
    if kind is Load or kind is Read or kind is KeyCalls or kind is Extract or kind is Io:
        return role_step(kind, node, fields, factors, workload, common)
    if kind is Dump:
        return parse_dump(node, fields, factors, workload, common)
    own: dict[str, Any] = {
        key: read_seconds(fields[key]) for key in kind.keys if key in fields and key not in NAMED
    }
    if "operation" in kind.keys:
        own["operation"] = read_maintenance(fields["operation"], workload)
        if not own["operation"]:
            return None
    if "roles" in kind.keys:
        own["roles"] = several_roles(fields["roles"], name, own.get("seconds", 0.0), factors, workload)
    return kind(**own, **common)  # type: ignore[arg-type]


def read_after(node: Node, name: str, before: Collection[str], later: Sequence[object]) -> str | None:
    """An earlier step."""
    wanted = node.text()
    if not wanted or wanted in before:
        return wanted or None
    if wanted == name:
        node.problem("a step does not follow itself; name one before it")
    elif wanted in later:
        node.problem("this step comes later; a step follows one before it")
    else:
        node.problem(unknown("step", wanted, before))
    return None


def read_adds(node: Node, fields: Mapping[str, Node]) -> bool:
    if not node.flag():
        return False
    for key, why in NOT_ADDED.items():
        if key in fields:
            node.problem(f"{why}; remove {key}, or load another table")
            return False
    return True


def read_maintenance(node: Node, workload: Workload) -> str:
    name = node.text()
    known = [o.name for o in workload.operations.values() if o.kind == "maintain"]
    if name and name not in known:
        if name in workload.operations:
            node.problem('is no maintenance; a statement is an operation of kind = "maintain"')
        else:
            node.problem(unknown("operation of kind maintain", name, known))
        return ""
    return name


def several_roles(
    node: Node, name: str, seconds: float, factors: Factors, workload: Workload
) -> dict[str, Role[FromFactor]]:
    """Roles as a study without steps has them, each named `step.role`. seconds: of readers that have no other end."""
    found = parse_roles(node, factors, workload)
    for own, role in found.items():
        kinds = {o: workload.operations[o].kind for o in role.operations}
        if "insert" in kinds.values() or role.calls is not None or role.until:
            continue
        if not isinstance(node.value[own], dict) or "until" in node.value[own]:
            continue  # it is no role, or names none, which was said
        if not seconds and role.operations:
            node.at(own, "").problem("it has no end; write its calls, until = a role, or seconds of the step")
    return {
        f"{name}.{own}": replace(
            role, name=f"{name}.{own}", until=f"{name}.{role.until}" if role.until else None
        )
        for own, role in found.items()
    }


def with_own_operations(workload: Workload, steps: Sequence[Step[FromFactor]]) -> Workload:
    """The workload with what steps call that name no operation of it."""
    return with_dumps(with_load(workload), steps)


def check_schedule(
    steps_node: Node, steps: Sequence[Step[FromFactor]], schedule_node: Node, schedule: Schedule[FromFactor]
) -> None:
    """What a study's schedule says and no step heeds, and reads that would last longer than they may."""
    written = schedule_node.members() if isinstance(schedule_node.value, dict) else {}
    for key, remedy in UNHEEDED.items():
        if key in written:
            written[key].problem(f"no step heeds it; {remedy}")
    given = steps_node.value if isinstance(steps_node.value, list) else []
    names = [item.get("name") for item in given if isinstance(item, dict)]
    for step in steps:
        limit_s = schedule.limit_s if step.limit_s is None else step.limit_s
        lengths = {
            key: getattr(step, key)
            for key in LENGTHS
            if isinstance(step, Read | Roles) and hasattr(step, key)
        }
        for key, seconds in lengths.items():
            if seconds <= limit_s:
                continue
            whose = "schedule.limit_s" if step.limit_s is None else "its limit_s"
            steps_node.at(names.index(step.name), step.name).at(key, seconds).problem(
                f"it would be cut at {limit_s:g} s, {whose}; raise limit_s or read for less"
            )


def named_figures(steps: Sequence[Step[FromFactor]], node: Node, totals: Collection[str] = ()) -> Named:
    """totals: names of figures over several steps. Step -> the figures that can be asked of it; of one that could not be read, those of any."""
    of_role = names(OF_ROLE, OF_WORK)
    roles = {name: of_role for s in steps for name in s.sessions if name != s.name}
    of_any = {figure for kind in STEPS.values() for figure in (*kind.figures, *of_role)}
    given = [item for item in node.value if isinstance(item, dict)] if isinstance(node.value, list) else []
    unread = {str(item.get("name")): of_any for item in given}
    of_roles = [(str(i.get("name")), i["roles"]) for i in given if isinstance(i.get("roles"), dict)]
    unread |= {
        f"{name}.{role}": of_any
        for name, mine in of_roles
        for role in mine
        if name not in {s.name for s in steps}
    }
    of_steps = {step.name: step.figures for step in steps}
    return {**dict.fromkeys(WATCHED, ()), **unread, **of_steps, **roles, **dict.fromkeys(totals, OF_TOTALS)}
