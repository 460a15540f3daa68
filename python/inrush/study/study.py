"""A study as it is written, a frozen value; `reading` makes it out of files. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inrush.study.at_point import StudyAt
from inrush.study.claims import Expected, Published
from inrush.study.forms import (
    FromFactor,
)
from inrush.study.generators import Catalogue
from inrush.study.parts import (
    AnswerSpec,
    Repeats,
    Search,
    StopRule,
)
from inrush.study.used_sizes import StudyWork
from inrush.study.workload_file import Refused


@dataclass(frozen=True)
class Known:
    """What exists in this build; None: not known here, not checked."""

    #: Engine -> its insert methods, fastest first.
    engines: Mapping[str, Sequence[str]] | None = None
    generators: Catalogue | None = None
    refused: Refused | None = None


@dataclass(frozen=True, kw_only=True)
class Study(StudyAt[FromFactor]):
    """A study as it is written: what it runs at its points, which these are, and what is asked of them."""

    file: str
    title: str
    question: str
    #: Written before the first run.
    expect: str
    engines: tuple[str, ...]
    factors: Mapping[str, tuple[Any, ...]]
    repeats: Repeats
    #: On which storage an engine keeps its data; None: it has one place.
    storage: FromFactor | None = None
    stop: tuple[StopRule, ...] = ()
    search: Search | None = None
    answer: AnswerSpec | None = None
    #: `role.metric` -> highest value that is accepted.
    accept: Mapping[str, float] = field(default_factory=dict)
    #: Compares engines although their rows survive different things.
    unequal_durability: bool = False
    #: The expectation in numbers.
    expected: tuple[Expected, ...] = ()
    published: tuple[Published, ...] = ()
    #: Preset in force; None: the file as it stands.
    scale: str | None = None
    scales: tuple[str, ...] = ()
    #: What the command line changed, as it was written.
    overrides: tuple[str, ...] = ()

    @property
    def has_pilot(self) -> bool:
        """Of one point an engine that runs once, a pilot would show nothing and take as long as the measurement."""
        if self.repeats.pilot is not None:
            return self.repeats.pilot
        several = any(len(values) > 1 for values in self.factors.values())
        return several or self.repeats.count > 1 or bool(self.stop) or self.search is not None

    @property
    def work(self) -> StudyWork:
        return StudyWork(self.workload, self.factors, tuple(self.roles.values()), self.steps)

    @property
    def blocks(self) -> range:
        """Numbers of the blocks that every point is planned in; 0 is the pilot."""
        return range(0 if self.has_pilot else 1, self.repeats.count + 1)
