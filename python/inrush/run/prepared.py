"""A study that is planned and not begun: its call, its plan, and where it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inrush.plan.planned import StudyPlan
    from inrush.run.call import StudyCall
    from inrush.targets.deployments import NamedTargets


@dataclass(frozen=True)
class Prepared:
    call: StudyCall
    plan: StudyPlan
    named_targets: NamedTargets

    def document(self) -> dict[str, Any]:
        """study.json as it begins."""
        return {**self.plan.document(), "call": self.call.document(), "command": self.call.command()}
