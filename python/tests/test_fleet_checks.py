"""What a fleet is refused for, before anything runs; and that no secret is in a message, a plan or a file of results."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from _pytest.outcomes import Skipped

from inrush.engines import ENGINES, server
from inrush.errors import TargetError, UsageError
from inrush.fleet import checks, remote
from inrush.fleet.address import SchedulerAddress, parse, reached_only_here
from inrush.fleet.local import owned, remove_left, write_variables
from inrush.fleet.open import plan_problems
from inrush.fleet.taken import looked_at
from inrush.run.call import StudyCall
from inrush.run.prepare import with_clients
from tests.needed import REQUIRE, need_distributed
from tests.terminal import Inrush


@pytest.mark.parametrize(
    ("text", "insecure", "is_"),
    [
        ("local:3", False, SchedulerAddress(local=3)),
        ("tcp://127.0.0.1:8786", True, SchedulerAddress("tcp://127.0.0.1:8786")),
        ("tcp://[::1]:8786", True, SchedulerAddress("tcp://[::1]:8786")),
        ("tls://scheduler:8786", False, SchedulerAddress("tls://scheduler:8786")),
        ("tcp://scheduler:8786", True, SchedulerAddress("tcp://scheduler:8786")),
    ],
)
def test_an_address_is_here_or_under_tls_or_said_to_be_insecure(
    text: str, insecure: bool, is_: SchedulerAddress
) -> None:
    assert parse(text, insecure) == is_


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("local:0", "from 1 to 64"),
        ("local:two", "from 1 to 64"),
        ("scheduler:8786", "not an address"),
        ("tcp://scheduler", "not an address"),
        ("tcp://scheduler:x", "not an address"),
        ("tcp://[x", "not an address"),
        ("tls://[secret", "not an address"),
        ("http://scheduler:8786", "not an address"),
        ("tcp://scheduler:8786", "--fleet-insecure"),
        ("tcp://10.0.0.7:8786", "in clear"),
        ("tcp://127.0.0.1:8786", "also another user of this machine"),
        ("tcp://[::1]:8786", "also another user of this machine"),
        ("tcp://localhost:8786", "also another user of this machine"),
        ("tls://me:secret@scheduler:8786", "without user, password"),
        ("tls://scheduler:8786?token=secret", "not an address"),
    ],
)
def test_what_is_no_address_or_would_travel_in_clear_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as info:
        parse(text)
    assert "secret" not in str(info.value)


def spaces(kernel: str, **own: str) -> dict[str, str]:
    """own: of a container, which has some of them for itself."""
    return {what: f"{kernel} {own.get(what, 1)}" for what in remote.SPACES} | {"kernel": kernel}


def fact(host: str = "a", **other: Any) -> dict[str, Any]:
    return {
        "same": {"inrush": "1", "core file": "x"},
        "host": host,
        "boot": host,
        "spaces": spaces(host),
        "lacks": [],
        "open": "",
        "variables": {},
        **other,
    }


def test_a_worker_with_another_version_is_named() -> None:
    facts = {"tcp://1:1": fact(), "tcp://2:2": fact("b", same={"inrush": "1", "core file": "y"})}
    (line,) = checks.unequal(facts, fact())
    assert line.startswith("worker tcp://2:2 on b: its core file is y, and ours x")
    assert checks.unequal({"tcp://1:1": fact()}, fact()) == []


def test_a_slow_core_is_named_and_noise_is_not() -> None:
    facts = {"1": fact(), "2": fact("b")}
    assert checks.slow({"1": 100.0, "2": 80.0}, facts) == []
    (line,) = checks.slow({"1": 100.0, "2": 60.0}, facts)
    assert line.startswith("worker 2 on b: its core makes 60 rows")


@pytest.mark.parametrize(("seen", "refused"), [([60.0, 55.0, 90.0, 50.0], False), ([60.0] * 9, True)])
def test_a_core_that_looks_slow_is_looked_at_again(
    seen: list[float], refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine of the second worker does something else at first, or its core is slow each time."""
    ours, looks = remote.facts(()), {"1": iter([100.0] * 9), "2": iter(seen)}
    facts = {name: {**ours, "host": name} for name in looks}

    class OfTwo:
        address = "tcp://s:1"

        def workers(self) -> dict[str, Any]:
            return {name: {"name": name, "host": name} for name in looks}

        def call(self, worker: str, limit_s: float, function: Any, *_: Any) -> Any:
            return facts[worker] if function is remote.facts else next(looks[worker])

    with pytest.raises(TargetError, match="worker 2 on 2: its core makes 60") if refused else nullcontext():
        _, _, rates = looked_at(OfTwo(), 2)
        assert rates == {"1": 100.0, "2": 90.0}


