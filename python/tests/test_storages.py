"""One engine on several storages: how they are named, planned, interleaved, opened and resumed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from inrush.errors import UsageError
from inrush.plan.planned import StudyPlan
from inrush.predict.proving import proving_call
from inrush.report.run_list import targets
from inrush.results.store import Results, Store
from inrush.run.call import StudyCall
from inrush.run.prepare import call_from, prepare
from inrush.run.resume import resumed
from inrush.targets.deployment import key_of
from inrush.targets.deployments import named_targets, opened
from inrush.targets.storages import read_data
from tests.terminal import Inrush


def call(places: Sequence[str], *overrides: str, **changed: Any) -> StudyCall:
    plain, storages = read_data(places)
    made = StudyCall("quickstart", "xs", tuple(overrides), ("sqlite",), storages=storages)
    return replace(made, data=str(plain) if plain else None, **changed)


def both(tmp_path: Path) -> list[str]:
    return [f"fast={tmp_path / 'fast'}", f"slow={tmp_path / 'slow'}"]


def test_a_folder_has_a_name_or_none() -> None:
    assert read_data([]) == (None, {})
    assert read_data(["/var/tmp/a"]) == (Path("/var/tmp/a"), {})
    assert read_data(
        [
            "./x=y",
        ]
    )[0] == Path("./x=y")
    assert read_data(["fast=/a", "slow-1=/b"]) == (None, {"fast": "/a", "slow-1": "/b"})


def test_every_word_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(UsageError) as refused:
        read_data(["Fast=/a", "slow=", "x=/a", "x=/b", "/plain"])
    lines = str(refused.value).splitlines()
    assert len(lines) == 4
    assert "lower case" in lines[0] and "NAME=DIR" not in lines[0]
    assert "slow=DIR" in lines[1] and "x is /a already" in lines[2] and "NAME=/plain" in lines[3]


def test_every_mistake_about_storages_is_one_planning_error(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    study = tmp_path / "s.toml"
    write_study(study, ["fast", "slow", "archive"])
    places = [f"fast={tmp_path}/a", f"slow={tmp_path}/link/a", f"cold={tmp_path}/a/below"]
    plain, storages = read_data(places)
    assert plain is None
    with pytest.raises(UsageError) as refused:
        prepare(StudyCall(str(study), targets=("sqlite:///x.db",), storages=storages))
    said = [str(p) for p in refused.value.problems]
    assert len(said) == 6, said
    assert "factors.storage[2] is archive; its folder is not known; write --data archive=DIR" in said[0]
    assert said[1].startswith("--data: cold") and "it has fast, slow, archive" in said[1]
    assert (
        "is that of fast" in said[2]
        and "lies in that of fast" in said[3]
        and "lies in that of slow" in said[4]
    )
    assert said[5].startswith("targets: sqlite") and "use sqlite" in said[5]


def test_a_study_with_storages_and_one_folder_says_what_to_write(tmp_path: Path) -> None:
    study = tmp_path / "s.toml"
    write_study(study, ["fast"])
    with pytest.raises(UsageError, match=r"write --data fast=DIR, in place of --data /d"):
        prepare(StudyCall(str(study), targets=("sqlite",), data="/d"))
    write_study(study, ["Fast", 7])
    with pytest.raises(UsageError) as refused:
        prepare(StudyCall(str(study), targets=("sqlite",)))
    assert str(refused.value).count("lower case") == 2


def test_without_storages_no_plan_has_one() -> None:
    ours = prepare(call([])).plan
    assert all(
        "storage" not in r.labels["factors"] and key_of(r) == r.plan["target"]["engine"] for r in ours.runs
    )


def test_the_storages_of_an_engine_run_next_to_each_other_in_turns(tmp_path: Path) -> None:
    plan = prepare(call(both(tmp_path), "repeats.count=4", targets=("sqlite", "duckdb"))).plan
    for block in (1, 2, 3, 4):
        turns = [(str(r.labels["engine"]), str(r.labels["factors"]["storage"])) for r in plan.block(block)]
        pairs = [turns[i : i + 2] for i in range(0, len(turns), 2)]
        assert all(a[0] == b[0] and {a[1], b[1]} == {"fast", "slow"} for a, b in pairs)
        firsts = [pair[0][1] for pair in pairs]
        assert set(firsts) == {"fast", "slow"}, "one of them is always first"
        assert all(a != b for a, b in pairwise(firsts[::2]))
    assert {key_of(r) for r in plan.runs} == {
        f"{e}@{s}" for e in ("sqlite", "duckdb") for s in ("fast", "slow")
    }
    assert len({r.namespace for r in plan.runs}) == 2 * len({r.namespace for r in other(plan, "fast").runs})


def other(plan: StudyPlan, storage: str) -> StudyPlan:
    return replace(plan, runs=tuple(r for r in plan.runs if r.labels["factors"]["storage"] == storage))


def test_a_place_is_opened_for_each_storage_and_knows_its_name(tmp_path: Path) -> None:
    found = replace(
        named_targets(["sqlite"]), storages={"fast": tmp_path / "fast", "slow": tmp_path / "slow"}
    )
    with opened(found, tmp_path, lambda _: None) as deployments:
        assert set(deployments) == {"sqlite@fast", "null@fast", "sqlite@slow", "null@slow"}
        for key, of in deployments.items():
            assert (
                of.folder == tmp_path / key.partition("@")[2] and of.target.storage == key.partition("@")[2]
            )


@pytest.mark.ci
def test_each_run_has_its_files_and_the_facts_of_its_storage(inrush: Inrush, tmp_path: Path) -> None:
    places = both(tmp_path)
    said = inrush(
        "run", "quickstart", "sqlite", "--scale", "xs", "-P", "repeats.count=1",
        *(word for place in places for word in ("--data", place)),
    )  # fmt: skip
    assert said.code in (0, 3), said.err
    (study,) = inrush.store.studies()
    runs = Results(study.path).runs
    measured = [r for r in runs if r.labels["engine"] == "sqlite"]
    assert {r.labels["factors"]["storage"] for r in measured} == {"fast", "slow"}
    for r in runs:
        place = tmp_path / str(r.labels["factors"]["storage"]) / study.path.name
        assert r.env["data_dir"] == str(place), r.id
        assert (
            "disk_write_bytes_per_s" in r.env and "data_free_bytes" in r.env and "data_mount_options" in r.env
        )
        url = r.plan["target"]["url"]
        assert not url or f"/{r.labels['factors']['storage']}/" in url
    # Nothing is left in the folders of the user.
    assert not [p for name in ("fast", "slow") for p in (tmp_path / name).rglob("*")]


def test_a_study_goes_on_where_its_storages_were(tmp_path: Path) -> None:
    made = call(both(tmp_path))
    assert call_from(made.document()) == made
    assert made.command().endswith(" ".join(f"--data {place}" for place in both(tmp_path)))
    folder = Store(tmp_path / "results").new_study("study", {"call": made.document()})
    assert resumed(folder, StudyCall("")) == made
    assert resumed(folder, StudyCall("", storages=made.storages)) == made
    for given, says in (
        (StudyCall("", storages={"fast": "/elsewhere"}), "differs from the original run"),
        (StudyCall("", data=str(tmp_path)), "has storages, fast, slow"),
    ):
        with pytest.raises(UsageError, match=says):
            resumed(folder, given)


def test_a_list_of_runs_names_the_storages(tmp_path: Path) -> None:
    document = {
        "engines": ["sqlite", "postgresql"],
        "call": call(both(tmp_path), start=("postgresql",)).document(),
    }
    assert targets(document) == ("sqlite on fast, slow", "postgresql (started) on fast, slow")
    plain = {**document, "call": call([], start=("postgresql",)).document()}
    assert targets(plain) == ("sqlite", "postgresql (started)")


def test_a_claim_is_proven_on_the_storage_that_it_is_about(tmp_path: Path) -> None:
    made = call(both(tmp_path))
    claim = {
        "id": "c", "along": "batch_rows", "forecast": {"x": 500}, "call": json.loads(json.dumps(made.document())),
        "group": {"engine": "sqlite", "storage": "slow"},
    }  # fmt: skip
    again = proving_call(claim)
    assert again.storages == {"slow": made.storages["slow"]}
    plan = prepare(again).plan
    assert {key_of(r) for r in plan.runs} == {"sqlite@slow"}


def test_the_answer_of_a_study_is_asked_of_each_storage(tmp_path: Path) -> None:
    found = prepare(call(both(tmp_path))).plan.study
    assert found.answer is not None and found.answer.per == ("engine", "storage")
    study = tmp_path / "s.toml"
    write_study(study, ["fast", "slow"])
    own = prepare(replace(call(both(tmp_path)), study=str(study))).plan.study
    assert own.answer is not None and own.answer.per == ("engine",), "it says itself what competes"


def write_study(path: Path, storages: Sequence[object]) -> None:
    from inrush.study.shipped import find_study

    shipped = find_study("quickstart").path
    line = "factors.batch_rows = [200, 20_000]\n"
    text = shipped.read_text().replace(line, f"factors.storage = {json.dumps(list(storages))}\n{line}")
    assert "factors.storage" in text
    family = shipped.parent.name
    workload = (shipped.parent / "workload.toml").read_text()
    (path.parent / "workload.toml").write_text(workload)
    path.write_text(text.replace(f'workload = "{family}"', 'workload = "workload.toml"'))
