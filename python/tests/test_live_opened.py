"""The page of a study as a command opens it: pushed metrics, and what stays when the study has ended."""

from __future__ import annotations

import http.client
import threading
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families as plain_families

from inrush.errors import UsageError
from inrush.report.live import opened
from inrush.report.live.opened import LivePage, page, wanted
from inrush.report.live.view import View
from tests.test_live import Run
from tests.test_live_metrics import gateway
from tests.test_live_server import until
from tests.test_run import begin

__all__ = ["gateway"]
LIMIT_S = 20.0


@pytest.fixture
def folder(tmp_path: Path) -> Any:
    return begin(tmp_path)


def viewed(folder: Any) -> View:
    return View(lambda _: None, folder, [Run(0, [])])  # type: ignore[list-item]


def closing(of: LivePage) -> threading.Thread:
    thread = threading.Thread(target=of.close, daemon=True)
    thread.start()
    return thread


def served(of: LivePage) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", of.of.socket.getsockname()[1], timeout=LIMIT_S)
    connection.request("GET", "/", headers={"Cookie": f"{of.of.access.cookie_name}={of.of.access.cookie}"})
    text = connection.getresponse().read().decode()
    connection.close()
    return text


def test_a_second_page_in_the_same_browser_leaves_the_first_one_logged_in() -> None:
    """Cookies are kept for a host, whatever its ports."""
    one, other = LivePage(wanted(None)), LivePage(wanted(None))
    assert one.of.access.cookie_name != other.of.access.cookie_name
    for each in (one, other):
        each.close()


def write_report(folder: Any, text: str) -> None:
    """As a study does: a file in place of the one before."""
    half = folder.path / "half"
    half.write_text(text, encoding="utf-8")
    half.replace(folder.path / opened.REPORT)


def test_with_stay_the_report_is_served_until_it_is_ended(folder: Any) -> None:
    of = LivePage(wanted(None, stay=True))
    write_report(folder, "the report of an earlier try")
    of.open(viewed(folder))
    write_report(folder, "the report")
    thread = closing(of)
    until(lambda: of.server is not None and of.server.served.report is not None, "the report is there")
    thread.join(1.5)
    assert thread.is_alive() and served(of) == "the report"
    assert of.server is not None
    of.server._server.should_exit = True
    thread.join(LIMIT_S)
    assert not thread.is_alive()


@pytest.mark.parametrize("earlier", ["", "the report of an earlier try"])
def test_an_error_ends_a_page_that_would_stay(folder: Any, earlier: str) -> None:
    if earlier:
        write_report(folder, earlier)
    raised: list[BaseException] = []

    def study() -> None:
        try:
            with page(wanted(None, stay=True)) as of:
                assert of is not None
                of.open(viewed(folder))
                raise UsageError("a server does not answer")
        except UsageError as e:
            raised.append(e)

    thread = threading.Thread(target=study, daemon=True)
    thread.start()
    thread.join(LIMIT_S)
    assert [str(e) for e in raised] == ["a server does not answer"]


@pytest.mark.parametrize(
    ("written", "said"), [("running", "interrupted"), ("done", "done"), ("", "interrupted")]
)
def test_what_is_seen_and_pushed_last_is_a_study_that_has_ended(
    folder: Any, gateway: Any, written: str, said: str
) -> None:
    if written:
        folder.write({"status": written})
    of = LivePage(wanted(None, push=f"http://127.0.0.1:{gateway.server_port}"))
    view = viewed(folder)
    of.open(view)
    of.close()
    (pushed,) = gateway.got
    values = {s.name: s.value for family in plain_families(pushed[2]) for s in family.samples}
    assert values["inrush_running"] == 0
    assert view.look()["status"] == said
