"""A study file: TOML -> `Study`, or one refusal with every problem.

`load_study` reads the files; everything below it is pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from inrush.errors import Problem, refuse
from inrush.metrics import OF_ROLE, names
from inrush.study import pipeline
from inrush.study.claims import parse_expected, parse_published
from inrush.study.document import Node, first_of_each_value, unknown
from inrush.study.events import parse_order
from inrush.study.files import locate
from inrush.study.forms import (
    FromFactor,
)
from inrush.study.metric_names import Named
from inrush.study.of_scale import known_parts, of_scale
from inrush.study.overlay import apply_overrides, by_command, merged, parse_overrides
from inrush.study.parts import (
    Schedule,
    check_rate_figure,
    parse_accept,
    parse_answer,
    parse_record,
    parse_repeats,
    parse_schedule,
    parse_search,
    parse_stops,
)
from inrush.study.pipeline import parse_pipeline
from inrush.study.roles import Role, check_refill, parse_factors, parse_roles
from inrush.study.rule_values import check_only, check_rule_values
from inrush.study.settings import parse_options, parse_start
from inrush.study.shards import parse_shards
from inrush.study.shipped import SHIPPED, find_study, workload_path
from inrush.study.single_values import (
    check_kind,
    parse_clients,
    parse_engines,
    parse_layout,
    parse_load,
    parse_method,
)
from inrush.study.sizes import read_size
from inrush.study.skips import check_skipped, parse_skips
from inrush.study.step_kinds import KIND as STEPS_KIND
from inrush.study.step_kinds import LoadOverShards, Measure, Step
from inrush.study.steps import check_schedule, named_figures, parse_steps, with_own_operations
from inrush.study.storage import parse_storage
from inrush.study.study import Known, Study
from inrush.study.toml import read_toml
from inrush.study.totals import parse_totals
from inrush.study.used_factors import check_used
from inrush.study.used_sizes import unused_sizes
from inrush.study.workload_file import WorkloadReader
from inrush.workload import Workload

SCHEMA = 1
KINDS = ("fixed_volume", "mixed", "timed", pipeline.KIND, STEPS_KIND)
KEYS = (
    "schema", "title", "question", "expect", "workload", "kind", "engines", "sizes", "factors", "layout", "row_order", "method", "clients",
    "options", "start", "shards", "load", "schedule", "roles", "pipeline", "steps", "skip", "ends_with", "totals", "record", "repeats", "stop", "search", "answer", "accept", "unequal_durability",
    "expected", "published", "scale",
)  # fmt: skip
REQUIRED = ("schema", "title", "question", "expect", "workload", "kind", "engines")
#: Kind -> the key that says what runs; `roles` of every other.
WORK = {pipeline.KIND: "pipeline", STEPS_KIND: "steps"}
WORKS = ("pipeline", "roles", "steps")


def load_study(
    named: str,
    scale: str | None = None,
    overrides: Sequence[str] = (),
    engines: Sequence[str] | None = None,
    known: Known | None = None,
) -> Study:
    """A study by name or path, in a scale, changed by `-P key=value`, on other engines than the file's if named.

    Raises UsageError for a name that is not found, and with everything that is wrong inside the files.
    """
    found = find_study(named)
    tree = read_toml(found.path)
    named_workload = tree.get("workload")
    path = workload_path(named_workload, found.path) if isinstance(named_workload, str) else None
    workload = read_toml(path) if path is not None and path.is_file() else None
    study = parse_study(
        tree,
        workload,
        name=found.name,
        file=str(found.path),
        workload_file=str(path) if path is not None else "",
        scale=scale,
        overrides=overrides,
        engines=engines,
        known=known or Known(),
    )
    return replace(study, workload=locate(study.workload, str(path)))


def parse_study(
    tree: Mapping[str, Any],
    workload_tree: Mapping[str, Any] | None,
    *,
    name: str,
    file: str,
    workload_file: str = "",
    scale: str | None = None,
    overrides: Sequence[str] = (),
    engines: Sequence[str] | None = None,
    known: Known | None = None,
) -> Study:
    """The study of two documents; raises UsageError with every problem of both, and of every scale."""
    known = known or Known()
    problems: list[Problem] = []
    scales = scale_names(Node(file, "scale", tree.get("scale", {}), problems))
    base = {key: value for key, value in tree.items() if key != "scale"}
    changes = parse_overrides(overrides, base, workload_tree, problems)
    values = {key: change.value for key, change in changes.items()}
    if scale is not None and scale not in scales:
        problems.append(Problem("--scale", scale, "", unknown("scale", scale, scales)))

    workloads = WorkloadReader(workload_tree, workload_file, known.generators, known.refused)

    def read(overlay: Any, changes: Mapping[str, Any], found: list[Problem]) -> Study:
        full = apply_overrides(merged(base, overlay), changes)
        if engines is not None:
            full["engines"] = list(engines)
        return read_tree(full, workloads, name, file, known, found)

    overlays = {
        one: known_parts(Node(file, f"scale.{one}", tree["scale"][one], problems), base) for one in scales
    }
    of_study: list[Problem] = []
    study = read(overlays.get(scale or "", {}), values, of_study)
    for p in of_study:
        placed = by_command(p, changes) if p.file == file else p
        in_scale = placed is p and p.file == file and scale in overlays
        problems.append(of_scale(p, scale or "", overlays[scale or ""], base) if in_scale else placed)
    of_file = [
        parse_factors(Node(file, "factors", merged(base, o).get("factors"), []))
        for o in ({}, *overlays.values())
    ]
    searched = study.search.along if study.search else None
    root, everywhere = Node(file, "", {}, problems), [study.factors, *of_file]
    check_rule_values(root, study.expected, study.published, everywhere, searched)
    check_only(root, study.steps, everywhere)
    problems = [by_command(p, changes) if p.file == file else p for p in problems]
    for one, overlay in overlays.items():
        if one != scale:
            inside: list[Problem] = []
            read(overlay, {}, inside)
            # What is wrong with the study as it stands is said above; else the scale makes it so.
            at_scale = (_of_other_scale(p, one, overlay, base, file) for p in inside if p not in of_study)
            problems += dict.fromkeys(p for p in at_scale if p not in problems)
    if not problems and workload_tree is not None:
        problems = unused_sizes(changes, study.work, workload_tree)
    refuse(first_of_each_value(problems))
    return replace(study, scale=scale, scales=scales, overrides=tuple(overrides))


def _of_other_scale(p: Problem, one: str, overlay: Any, base: Mapping[str, Any], file: str) -> Problem:
    """Named by its scale, in the scale's own lines where it stands there."""
    placed = of_scale(p, one, overlay, base) if p.file == file else p
    return replace(p, key=f"scale.{one}: {p.key}") if placed is p else placed


