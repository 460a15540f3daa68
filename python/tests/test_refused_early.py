"""What needs no server is refused before one is started: the words of the call, the plans, and the folder of the results."""

from __future__ import annotations

from typing import Any

import pytest

from inrush.run.call import StudyCall
from tests.terminal import Inrush

TINY = (
    "quickstart",
    "--start",
    "postgresql",
    "--scale",
    "xs",
    "-P",
    "batch_rows=1000",
    "-P",
    "repeats={count=1, confirm=0}",
)


@pytest.fixture(autouse=True)
def starts_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of what starts servers."""

    def opened(*_: Any, **__: Any) -> None:
        raise AssertionError("servers were started")

    monkeypatch.setattr("inrush.targets.deployments.opened", opened)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ("--fleet", "local:1", "-P", "clients=2", "-P", "schedule.at_least_s=0"),
            "a run of the study takes 2 workers; say --fleet local:2",
        ),
        (("--fleet", "local:1", "--realtime"), "--realtime: is for client processes of this machine"),
    ],
)
def test_words_that_exclude_each_other(inrush: Inrush, words: tuple[str, ...], says: str) -> None:
    said = inrush("run", *TINY, *words)
    assert said.code == 2 and says in said.err, said.err
    assert inrush.store.studies() == [], "nothing was run, and there is nothing to go on with"


def test_more_hosts_than_a_pipeline_has_without_a_fleet(inrush: Inrush) -> None:
    said = inrush("run", "pipeline-parallel", "sqlite", "--scale", "xs", "-P", "pipeline.client_hosts=2")
    assert said.code == 2 and "workers of a fleet; say --fleet" in said.err, said.err


def test_a_study_that_was_begun_with_other_plans(inrush: Inrush) -> None:
    call = StudyCall("quickstart", "xs", ("batch_rows=1000",), ("sqlite",))
    folder = inrush.store.new_study("quickstart", {"call": call.document(), "runs": ["b00-0000-other"]})
    said = inrush("run", "--resume", folder.path.name)
    assert said.code == 2 and "begun with other plans than these" in said.err, said.err
