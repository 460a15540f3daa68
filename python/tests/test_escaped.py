"""Whatever a study, a run or a machine is called: no text of theirs becomes an element of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from inrush.analysis.answer import answer
from inrush.guards.analyse import analyse
from inrush.report.page import page
from inrush.stats.record import Absent, RunRecord, StudyRecord
from tests import synthetic

TRUTH = {(e, b): s for e in ("duckdb", "sqlite") for b, s in ((200, 3.0), (1000, 2.0))}
EVIL = "<x-evil a='1' b=\"2\">&"


def record() -> StudyRecord:
    published = [{"claim": "insert", "unit": "ms", "values": {"clickhouse": 55}, "source": "elsewhere",
                  "hardware": "2 × Xeon 8280", "beside": "writers.makespan_s"}]  # fmt: skip
    stopped = Absent({"engine": "sqlite", "batch_rows": 100}, "stopped", "makespan 95 s is above 90 s")
    doc = {"published": published, "expect": "Larger.", "plan_hash": "ab" * 32, "command": "inrush run batch"}
    return synthetic.study(TRUTH, blocks=1, absent=[stopped], doc=doc)


def paths(value: Any, so_far: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the texts of a document are."""
    if isinstance(value, str):
        yield so_far
    elif isinstance(value, Mapping):
        for key, child in value.items():
            yield from paths(child, (*so_far, key))
    elif isinstance(value, list | tuple):
        for i, child in enumerate(value):
            yield from paths(child, (*so_far, i))


def with_evil(value: Any, path: tuple[Any, ...]) -> Any:
    if not path:
        return value + EVIL
    if isinstance(value, Mapping):
        return {k: with_evil(v, path[1:]) if k == path[0] else v for k, v in value.items()}
    return [with_evil(v, path[1:]) if i == path[0] else v for i, v in enumerate(value)]


def shown(found: StudyRecord) -> str:
    analysis = analyse(found)
    return page(analysis, answer(analysis), [], {}, "")


def changed(of: str) -> Iterator[tuple[str, Callable[[], StudyRecord]]]:
    """The study with one text more than it says, in each place of its document or of all its runs'."""
    plain = record()
    if of == "study":
        for path in paths(plain.study):
            yield str(path), lambda path=path: replace(plain, study=with_evil(plain.study, path))  # type: ignore[misc]
        return
    for path in paths(getattr(plain.runs[0], of)):

        def of_all(path: tuple[Any, ...] = path) -> StudyRecord:
            runs: list[RunRecord] = [replace(r, **{of: with_evil(getattr(r, of), path)}) for r in plain.runs]
            return replace(plain, runs=runs)

        yield str(path), of_all


@pytest.mark.parametrize(("of", "at_least"), [("study", 5), ("plan", 1), ("summary", 1), ("env", 5)])
def test_no_text_becomes_an_element(of: str, at_least: int) -> None:
    said = 0
    for path, changed_study in changed(of):
        try:
            text = shown(changed_study())
        except (KeyError, ValueError):
            continue  # a word that means something: a kind, an engine
        assert "<x-evil" not in text, path
        said += "&lt;x-evil" in text
    assert said >= at_least, "texts that the page shows"
