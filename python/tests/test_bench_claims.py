"""Claims on real engines: the page says what the kept claims say, and every set-up can be planned."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benches.claims import claims, page
from inrush.errors import ResultUnreadable
from inrush.study.study import load_study
from inrush.study.toml import read_toml

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_claims_is_what_the_kept_claims_say() -> None:
    """docs/claims.md by hand would be nobody's measurement; each claim's hash is checked on the way."""
    told = page.written()
    assert (ROOT / "docs" / "claims.md").read_text(encoding="utf-8") == told, (
        "python -m benches.claims.page > ../docs/claims.md"
    )
    for doc, _ in page.entries():
        assert f"`{doc['sha256'][:8]}`" in told


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
        study = claims.HERE / f"{of.study}.toml"
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


def test_a_page_without_scores_is_refused() -> None:
    with pytest.raises(SystemExit, match="no claim has a score"):
        page.page([], {}, {}, "")
