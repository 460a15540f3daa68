"""A server that does not start is explained by its own lines of the log, not by those of an earlier one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from inrush.engines.servers import life
from inrush.errors import TargetError


@pytest.mark.parametrize("second", ["the second cannot start", ""])
def test_a_second_start_does_not_quote_the_log_of_the_first(tmp_path: Path, second: str) -> None:
    log = tmp_path / "server.log"
    log.write_text("the first server is ready\n")
    before = life.size_of(log)
    with log.open("a") as out:
        process = subprocess.Popen(["sh", "-c", f"printf '%s' '{second}'; exit 3"], stdout=out)
    with pytest.raises(TargetError, match="ended while starting, code 3") as refused:
        life.wait_for([life.Launched(process, log, before)], lambda: False, 30)
    assert (second or "(nothing)") in str(refused.value)
    assert "first" not in str(refused.value)


def test_a_log_that_is_not_there_has_no_lines(tmp_path: Path) -> None:
    assert life.size_of(tmp_path / "no.log") == 0 and life.log_lines(tmp_path / "no.log") == []
