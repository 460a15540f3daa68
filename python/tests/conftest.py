"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.terminal import Inrush

PACKAGE = Path(__file__).parents[1]

# A machine that is busy with something else is no failure of ours; pytest's own limit ends what hangs.
settings.register_profile("inrush", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("inrush")


@pytest.fixture
def inrush(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Inrush]:
    monkeypatch.setenv("INRUSH_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("PYTHONPATH", str(PACKAGE))
    monkeypatch.setenv("COLUMNS", "200")
    yield Inrush(capsys, tmp_path / "results")
