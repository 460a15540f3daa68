"""What the last line of `inrush predict` advises is what `--claim` and `inrush prove` take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inrush.commands import predict, running
from inrush.commands.predict import advice, claim_lines
from inrush.commands.prove import score_lines
from inrush.errors import Problem, UsageError
from inrush.results.store import Store
from inrush.run import preflight
from inrush.run.call import StudyCall
from tests.terminal import Inrush
from tests.test_predict import the_claim


@pytest.fixture
def planning(monkeypatch: pytest.MonkeyPatch) -> None:
    """No plan of more than 8 writers; of others this machine permits all."""

    def planned(_: Store, call: StudyCall) -> object:
        if "writers=[16]" in call.overrides:
            raise UsageError("writers = 16: more than the table has")
        return call

    monkeypatch.setattr(running, "planned", planned)
    monkeypatch.setattr(running, "usual_data", lambda *_: Path())
    monkeypatch.setattr(preflight, "rights_problems", lambda *_: ())


@pytest.mark.usefixtures("planning")
def test_no_claim_is_advised_that_would_be_refused(tmp_path: Path) -> None:
    store, made, beyond = Store(tmp_path), the_claim(8), the_claim(16)
    assert advice(store, [made]) == [predict.NOT_KEPT]
    (said,) = advice(store, [beyond])
    assert "--claim" not in said and "inrush prove" not in said and not said.startswith("next:")
    assert said.startswith(
        "nothing is kept of this: writers 16 cannot be run, so no run could score a claim about it: "
    )
    first, then = advice(store, [beyond, made])
    assert first.startswith("no claim: sqlite: writers 16 cannot be run") and then == predict.NOT_KEPT


@pytest.mark.usefixtures("planning")
def test_no_claim_is_advised_about_runs_that_this_machine_does_not_permit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = [Problem.sentence("sqlite: no cold runs by this user")]
    monkeypatch.setattr(preflight, "rights_problems", lambda *_: refused)
    (said,) = advice(Store(tmp_path), [the_claim(8)])
    assert said == (
        "nothing is kept of this: this machine does not permit the run that would score a claim about it: sqlite: no cold "
        "runs by this user; predict where it is permitted"
    )


@pytest.mark.usefixtures("planning")
def test_results_that_do_not_say_how_they_were_begun_are_proven_by_others(tmp_path: Path) -> None:
    """Such a claim is frozen, and `inrush prove` of it alone is refused."""
    made: dict[str, Any] = {**the_claim(8), "call": None}
    assert advice(Store(tmp_path), [made]) == [
        "next: nothing is kept of this; --claim freezes it before its run, and `inrush prove CLAIM --with RESULTS` scores it"
    ]
    kept = {**made, "sha256": "ab"}
    assert claim_lines(kept)[-1] == f"  next: inrush prove {made['id']} --with RESULTS"
    invalid = {"verdict": "invalid", "why": ["late"], "results": "r"}
    assert score_lines(kept, invalid)[-1] == f"  next: inrush prove {made['id']} --with RESULTS"


@pytest.mark.ci
def test_what_a_prediction_advises_is_accepted(inrush: Inrush) -> None:
    words = ("quickstart", "sqlite", "--scale", "xs", "-P", "batch_rows=[100,2000]", "-P", "repeats.count=2")
    assert inrush("run", *words).code in (0, 3)
    for to, accepted in (("1000", True), ("60000", False)):
        asked = ("predict", "--to", to, "--where", "engine=sqlite")
        shown = inrush(*asked)
        assert shown.code == 0 and ("--claim" in shown.out) is accepted, shown.out
        assert (inrush(*asked, "--claim").code == 0) is accepted
