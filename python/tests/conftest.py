"""What all tests share."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from inrush.engines.servers.life import cache_folder

# The client library of NDB wants libstdc++'s variables of a thread where no library has them yet, and the imports below
# load many before a test asks for it.
for ndb in cache_folder().glob("ndb/libinrush_ndb.so"):
    ctypes.CDLL(str(ndb))

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

from tests.terminal import Inrush  # noqa: E402
from tests.undisturbed import leave_others_out  # noqa: E402

PACKAGE = Path(__file__).parents[1]
TESTS = Path(__file__).parent
#: A test marked ci or slow takes as long as so many others.
DEAR = 8
#: So many new objects before they are looked at for garbage (Python's own default: 700).
GARBAGE = 50_000

# A machine that is busy with something else is no failure of ours; pytest's own limit ends what hangs.
settings.register_profile("inrush", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# What a property without a number of its own gets where time is short; beside the tests marked slow it gets all 100.
settings.register_profile("brief", settings.get_profile("inrush"), max_examples=30)


#: Where no server may be missing, as in CI, which has the time for what is marked ci too.
REQUIRE = "INRUSH_REQUIRE_SERVERS"
#: Where no server is started, whatever is fetched: `make test` runs the same tests on every machine.
START_NONE = "INRUSH_START_NO_SERVERS"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests marked ci or slow too")
    parser.addoption(
        "--reversed-files",
        action="store_true",
        help="run the files in reversed order: what depends on it fails",
    )


@pytest.fixture
def whole(request: pytest.FixtureRequest) -> bool:
    """Whether a test that repeats something may take all of its repetitions."""
    return bool(request.config.getoption("--slow"))


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("inrush" if config.getoption("--slow") else "brief")


def pytest_collection(session: pytest.Session) -> None:
    """With `-n` in a fresh clone, each process compiles its share of the tests' files, not all of them each."""
    # What modules and plans are made of stays: looking whether it is garbage takes a tenth of the CPU time.
    gc.set_threshold(GARBAGE)
    config = session.config
    worker = getattr(config, "workerinput", None)
    if worker is None or config.args != config.getini("testpaths"):
        return
    share, shares = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    for file in sorted(TESTS.rglob("test_*.py"))[share::shares]:
        # One that cannot be imported, or skips itself, says so when it is collected.
        with contextlib.suppress(Exception, pytest.skip.Exception):
            importlib.import_module(".".join(file.relative_to(PACKAGE).with_suffix("").parts))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is marked slow or ci, unless it is asked for: by --slow or a test's full name; ci, by the environment."""
    if not config.getoption("--slow") and not any("::" in a for a in config.args):
        left_out = ("slow",) if os.environ.get(REQUIRE) else ("slow", "ci")
        dear = {item for item in items if any(item.get_closest_marker(mark) for mark in left_out)}
        config.stash[LEFT_OUT] = len(dear)
        items[:] = [item for item in items if item not in dear]
        config.hook.pytest_deselected(items=list(dear))
    files = by_file(items, [item.path for item in items])
    if config.getoption("--reversed-files"):
        items[:] = [item for of_file in reversed(files) for item in of_file]
    elif hasattr(config, "workerinput"):
        items[:] = [item for of_file in sorted(files, key=weight, reverse=True) for item in of_file]


Item = TypeVar("Item")


def by_file(items: Sequence[Item], files: Sequence[Path]) -> list[list[Item]]:
    """A file's items together, in their order, for they share its fixtures. Pure."""
    found: dict[Path, list[Item]] = {}
    for item, file in zip(items, files, strict=True):
        found.setdefault(file, []).append(item)
    return list(found.values())


