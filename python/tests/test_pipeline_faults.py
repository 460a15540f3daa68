"""Input files of the loader's steps that change while they are loaded: the run ends with the file's name, and is done again."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from inrush.errors import CoreError
from inrush.guards.analyse import analyse
from inrush.load.pipeline import inputs
from inrush.results.store import Results
from inrush.stats.measures import study_record
from tests import killing
from tests.test_going_on import SLOW, proven
from tests.test_pipeline_chunks import PIPELINE, files_of_plan, planned
from tests.test_steps_loaded import write_study


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def damage(path: Path) -> None:
    """As many bytes as before, other ones."""
    text = path.read_bytes()
    path.write_bytes(text[:-2] + bytes([text[-2] ^ 1]) + text[-1:])


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("fault", "says"),
    [
        pytest.param(cut, "changed", id="cut"),
        pytest.param(damage, "changed", id="damaged"),
        pytest.param(Path.unlink, "No such file", id="gone"),
    ],
)
def test_an_input_file_that_changes_ends_the_run_with_its_name_and_is_made_anew(
    tmp_path: Path, fault: Callable[[Path], None], says: str
) -> None:
    results = tmp_path / "results"
    study = write_study(tmp_path, SLOW, ('["sqlite", "duckdb"]', '["sqlite"]'))
    began_ns = time.time_ns()
    with killing.inrush(results, "run", str(study), "sqlite", "-P", "repeats.count=2") as process:
        until = time.monotonic() + killing.LIMIT_S
        while process.poll() is None and killing.stored(results, began_ns) < 3_000:
            assert time.monotonic() < until
            time.sleep(0.01)
        # Two pipelines have begun with the first two.
        last = max(results.glob("**/files/*/*.csv"))
        fault(last)
        said, _ = process.communicate(timeout=killing.LIMIT_S)
    assert process.returncode not in (0, 3), said
    named = [line for line in said.splitlines() if last.name in line]
    assert named and says in named[0], said
    assert "Traceback" not in said
    assert "block 2): failed" not in said and "proofs hold" in said, "the next run has made it anew"
    code, said = killing.finished(results, "run", "--resume")
    assert code in (0, 3), said
    for one in analyse(study_record(Results(next(results.glob("*/study.json")).parent))).runs:
        proven(one)


def test_a_full_input_disk_is_named_and_nothing_of_the_file_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = files_of_plan(planned(tmp_path, PIPELINE).runs[0].plan)["table"]
    folder = tmp_path / "inputs"
    folder.mkdir()
    file = inputs.OneFile(folder / "000000.csv", 0, 10)
    (made,) = inputs.write([file], table, 1, 0)
    assert len(made.read_text().splitlines()) == 10

    def full(fd: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    made.unlink()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CoreError, match=r"making input file .*000000\.part: No space left on device"):
        list(inputs.write([file], table, 1, 0))
    assert list(folder.iterdir()) == []


def test_a_file_in_whose_place_another_one_of_the_same_size_and_time_lies_is_not_held(tmp_path: Path) -> None:
    file = tmp_path / "000000.csv"
    file.write_text("1\n2\n")
    inputs.Stamps(tmp_path).keep(file)
    assert inputs.Stamps(tmp_path).hold(file)
    written = file.stat().st_mtime_ns
    file.write_text("1\n3\n")
    os.utime(file, ns=(written, written))
    assert file.stat().st_mtime_ns == written and not inputs.Stamps(tmp_path).hold(file)