def scale_names(node: Node) -> tuple[str, ...]:
    for overlay in node.members().values():
        overlay.members()
    return tuple(name for name, overlay in node.members().items() if isinstance(overlay.value, dict))


def _check_fields(fields: Mapping[str, Node], work: str) -> None:
    """Notes the keys that a study of another kind has, and another schema."""
    for other in WORKS:
        if other in fields and other != work:
            fields[other].problem(
                f'a study of this kind has no `{other}`; kind = "pipeline" has `pipeline`, kind = "steps" has `steps`, the '
                "others `roles`"
            )
    if (schema := fields.get("schema")) and schema.value != SCHEMA:
        schema.problem(f"this inrush reads schema {SCHEMA}")
    for key, what in (("totals", "add up"), ("skip", "leave out"), ("ends_with", "end with")):
        if work != "steps" and key in fields:
            fields[key].problem(f'only a study of kind = "steps" has steps to {what}; remove it')


def read_tree(
    tree: Mapping[str, Any],
    workloads: WorkloadReader,
    name: str,
    file: str,
    known: Known,
    problems: list[Problem],
) -> Study:
    root = Node(file, "", dict(tree), problems)
    work = work_of(tree)
    fields = root.fields(KEYS, (*REQUIRED, work))
    _check_fields(fields, work)
    workload = read_workload(fields, workloads, problems)
    factors = parse_factors(fields.get("factors"))
    schedule = parse_schedule(fields.get("schedule"), factors)

    def judged(key: str) -> Node | None:
        """Without its workload nothing can be said of what a study does with it."""
        node = fields.get(key)
        is_read = workload.tables or workload.operations
        return node if is_read or node is None else Node(node.file, node.key, node.value, [])

    roles = parse_roles(judged("roles"), factors, workload)
    kind = (fields["kind"].text(KINDS, "kind") if "kind" in fields else "") or KINDS[0]
    without = parse_skips(fields.get("skip"), fields.get("ends_with"), fields.get("steps"))
    stepped = parse_steps(judged("steps"), factors, workload, without)
    if work == "steps":
        if "steps" in fields:
            check_schedule(
                fields["steps"], stepped, fields.get("schedule") or root.at("schedule", None), schedule
            )
        workload = with_own_operations(workload, stepped)
        if "load" in fields:
            fields["load"].problem('what is loaded is a step here, do = "load"; remove it')
    steps = {
        "steps": stepped,
        "roles": measured(kind, roles, schedule),
        "pipeline": loaded(parse_pipeline(judged("pipeline"), factors, workload)),
    }[work]
    roles = {name: role for step in steps for name, role in step.sessions.items()}
    check_refill(fields.get("schedule"), roles.values(), workload)
    named: Named = dict.fromkeys((pipeline.ROLE,) if work == "pipeline" else roles, names(OF_ROLE))
    totals = parse_totals(fields.get("totals"), [step.name for step in stepped])
    named = (
        named_figures(stepped, fields["steps"], totals) if work == "steps" and "steps" in fields else named
    )
    check_kind(fields.get("schedule") or root.at("schedule", None), kind, schedule)
    study = Study(
        name=name,
        file=file,
        title=fields["title"].text() if "title" in fields else "",
        question=fields["question"].text() if "question" in fields else "",
        expect=fields["expect"].text() if "expect" in fields else "",
        kind=kind,
        workload=workload,
        engines=parse_engines(fields["engines"], known.engines) if "engines" in fields else (),
        factors=factors,
        steps=steps,
        totals=totals,
        schedule=schedule,
        repeats=parse_repeats(fields.get("repeats")),
        record=parse_record(fields.get("record")),
        layout=parse_layout(fields.get("layout"), factors, workload, root),
        row_order=parse_order(fields.get("row_order"), factors, root),
        method=parse_method(fields.get("method"), factors, known.engines, root),
        storage=parse_storage(factors, root),
        clients=parse_clients(fields.get("clients"), factors, work),
        shards=parse_shards(fields.get("shards"), factors),
        load_rows=parse_load(fields.get("load"), factors),
        options=parse_options(fields.get("options"), factors, known.engines),
        start=parse_start(fields.get("start"), factors, known.engines),
        stop=parse_stops(fields.get("stop"), factors, named),
        search=parse_search(fields.get("search"), factors, named),
        answer=parse_answer(fields.get("answer"), factors, named),
        accept=parse_accept(fields.get("accept"), named),
        unequal_durability="unequal_durability" in fields and fields["unequal_durability"].flag(),
        expected=parse_expected(fields.get("expected"), factors, named),
        published=parse_published(fields.get("published"), factors, named),
    )
    instead = instead_of_shares(roles, schedule, workload)
    for key in ("answer", "search"):
        check_rate_figure(fields.get(key), instead)
    check_skipped(root, without, study.answer.of if study.answer else "")
    check_used(root, study)
    return study