def weight(of_file: Sequence[pytest.Item]) -> int:
    """How long a file takes, roughly: with `-n` the longest begin first, so that none is left to one process at the end."""
    dear = sum(1 for item in of_file if item.get_closest_marker("ci") or item.get_closest_marker("slow"))
    return len(of_file) + (DEAR - 1) * dear


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if count := config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(
            f"{count} slow test{'s were' if count > 1 else ' was'} left out; `make test-all` runs them too"
        )
    skipped = [r for r in terminalreporter.stats.get("skipped", []) if START_NONE in str(r.longrepr)]
    if skipped:
        terminalreporter.write_line(
            f"{len(skipped)} tests were skipped that start a server; `make test-all` runs them on those fetched"
        )


LEFT_OUT = pytest.StashKey[int]()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With `-n`, what was left out is known to the processes that collect and said by the one that does not."""
    if (detail := getattr(session.config, "workeroutput", None)) is not None:
        detail["left_out"] = session.config.stash.get(LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `-n`: a file's tests share what its fixtures made; those on servers share the servers of one process, unless
    they are all that is tested: then each process has servers."""
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False  # they are in their order already
    each_has_servers = all("engines" in arg for arg in config.args)

    class ByFile(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split("::", 1)[0]
            return "servers" if "/engines/" in file and not each_has_servers else file

    return ByFile(config, log)


@pytest.fixture(autouse=True, scope="module")
def nobody_else(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests run beside each other: what their runs lose to that fails none, but where it is what is tested.

    For a whole file, so that it holds while a fixture of that file analyses a study, too.
    """
    with pytest.MonkeyPatch.context() as patch:
        if "starved" not in request.path.name:
            leave_others_out(patch)
        yield


@pytest.fixture(scope="session", autouse=True)
def register_of_all_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Servers of fixtures that outlive a test are in no list of the user's."""
    from inrush.targets import register

    path = tmp_path_factory.getbasetemp() / "registers" / "session.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(register, "file", lambda: path)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_server_is_left() -> Iterator[None]:
    """What a test or a fixture starts, it ends."""
    yield
    from inrush.engines.servers import life

    assert not (left := life.running_children()), f"servers were left running: processes {left}"


@pytest.fixture(scope="session", autouse=True)
def disk_is_probed_once() -> Iterator[None]:
    """Of each file system: what studies in this process write before their first run takes 0.6 s each time.

    That a folder cannot be written is found each time. A second probe in the middle of a study is a new one.
    """
    from inrush.machine import probed

    environment, probe = probed.environment, probed.disk_probe
    known: dict[int, dict[str, Any]] = {}

    def known_or_probed(folder: Path) -> dict[str, Any]:
        folder.mkdir(parents=True, exist_ok=True)
        device = folder.stat().st_dev
        if device not in known:
            known[device] = probe(folder)
        with tempfile.NamedTemporaryFile(dir=folder):
            return dict(known[device])

    def environment_of(data_dir: Path) -> dict[str, Any]:
        with pytest.MonkeyPatch.context() as patch:
            if probed.disk_probe is probe:  # not a test's own
                patch.setattr(probed, "disk_probe", known_or_probed)
            return environment(data_dir)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probed, "environment", environment_of)
        yield


@pytest.fixture(scope="session", autouse=True)
def charts_are_checked(pytestconfig: pytest.Config) -> None:
    """Where there is time for it, every chart of every test; else those of `test_figures.py`."""
    if pytestconfig.getoption("--slow"):
        from inrush.report import charts

        charts.CHECKED = True


@pytest.fixture(autouse=True)
def own_register(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Servers of tests are in no list of the user's."""
    from inrush.targets import register

    path = tmp_path_factory.getbasetemp() / "registers" / f"{hash(request.node.nodeid):x}.json"
    monkeypatch.setattr(register, "file", lambda: path)


@pytest.fixture
def inrush(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Inrush]:
    monkeypatch.setenv("INRUSH_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("PYTHONPATH", str(PACKAGE))
    monkeypatch.setenv("COLUMNS", "200")
    yield Inrush(capsys, tmp_path / "results")
