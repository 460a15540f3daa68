"""Options of NDB's client as factors of a study, each on a real cluster: what was asked for is read back, and answers are right."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.engines.base.instance import Target
from inrush.results.store import Results
from inrush.stats.record import RunRecord
from inrush.stats.run_figures import figures_of_run
from tests.terminal import Inrush
from tests.test_started_with import TEXT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

#: Option -> its values.
OPTIONS = {
    "connections": ["1", "2", "4"],
    "send": ["adaptive", "force"],
    "hint": ["true", "false"],
    "lock": ["committed", "shared", "exclusive"],
    "distribution": ["key", "first"],
    "logging": ["true", "false"],
}


def ran(
    inrush: Inrush, folder: Path, target: Target, factors: str, options: str, role: str = ""
) -> list[RunRecord]:
    """The measured runs of a study with these factors, six sessions of it at once."""
    path = folder / "options.toml"
    text = TEXT.format(engines='["ndb"]', factors=factors, start=options, more="pilot = false")
    text = text.replace("factors.threads = [1, 2]", "factors.threads = [6]").replace("count = 4", "count = 1")
    path.write_text(text.replace('operation = "look"', f'operation = "look"\n{role}'))
    said = inrush("run", str(path), target.url, "--json")
    assert said.code in (0, 3), said.err
    found = {(v["guard"], v["outcome"]) for v in said.json["verdicts"]}
    assert {("answers right", "pass"), ("rows proven", "pass")} <= found
    assert not {
        o for guard, o in found if guard in ("answers right", "rows proven", "errors not counted as fast")
    } - {"pass"}
    (study,) = inrush.store.studies()
    return [RunRecord(r.id, r.plan, r.env, r.doc, r.tables) for r in Results(study.path).runs]


#: One of more values, and one that changes what is locked; the others are set in the same way.
ALWAYS = ("connections", "lock")


@pytest.mark.parametrize(
    "option", [pytest.param(o, marks=[] if o in ALWAYS else pytest.mark.slow) for o in OPTIONS]
)
def test_an_option_is_a_factor(option: str, ndb: Target, inrush: Inrush, folder: Path) -> None:
    values = OPTIONS[option]
    runs = ran(inrush, folder, ndb, f"factors.value = {values!r}", f'options.ndb.{option} = "@value"')
    assert sorted(str(run.labels["factors"]["value"]) for run in runs) == sorted(values)
    for run in runs:
        read_back = {row["name"]: row["value"] for row in run.rows("settings")}
        assert read_back[option] == run.labels["factors"]["value"] == run.labels["options"][option]
        assert figures_of_run(run)["clients.ops_per_s"] > 0


def test_1024_calls_are_in_flight_on_each_of_several_objects_of_two_connections(
    ndb: Target, inrush: Inrush, folder: Path
) -> None:
    role = 'depth = "@depth"'
    runs = ran(inrush, folder, ndb, "factors.depth = [1, 1_024]", "options.ndb.connections = 2", role)
    together = {run.labels["factors"]["depth"]: figures_of_run(run)["clients.ops_per_send"] for run in runs}
    assert together[1] == pytest.approx(1, abs=0.2) and together[1_024] > 4


def test_rows_of_one_transaction_are_a_factor(ndb: Target, inrush: Inrush, folder: Path) -> None:
    role = 'keys_per_call = "@operations"\ndepth = "@depth"'
    factors = "factors.operations = [1, 4, 64]\nfactors.depth = [1, 16]"
    runs = ran(inrush, folder, ndb, factors, "options.ndb.connections = 2", role)
    each = {}
    for run in runs:
        figures, rows = figures_of_run(run), run.labels["factors"]["operations"]
        each[rows, run.labels["factors"]["depth"]] = figures["clients.keys_per_s"]
        assert figures["clients.keys_per_s"] == pytest.approx(rows * figures["clients.ops_per_s"], rel=0.01)
    assert len(each) == 6