def test_a_worker_without_the_password_is_named_and_told_where_it_may_be() -> None:
    (line,) = checks.lacking({"1": fact(), "2": fact("b", lacks=["PGPASSWORD"])})
    assert (
        line.startswith("worker 2 on b: PGPASSWORD is not in its environment")
        and "INRUSH_FLEET_SECRETS" in line
    )


def test_a_file_of_passwords_that_others_can_read_is_not_read_and_its_worker_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = tmp_path / "secrets"
    secrets.write_text("PGPASSWORD=a=b\n")
    monkeypatch.setenv(remote.SECRETS, str(secrets))
    monkeypatch.delenv("PGPASSWORD", raising=False)
    for mode in (0o644, 0o640, 0o602):
        secrets.chmod(mode)
        found = remote.facts(("PGPASSWORD",))
        assert found["open"] == str(secrets) and found["lacks"] == ["PGPASSWORD"] and remote.variables() == {}
    (line,) = checks.readable({"1": fact("b", open=str(secrets)), "2": fact()})
    assert line == f"worker 1 on b: {secrets} can be read by other users, and is not used; chmod 600 it there"
    for mode in (0o600, 0o400):
        secrets.chmod(mode)
        found = remote.facts(("PGPASSWORD",))
        assert found["open"] == "" and found["lacks"] == [] and remote.variables() == {"PGPASSWORD": "a=b"}
    secrets.unlink()
    assert remote.facts()["open"] == ""


def test_a_variable_that_is_another_one_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSSLMODE", "verify-full")
    monkeypatch.delenv("PGPASSFILE", raising=False)
    ours = remote.facts((), ("PGSSLMODE", "PGPASSFILE"))
    same = fact(variables=ours["variables"])
    assert checks.other_variables({"1": same}, ours) == []
    (lacks,) = checks.other_variables({"1": same, "2": fact("b")}, ours)
    assert lacks.startswith("worker 2 on b: PGSSLMODE is not set in its environment, and here verify-full")
    (more,) = checks.other_variables(
        {"2": fact("b", variables={**ours["variables"], "PGPASSFILE": "/p"})}, ours
    )
    assert more.startswith("worker 2 on b: PGPASSFILE is /p in its environment, and here not set")


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_each_variable_that_the_core_reads_for_an_engine_is_known_to_its_twin(engine: str) -> None:
    twin = server(engine)
    assert twin.password_variable not in twin.client_variables
    assert not any("PASS" in name and name != "PGPASSFILE" for name in twin.client_variables), "no secret"


def test_a_folder_of_a_fleet_whose_inrush_is_gone_is_removed_and_no_other(tmp_path: Path) -> None:
    gone, alive, other = (tmp_path / name for name in ("inrush-fleet-1", "inrush-fleet-2", "mine"))
    for folder in (gone, alive, other):
        folder.mkdir()
        (folder / "variables").write_text("PGPASSWORD=secret")
    with owned(gone):
        remove_left(tmp_path)
        assert gone.is_dir()
    with owned(alive):
        remove_left(tmp_path)
        assert not gone.exists() and alive.is_dir() and other.is_dir()


@pytest.mark.parametrize(
    "url",
    ["tcp://localhost/x", "postgresql://127.0.0.1:5", "sqlite:///file", "postgresql://%2Ftmp%2Fsocket/db"],
)
def test_an_address_of_this_host_is_no_target_for_others(url: str) -> None:
    assert reached_only_here(url)
    facts = {"1": fact("here"), "2": fact("b")}
    ours = spaces("here")
    assert checks.unreachable(facts, ours, "e", url, False)[0].startswith("worker 2 on b: ")
    assert checks.unreachable({"1": fact("here")}, ours, "e", url, False) == []