def measured(
    kind: str, roles: Mapping[str, Role[FromFactor]], schedule: Schedule[FromFactor]
) -> tuple[Step[FromFactor]]:
    """A study without steps, as the one step that it is."""
    return (
        Measure(
            roles=roles,
            seconds=schedule.measure_s,
            warm_s=schedule.warm_s,
            cool_s=schedule.cool_s,
            at_least_s=0.0 if kind == "timed" else schedule.at_least_s,
            max_repetitions=schedule.max_repetitions,
            proof=schedule.proof,
        ),
    )


def instead_of_shares(
    roles: Mapping[str, Role[FromFactor]], schedule: Schedule[FromFactor], workload: Workload
) -> dict[str, dict[str, str]]:
    """Role with a schedule that ends when its work is done -> shares of its calls that lateness does not lower -> what does
    tell. With a deadline a late call fails."""
    found = {}
    for name, role in roles.items():
        is_paced = (
            (role.schedule or schedule).mode != "closed"
            or role.samples is not None
            or role.events is not None
        )
        if not is_paced or (role.samples, role.events, role.rows, role.calls) == (None, None, None, None):
            continue
        has_deadline = any(
            workload.operations[of].deadline_s for of in role.operations if of in workload.operations
        )
        better = (
            "ROLE.in_time_share"
            if role.samples is not None
            else "a limit on ROLE.latency_p99_s"
            if role.calls is not None
            else "ROLE.keeps_up"
        )
        found[name] = dict.fromkeys(
            ("attempted_share", *(() if has_deadline else ("achieved_share",))), better
        )
    return found


def loaded(of: pipeline.Pipeline[FromFactor] | None) -> tuple[Step[FromFactor], ...]:
    """A study of kind `pipeline`, as the one step that it is."""
    return () if of is None else (LoadOverShards(pipeline=of),)


def work_of(tree: Mapping[str, Any]) -> str:
    """The key that says what runs: by the kind, and by what is there where no such kind is."""
    kind = str(tree.get("kind"))
    is_there = next((key for key in WORKS if key in tree), "roles")
    return WORK.get(kind, "roles") if kind in KINDS else is_there


def read_workload(fields: Mapping[str, Node], workloads: WorkloadReader, problems: list[Problem]) -> Workload:
    """The workload that the study names, with the study's sizes in place of the workload's."""
    empty = Workload("", "2026-01-01T00:00:00Z", {}, {}, {})
    if "workload" not in fields:
        return empty
    name = fields["workload"].text()
    tree = workloads.tree
    if tree is None:
        if name:
            families = sorted(path.parent.name for path in SHIPPED.glob("*/workload.toml"))
            fields["workload"].problem(
                unknown("workload", name, families) + " or a file beside the study, ending in .toml"
            )
        return empty
    own = tree.get("sizes")
    sizes = {}
    for key, node in fields["sizes"].members().items() if "sizes" in fields else ():
        if not isinstance(own, Mapping) or key not in own:
            node.problem(unknown("size", key, own if isinstance(own, Mapping) else ()))
        else:
            sizes[key] = read_size(key, node)
    return workloads.read(name, sizes, problems)
