"""Factors of a study that something uses, and those that act on nothing. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass, replace
from typing import Any

from inrush.study.document import Node, nearest
from inrush.study.forms import (
    FromFactor,
)
from inrush.study.roles import label
from inrush.study.settings import with_setting, without_setting
from inrush.study.study import Study
from inrush.study.used_sizes import texts
from inrush.workload import Workload

#: More runs than this are a mistake in the factors.
MAX_RUNS = 100_000


def check_used(root: Node, study: Study) -> None:
    """A factor that nothing reads would give equal points under different names.

    One that is named where something else is wrong was not read there.
    """
    used = {f.factor for f in references(study)} | (
        meant_factors(root.value, study) if root.problems else set()
    )
    used |= {name for step in study.steps for name in step.only}
    for name in study.factors:
        if name not in used:
            root.at(f"factors.{name}", [label(v) for v in study.factors[name]]).problem(
                f'nothing uses it; write "@{name}" where it should act, or remove it'
            )
    elsewhere = {f.factor for f in references(replace(study, start={}))}
    for name, engines in without_setting(study.start, study.factors, study.engines, elsewhere):
        root.at(f"factors.{name}", [label(v) for v in study.factors[name]]).problem(
            f"it changes how servers are started, and nothing of {', '.join(engines)}; run the study on "
            f"{' or '.join(with_setting(study.start, name)) or 'other engines'}; or, if a setting of "
            f'{engines[0]} should change with it, write start.{engines[0]}.SETTING = "@{name}"'
        )
    if not study.has_pilot and (study.stop or study.search is not None):
        root.at("repeats.pilot", False).problem(
            f"{'stop rules read' if study.stop else 'the search reads'} the pilot; remove this line, or the rule"
        )
    points = math.prod(len(values) for values in study.factors.values()) * max(1, len(study.engines))
    if points * len(study.blocks) > MAX_RUNS:
        root.at("factors", points).problem(
            f"with {study.repeats.count} repeats that is more than {MAX_RUNS:,} runs; remove values"
        )


def meant_factors(tree: Any, study: Study) -> set[str]:
    """Factors that texts of a study with mistakes name. A name that is no factor's stands for the nearest; without one it may
    be meant for any."""
    named = named_factors(tree)
    strange = {name: nearest(name, study.factors) for name in named - study.factors.keys()}
    if None in strange.values():
        return {*study.factors}
    return named | {guess for guess in strange.values() if guess}


def named_factors(tree: Any) -> set[str]:
    """Names behind an @ in the texts of a document."""
    return {text[1:].partition(".")[0] for text in texts(tree) if text.startswith("@")}


def references(value: Any) -> list[FromFactor]:
    """Every use of a factor in a study."""
    if isinstance(value, FromFactor):
        return [value]
    if is_dataclass(value) and not isinstance(value, Workload):
        return [r for f in dataclass_fields(value) for r in references(getattr(value, f.name))]
    if isinstance(value, Mapping):
        return [r for v in value.values() for r in references(v)]
    if isinstance(value, tuple):
        return [r for v in value for r in references(v)]
    return []