def test_loopback_of_a_container_is_not_ours_and_a_socket_may_be() -> None:
    facts = {"3": fact("pod", boot="here", spaces=spaces("here", network="2"))}
    for url in ("tcp://localhost/x", "postgresql://127.0.0.1:5"):
        (line,) = checks.unreachable(facts, spaces("here"), "e", url, False)
        assert line.startswith(f"worker 3 on pod: {url} is no address there")
    assert checks.unreachable(facts, spaces("here"), "e", "postgresql://%2Ftmp%2Fsocket/db", False) == []


def test_hosts_of_one_kernel_share_its_cores_whatever_they_are_called() -> None:
    pods = {"1": fact("pod-1", boot="k"), "2": fact("pod-2", boot="k"), "3": fact("c")}
    assert checks.crowded(pods) == ["pod-1, pod-2 are one machine: its 2 workers share its cores"]
    assert checks.crowded({"1": fact(), "2": fact()}) == ["a has 2 workers, which share its cores"]


def test_a_file_of_another_host_is_no_target() -> None:
    assert not reached_only_here("postgresql://db.example/y")
    assert (
        "inside of the client"
        in checks.unreachable({"2": fact("b")}, spaces("here"), "e", "postgresql://db/y", True)[0]
    )


def from_files(way: str = "client", source: Any = None, **watch: Any) -> Any:
    made = {"kind": "inputs", "inputs": [{"folder": "/data/files", "way": way}]}
    return {
        "segments": [made, {"kind": "control"}],
        "tables": [{"source": source or {"kind": "generated"}}],
        "watch": watch,
    }


def test_files_that_a_server_reads_are_loaded_by_processes_of_their_host_alone() -> None:
    facts, ours = {"1": fact("here"), "2": fact("b")}, spaces("here")
    (said,) = checks.without_files(facts, ours, from_files("server"))
    assert said.startswith("worker 2 on b: the server reads the files of the load by itself (server_file)")
    assert 'way = "client_file"' in said and "local:N" in said
    assert checks.without_files({"1": fact("here")}, ours, from_files("server")) == []
    # Each worker makes those whose bytes it sends.
    for way in ("client", "parsed"):
        assert checks.without_files(facts, ours, from_files(way)) == []


def test_files_of_the_user_are_loaded_on_their_host_alone() -> None:
    facts, ours = {"1": fact("b")}, spaces("here")
    yours = {**from_files(source={"kind": "files", "paths": ["/home/me/x.csv"]}), "segments": []}
    (said,) = checks.without_files(facts, ours, yours)
    assert (
        said.startswith("worker 1 on b: /home/me/x.csv is a file of yours on this host") and "local:1" in said
    )
    assert checks.without_files({"1": fact("here")}, ours, yours) == []


def test_a_folder_for_input_files_is_none_of_workers_that_make_their_own() -> None:
    facts, ours = {"1": fact("here")}, spaces("here")
    (said,) = checks.without_files(facts, ours, from_files(folders={"input": "/disk"}))
    assert said.startswith("--input: each worker makes the files") and "--local-directory" in said
    assert checks.without_files(facts, ours, from_files("server", folders={"input": "/disk"})) == []
    assert (
        checks.without_files(facts, ours, {**from_files(folders={"input": "/d"}), "loads": {"pipelines": {}}})
        == []
    )


def test_all_runs_of_a_study_take_the_workers_that_it_began_with() -> None:
    """One that comes between two runs and stands first by its name, one that goes, and a run with fewer processes."""
    ours = remote.facts(())
    there = {name: {"name": name, "host": name} for name in ("load2", "load3")}

    class Growing:
        address = "tcp://s:1"

        def workers(self) -> dict[str, Any]:
            return there

        def call(self, worker: str, limit_s: float, function: Any, *_: Any) -> Any:
            return {**ours, "host": worker} if function is remote.facts else 100.0

    link: Any = Growing()
    first, _, _ = looked_at(link, 2)
    there["load1"] = {"name": "load1", "host": "load1"}
    assert first == ["load2", "load3"] != looked_at(link, 2)[0]
    assert looked_at(link, 2, among=first)[0] == first and looked_at(link, 1, among=first)[0] == first[:1]
    del there["load3"]
    with pytest.raises(TargetError, match="began with load3, which is gone"):
        looked_at(link, 2, among=first)


