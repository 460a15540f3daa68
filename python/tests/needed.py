"""Packages that tests need: left out where they are not installed, and failing where nothing may be left out."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
from typing import Any

import pytest

#: Set where all that tests need must be there.
REQUIRE = "INRUSH_REQUIRE_SERVERS"


def need_distributed() -> None:
    if importlib.util.find_spec("distributed") is None:
        if os.environ.get(REQUIRE):
            raise RuntimeError(
                f"{REQUIRE} is set, and distributed is not installed: pip install 'inrush[fleet]'"
            )
        pytest.skip("distributed is not installed", allow_module_level=True)


def need_package(module: str, package: str) -> Any:
    """The module, of a package that is no part of the environment: `.ci/run` installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as e:
        if os.environ.get(REQUIRE):
            raise RuntimeError(
                f"{REQUIRE} is set, and {package} is not there ({e}): pip install {package}"
            ) from e
        pytest.skip(f"no {package} here: pip install {package}")


def need_program(name: str, package: str) -> str:
    """Its path; services' programs lie where only root looks."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if found is None:
        if os.environ.get(REQUIRE):
            raise RuntimeError(f"{REQUIRE} is set, and there is no {name}: Debian's package {package} has it")
        pytest.skip(f"no {name} here; Debian's package {package} has it", allow_module_level=True)
    return found


def need_lab() -> None:
    """Hosts in namespaces, whose network is slow and loses packets."""
    from benches.netlab.lab import lacks

    if said := lacks():
        if os.environ.get(REQUIRE):
            raise RuntimeError(f"{REQUIRE} is set, and {said}")
        pytest.skip(said, allow_module_level=True)
