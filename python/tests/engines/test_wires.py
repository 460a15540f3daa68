"""The wire halves pass their own tests (rust/core/tests) on real servers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from inrush.engines.base.instance import Target

from .servers import each_kind

ROOT = Path(__file__).parents[3]


@pytest.mark.timeout(900)  # it may have to be compiled
@pytest.mark.parametrize(
    ("engine", "tests"), [("postgresql", "postgresql"), ("mysql", "mysql"), ("mariadb", "mysql")]
)
def test_a_wire_half_passes_its_own_tests_on_a_real_server(
    engine: str, tests: str, request: pytest.FixtureRequest
) -> None:
    passes_its_own_tests(request.getfixturevalue(engine), f"{tests}::")


@pytest.mark.timeout(900)
@pytest.mark.parametrize("engine", each_kind(["postgresql", "mysql"], {"mysql"}))
def test_every_lie_about_a_call_has_its_word_at_every_depth(
    engine: str, request: pytest.FixtureRequest
) -> None:
    passes_its_own_tests(request.getfixturevalue(engine), f"lies::every_lie_has_its_word_on_{engine}_")


@pytest.mark.timeout(900)
def test_every_lie_about_a_row_that_is_set_by_its_key_is_told_on_valkey_at_every_depth(
    valkey: Target,
) -> None:
    passes_its_own_tests(valkey, "by_key::lies_about_calls_by_key_are_told_on_valkey_")


def passes_its_own_tests(target: Target, tests: str, **environment: str) -> None:
    """Runs the ignored tests of `rust/core/tests/all.rs` whose names contain `tests`, compiled as `make test-rust` does."""
    others = {k: v for k, v in os.environ.items() if not (k.startswith("INRUSH_") and k.endswith("_URL"))}
    done = subprocess.run(
        [
            *(
                "cargo",
                "test",
                "--quiet",
                "--release",
                "--config",
                "rust/tests.toml",
                "--workspace",
            ),
            *("--test", "all", "--", "--ignored", tests),
        ],
        cwd=ROOT,
        env={**others, **environment, f"INRUSH_{target.engine.upper()}_URL": target.url},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "0 failed" in done.stdout and " 0 passed" not in done.stdout