def test_a_run_takes_hosts_before_it_takes_workers_of_one() -> None:
    there = {str(n): {"name": str(n), "host": host} for n, host in enumerate(["a", "a", "b", "c"])}
    assert checks.chosen(there, 3) == ["0", "2", "3"]
    assert set(checks.chosen(there, 4)) == set(there) and checks.chosen(there, 9) == checks.chosen(there, 4)


def test_variables_are_read_by_this_user_alone(tmp_path: Path) -> None:
    write_variables(tmp_path / "v", {"PGPASSWORD": "a=b"})
    assert (tmp_path / "v").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "v").read_text() == "PGPASSWORD=a=b\n"


def test_a_fleet_says_how_many_client_processes_unless_the_study_or_the_call_does() -> None:
    call = StudyCall("keylookup-threads", "xs", fleet="local:3")
    assert with_clients(call, lambda: 3).overrides == ("clients=3",)
    assert "--fleet local:3" in call.command() and call.document()["fleet"] == "local:3"

    def asked() -> int:
        raise AssertionError("no scheduler is asked what the call or the study says")

    own = StudyCall("keylookup-threads", "xs", ("clients=2",), fleet="local:3")
    assert with_clients(own, asked) is own
    varied = StudyCall("keylookup-clients", "xs", fleet="local:3")
    assert with_clients(varied, asked) is varied, "it is a factor there"
    assert with_clients(call, lambda: 1) is call


def test_a_pipeline_says_itself_how_many_workers_it_takes() -> None:
    def asked() -> int:
        raise AssertionError("no scheduler is asked")

    call = StudyCall("pipeline-parallel", "xs", fleet="local:3")
    assert with_clients(call, asked) is call


def test_what_of_the_loader_is_on_one_host_is_refused_in_one_line(inrush: Inrush) -> None:
    for words, why in (
        (("-P", "pipeline.client_hosts=2", "-P", "pipelines=[2]"), "say --fleet, or take 1"),
        (("-P", "pipeline.load_server_on=host-2"), "name workers of a fleet; say --fleet"),
        (("-P", "pipeline.clients_on=['host-2']"), "name workers of a fleet; say --fleet"),
        (
            ("-P", "pipeline.process_per_file=true", "-P", "pipelines=[1]", "--fleet", "local:2"),
            "processes of one host",
        ),
    ):
        said = inrush("run", "pipeline-parallel", "sqlite", "--scale", "xs", *words)
        assert said.code == 2 and why in said.err, said.err
        assert not list(inrush.store.studies()), "nothing was begun"


def test_real_time_priority_is_not_left_out_in_silence(inrush: Inrush) -> None:
    words = ("keylookup-clients", "null", "--scale", "xs", "-P", "factors.clients=[1]")
    said = inrush("run", *words, "--fleet", "local:1", "--realtime")
    assert said.code == 2 and "--realtime: is for client processes of this machine" in said.err
    assert not list(inrush.store.studies()), "nothing was begun"


@pytest.mark.parametrize("required", [True, False])
def test_what_a_fleet_needs_is_left_out_in_silence_only_where_it_may_be(
    required: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setenv(REQUIRE, "1" * required)
    with pytest.raises(RuntimeError if required else Skipped, match="distributed is not installed"):
        need_distributed()


def test_a_fleet_of_this_machine_that_is_too_small_is_refused_with_its_size() -> None:
    plan: Any = {"share": {"index": 0, "of": 3}, "segments": [], "tables": [], "target": {"engine": "sqlite"}}
    (problem,) = plan_problems("local:2", False, [plan])
    assert str(problem).endswith("local:2: a run of the study takes 3 workers; say --fleet local:3")
