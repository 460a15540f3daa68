"""Steps that a study leaves out: those of `skip`, and those behind `ends_with`. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from inrush.study.document import Node


def parse_skips(skip: Node | None, ends_with: Node | None, steps: Node | None) -> dict[str, str]:
    """Step -> why no point does it."""
    given = steps.value if steps is not None and isinstance(steps.value, list) else []
    names = [str(item.get("name")) for item in given if isinstance(item, dict)]
    skipped = skip.texts(names, "step") if skip is not None and steps is not None else ()
    found = dict.fromkeys(skipped, "the study skips it")
    last = ends_with.text(names, "step") if ends_with is not None and steps is not None else ""
    if last in names:
        found |= dict.fromkeys(names[names.index(last) + 1 :], f"the study ends with {last}")
    return found


def check_skipped(root: Node, without: Mapping[str, str], answered: str) -> None:
    """answered: the figure that the study answers, which is not of a step that is left out; empty: it answers none."""
    step = answered.partition(".")[0]
    if step in without:
        root.at("answer.of", answered).problem(
            f"step {step} is left out ({without[step]}); name the figure of another step, e.g. -P answer.of=STEP.ops_per_s"
        )
