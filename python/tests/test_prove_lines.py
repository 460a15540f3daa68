"""What `inrush prove` prints: what happened, what is kept, and the command that goes on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from inrush.commands import prove, running
from inrush.errors import Interrupted
from inrush.predict.proof import observed, score_document
from tests.test_predict import frozen, load_study, the_claim


def lines(folder: Path, rate: float, **how: Any) -> tuple[str, list[str]]:
    held = frozen(folder, the_claim()).all()[0]
    seen = observed(load_study({8: rate}, begun_unix_ns=2000, **how), held.doc)
    return held.id, prove.score_lines(held.doc, score_document(held.doc, seen, "the-proof", 3000))


@pytest.mark.parametrize(("rate", "verdict"), [(360_000, "inconclusive"), (90_000, "rejected")])
def test_a_score_says_that_it_stands_where_its_runs_are_and_where_all_scores_are(
    tmp_path: Path, rate: float, verdict: str
) -> None:
    claim, said = lines(tmp_path, rate)
    assert said[0].startswith(f"{verdict}: {claim}: ") and "observed" in said[0]
    assert said[-2:] == [
        "  the score stands; the claim keeps it, its runs are kept as the-proof",
        "  next: inrush scoreboard",
    ]


def test_an_invalid_proof_says_that_the_claim_stays_open_and_how_to_run_it_again(tmp_path: Path) -> None:
    held = frozen(tmp_path, the_claim()).all()[0]
    score = {"verdict": "invalid", "why": ["quiet machine: no"], "results": "the-proof"}
    assert prove.score_lines(held.doc, score) == [
        f"invalid: {held.id}: quiet machine: no",
        "  the claim has no score and stays open; its runs are kept as the-proof",
        f"  next: inrush prove {held.id}   (runs it again)",
    ]


def test_an_interrupted_proof_names_the_claim_and_both_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, page: None = None) -> None:
        raise Interrupted(
            "interrupted: 1 of 3 runs is complete and kept in x\nnext: inrush run --resume proof-1"
        )

    claim = frozen(tmp_path, the_claim()).all()[0]
    monkeypatch.setattr(running, "begin", lambda *_: (None, SimpleNamespace(path=Path("proof-1"))))
    monkeypatch.setattr(running, "execute", interrupted)
    store: Any = SimpleNamespace(instances_path=None)
    with pytest.raises(Interrupted) as stopped:
        prove.Runs(store, (), None).of(claim)
    assert str(stopped.value).splitlines() == [
        "interrupted: 1 of 3 runs is complete and kept in x",
        "next: inrush run --resume proof-1",
        f"{claim.id} has no score yet; when these runs are complete: inrush prove {claim.id} --with proof-1",
    ]


def test_claims_about_one_load_share_its_runs_and_others_have_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Any] = []

    def begin(store: Any, call: Any, targets: Any) -> tuple[None, Any]:
        begun.append(call)
        return None, SimpleNamespace(path=Path(f"proof-{len(begun)}"))

    monkeypatch.setattr(running, "begin", begin)
    monkeypatch.setattr(
        running, "execute", lambda _, folder, *__, page: SimpleNamespace(path=folder.path, failed={})
    )
    monkeypatch.setattr(running, "report", lambda *_: None)
    store: Any = SimpleNamespace(
        instances_path=None, find=lambda path: SimpleNamespace(path=Path(path), report_path="report")
    )
    claim = frozen(tmp_path, the_claim()).all()[0]
    elsewhere = {**claim.doc, "forecast": {**claim.doc["forecast"], "x": 2 * claim.doc["forecast"]["x"]}}
    runs = prove.Runs(store, (), None)
    of_another_figure = SimpleNamespace(doc={**claim.doc, "figure": "load.after_bytes"}, id="b")
    found = [runs.of(c) for c in (claim, of_another_figure, SimpleNamespace(doc=elsewhere, id="c"), claim)]  # type: ignore[arg-type]
    assert found == ["proof-1", "proof-1", "proof-2", "proof-1"]
