"""Recipes of docs/fleet.md that a test cannot run everywhere: a shell, Dask and inrush accept every command of them."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.needed import need_distributed, need_package
from tests.recipes import blocks, settings, with_own
from tests.test_docs import PAGES, ROOT, refusal

need_distributed()
HEADINGS = ("ssh", "Slurm", "Kubernetes")
PAGE = PAGES["docs/fleet.md"]


def manifest() -> list[dict[str, Any]]:
    import yaml

    return [*yaml.safe_load_all((ROOT / "docs" / "fleet.yaml").read_text(encoding="utf-8"))]


def named(kind: str) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one for one in manifest() if one["kind"] == kind}


def pods() -> dict[str, dict[str, Any]]:
    """Name of a deployment or a job -> its one container, and what it mounts."""
    found = {**named("Deployment"), **named("Job")}
    return {name: one["spec"]["template"]["spec"] for name, one in found.items()}


def test_a_shell_reads_every_block() -> None:
    for heading in HEADINGS:
        for block in blocks(heading):
            done = subprocess.run(["bash", "-n"], input=block, text=True, capture_output=True, check=False)
            assert done.returncode == 0, f"{heading}: {done.stderr}"


def of_dask() -> Iterator[list[str]]:
    """The words after `dask` of each call on the page."""
    text = "\n".join(block for heading in HEADINGS for block in blocks(heading)).replace("\\\n", " ")
    for line in re.findall(r"\bdask ((?:worker|scheduler) [^>\n]*)", text):
        yield shlex.split(line.rstrip(" &"))
    for pod in pods().values():
        words = pod["containers"][0]["command"]
        if words[0] == "dask":
            yield words[1:]


@pytest.mark.parametrize("words", [*of_dask()], ids=" ".join)
def test_dask_takes_every_option_and_each_worker_is_one_process_with_one_thread(words: list[str]) -> None:
    from distributed.cli import dask_scheduler, dask_worker

    program: Any = {"scheduler": dask_scheduler, "worker": dask_worker}[words[0]].main
    given = program.make_context(words[0], words[1:]).params
    if words[0] == "worker":
        assert (given["n_workers"], given["nthreads"], given["nanny"]) == ("1", 1, False)
        assert str(given["memory_limit"]) == "0" and not given["preload_argv"]
    else:
        assert not given["preload_argv"] and given["dashboard"] is False


def test_as_many_calls_of_dask_are_found_as_the_page_has() -> None:
    assert sorted(words[0] for words in of_dask()) == ["scheduler"] * 3 + ["worker"] * 3


def test_the_manifest_names_what_is_there_and_its_secrets_are_no_part_of_it() -> None:
    made = set(re.findall(r"create secret generic (\S+)", "".join(blocks("Kubernetes"))))
    assert made == {"inrush-fleet-certificate", "inrush-fleet-password"} and named("Secret") == {}
    maps, claims = named("ConfigMap"), named("PersistentVolumeClaim")
    for name, pod in pods().items():
        (container,) = pod["containers"]
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        assert {mount["name"] for mount in container["volumeMounts"]} == volumes.keys(), name
        for volume in volumes.values():
            assert volume.get("secret", {}).get("secretName", "inrush-fleet-certificate") in made
            assert volume.get("persistentVolumeClaim", {}).get("claimName", "inrush-results") in claims
        for source in container["envFrom"]:
            assert source.get("secretRef", {}).get("name", "inrush-fleet-password") in made
            assert source.get("configMapRef", {}).get("name", "inrush-fleet") in maps
    for name, one in named("Deployment").items():
        labels = one["spec"]["template"]["metadata"]["labels"]
        assert one["spec"]["selector"]["matchLabels"] == labels == {"app": name}
    (service,) = named("Service").values()
    assert service["spec"]["selector"] == {"app": service["metadata"]["name"]}
    assert {image for pod in pods().values() for image in [pod["containers"][0]["image"]]} == {
        "registry.example/inrush:0.1.0"
    }


def test_the_manifest_has_the_settings_of_the_script_over_ssh() -> None:
    (data,) = [one["data"] for one in named("ConfigMap").values()]
    script = blocks("ssh")[1]
    env = {"HOME": "/h", "PATH": "/usr/bin:/bin"}
    exports = script.split("<<'END'\n")[1].split("END\n")[0]
    said = subprocess.run(
        ["bash", "-c", f"{exports}env"], env=env, capture_output=True, text=True, check=True
    ).stdout
    of_dask = dict(line.split("=", 1) for line in said.splitlines() if line.startswith("DASK_"))
    assert {k: v.replace("/h/inrush-fleet", "/certificate") for k, v in of_dask.items()} == data


def test_the_study_of_the_manifest_waits_for_each_worker() -> None:
    (container,) = pods()["inrush-run"]["containers"]
    words = container["command"]
    assert words[0] == "inrush" and refusal(words[1:]) == ""
    replicas = named("Deployment")["inrush-worker"]["spec"]["replicas"]
    assert f"clients={replicas}" in words
    (service,) = named("Service").values()
    address = f"tls://{service['metadata']['name']}:{service['spec']['ports'][0]['port']}"
    assert address in words and address in pods()["inrush-worker"]["containers"][0]["command"]


def test_the_manifest_is_one_of_kubernetes() -> None:
    validate = need_package("kubernetes_validate", "kubernetes-validate").validate
    for one in manifest():
        validate(one, "1.37", strict=True)
    wrong = {**named("Service")["inrush-scheduler"], "specs": {}}
    with pytest.raises(Exception, match="specs"):
        validate(wrong, "1.37", strict=True)


def test_the_readers_own_is_all_that_a_recipe_begins_with() -> None:
    first = blocks("ssh")[0]
    assert settings(first)["PORT"] == "8786" and settings(first)["HOSTS"] == '"load1 load2"'
    with pytest.raises(AssertionError):
        with_own(first, {"PORT": "1"})
    assert [
        part.strip()
        for part in blocks("b", text="## a\n```sh\nx\n```\n## b\n```sh\ny\n```\nz\n```yaml\nw\n```\n")
    ] == ["y"]
