"""Claims on real engines: the page says what the kept claims say, and every set-up can be planned."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from benches.claims import claims, page
from inrush.errors import ResultUnreadable
from inrush.model.forecast import MODEL_VERSION
from inrush.results.predictions import Predictions
from inrush.results.store import Store
from inrush.study.reading import load_study
from inrush.study.toml import read_toml


def test_the_page_and_the_table_of_claims_are_what_the_kept_claims_say() -> None:
    """They are never written by hand; each claim's hash is checked on the way."""
    written = page.written()
    for name, text in written.items():
        assert (page.FOLDER / name).read_text(encoding="utf-8") == text, "python -m benches.claims.page"
    lines = written["claims.csv"].splitlines()[1:]
    assert [line.rpartition(",")[2] for line in lines] == [doc["sha256"][:8] for doc, _ in page.entries()]


def test_the_texts_numbers_are_those_of_the_kept_claims() -> None:
    """Its findings are written by hand; what they count is counted here, without the page's own code."""
    read = " ".join((page.HERE / "findings.md").read_text(encoding="utf-8").split())
    verdicts = [(doc["model_version"], (score or {}).get("verdict", "open")) for doc, score in page.entries()]
    scored = Counter(version for version, verdict in verdicts if verdict not in ("open", "invalid"))
    head = " ".join(page.written()["claims.md"].partition("## What the claims show")[0].split())
    assert (
        f"{len(verdicts)} claims, {scored.total()} of them scored and {len(verdicts) - scored.total()} open"
        in head
    )
    goal = re.search(r"(\d+) claims scored, (\d+) of them with a knee at 4 or more loads", read)
    assert goal is not None and scored.total() >= int(goal[1]) and "The numbers of claims" in read
    assert f"The present version ({MODEL_VERSION}) has {scored[MODEL_VERSION]}." in read
    assert scored[4] == 0 and "Version 4 differs in one rule" in read and "has no scored claim" in read
    assert (
        scored[1] + scored[2] == 13 and "Versions 1 and 2 of the model made the first thirteen claims" in read
    )
    named = [
        score["bottleneck_hit"]
        for doc, score in page.entries()
        if score is not None and doc["model_version"] == 3 and score["bottleneck_hit"] is not None
    ]
    assert f"the full resource correctly in {100 * sum(named) / len(named):.0f} %, one claim short" in read
    assert sum(named) < 0.9 * len(named) <= sum(named) + 1, "one claim short"


def test_every_score_kept_is_of_its_claim_and_later_than_it() -> None:
    for doc, score in page.entries():
        if score is not None:
            assert (score["prediction"], score["sha256"]) == (doc["id"], doc["sha256"])
            assert score["scored_unix_ns"] > doc["created_unix_ns"]
            assert not set(score["run_ids"]) & set(doc["train_run_ids"]) or score["results"] != doc["results"]
    assert set(page.set_up_of()) <= {doc["id"] for doc, _ in page.entries()}


def test_every_set_up_names_a_study_that_can_be_planned_with_its_overrides() -> None:
    known = claims.set_ups(read_toml(claims.HERE / "setups.toml"))
    assert len({s.name for s in known}) == len(known) > 10
    for of in known:
        word = claims.study_word(of)
        study = word if word == of.study else claims.HERE / word
        words = claims.run_words(of, targets=True)
        overrides = [words[i + 1] for i, word in enumerate(words) if word == "-P"]
        planned = load_study(str(study), overrides=overrides)
        assert planned.engines == (of.engine,)
        assert list(planned.factors[of.along]) == list(of.to)


def test_a_kept_claim_that_was_changed_is_refused(tmp_path: Path) -> None:
    whole = next(
        p for p in page.SCORED.glob("*.json") if '"sha256"' in p.read_text() and "score" not in p.name
    )
    doc = {k: v for k, v in json.loads(whole.read_text()).items() if k != page.WITHOUT_PATH}
    doc["forecast"]["median"] *= 1.01
    (tmp_path / whole.name).write_text(json.dumps(doc))
    with pytest.raises(ResultUnreadable, match="changed after it was frozen"):
        page.entries(tmp_path)


def test_a_kept_claim_loses_the_paths_of_a_machine_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "predictions").mkdir()
    calls = {
        "far": {"study": "/home/me/own.toml", "data": "/srv/data"},
        "own": {"study": "quickstart", "data": None},
    }
    for name, call in calls.items():
        (tmp_path / "predictions" / f"{name}.json").write_text(json.dumps({"call": call}))
    page.keep(tmp_path, tmp_path / "kept")
    kept = {name: json.loads((tmp_path / "kept" / f"{name}.json").read_text()) for name in calls}
    assert kept["far"] == {"call": {"study": "own.toml", "data": "data"}, page.WITHOUT_PATH: True}
    assert kept["own"] == {"call": calls["own"]}


def test_a_page_without_scores_is_refused() -> None:
    with pytest.raises(SystemExit, match="no claim has a score"):
        page.page([], {}, "")


SET_UP = claims.SetUp(
    name="one", study="writers", resource="cores", along="writers", to=[8, 16], set=["batch_rows=5"],
    start=None, of=None, write_bytes_per_s=None, engine="sqlite",
)  # fmt: skip


class Commands:
    """Stands in for the commands: results, claims and scores that say nothing but in which order they were made."""

    def __init__(self, root: Path, fails: str = "") -> None:
        self.root, self.fails, self.made = root, fails, list[str]()

    def __call__(self, words: Sequence[str], root: Path, write_bytes_per_s: int | None = None) -> int:
        command = f"{words[0]} {'targets' if 'writers=[8, 16]' in words else ''}".strip()
        self.made.append(command)
        if command == self.fails:
            return 1
        kept = Predictions(Store(root))
        if words[0] == "run":
            Store(root).new_study("writers", {"begun_unix_ns": len(self.made)})
        elif words[0] == "predict":
            assert "--claim" in words, "nothing else is kept"
            for n in (8, 16):
                kept.freeze({"id": f"c{n}", "results": words[1], "schema": 1, "created_unix_ns": n})
        elif words[0] == "prove":
            for name in words[1 : words.index("--with")]:
                kept.find(name).write_score({"verdict": "confirmed"})
        return 0


def test_claims_are_frozen_between_the_training_and_the_targets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = Commands(tmp_path)
    monkeypatch.setattr(claims, "inrush", commands)
    assert claims.claimed(SET_UP, tmp_path, tmp_path)
    assert commands.made == ["run", "predict", "run targets", "prove"]
    assert claims.claimed(SET_UP, tmp_path, tmp_path)
    assert len(commands.made) == 4, "what has its scores is not made again"


def test_a_set_up_that_failed_goes_on_where_it_was_and_freezes_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "inrush", Commands(tmp_path, fails="run targets"))
    assert not claims.claimed(SET_UP, tmp_path, tmp_path)
    commands = Commands(tmp_path)
    monkeypatch.setattr(claims, "inrush", commands)
    assert claims.claimed(SET_UP, tmp_path, tmp_path)
    assert commands.made == ["run targets", "prove"]
    assert all(c.scored for c in Predictions(Store(tmp_path)).all())
