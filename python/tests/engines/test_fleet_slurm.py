"""The recipes in Slurm of docs/fleet.md, as they stand there, on nodes of a Slurm of the test's own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.needed import need_distributed, need_package
from tests.recipes import blocks, with_own
from tests.strategies import ENVIRONMENT

from .recipe_server import Asking, Eyes, asking_server, files_with, pasted, proven, tried
from .slurm import command, need_slurm, slurm
from .test_fleet_ssh import free_ports

need_distributed()
need_slurm()
#: The section's block that removes what its jobs have read.
CLEANUP = 2


def job(
    home: Path, folder: Path, server: Asking, nodes: int, workers: int, block: str, *packages: str
) -> None:
    """The certificate and the password as the page makes them, then one block of the section; what it shows and leaves is right."""
    yours = blocks("Slurm")[0]
    own = {
        "export TARGET": server.url, "export PORT": str(free_ports(1)[0]),
        "export PATH": f"{Path(sys.executable).parent}:$PATH",
    }  # fmt: skip
    # The smallest scale and one point; what the page exports, and where this inrush is.
    words = ["--scale", "xs", "-P", "factors.threads=[2]", "-P", "repeats.count=1"]
    as_list = ", ".join(f'"{word}"' for word in words)
    sent = block.replace("--scale s ", f"{' '.join(words)} ").replace('"--scale", "s"', as_list)
    assert "factors.threads" in sent
    sent = sent.replace("--export=HOME,", "--export=PYTHONPATH,INRUSH_RESULTS,HOME,")
    before, sbatch, send = sent.partition("sbatch --wait")
    sent = before + tried(sbatch + send)
    script = "".join([with_own(yours, own), *blocks("ssh")[1:3], sent])
    # Slurm keeps the environment that a job was sent with, while it runs.
    here = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join([ENVIRONMENT["PYTHONPATH"], *packages]),
    }
    eyes = Eyes(server.password.encode(), (folder / "slurm",))
    with slurm(folder / "slurm", nodes) as env:
        with eyes.watching():
            done = pasted(script, home, server.password, {**env, **here})
        logs = "\n".join(f"== {p}\n{p.read_text()}" for p in home.rglob("*.log"))
        assert done.returncode == 0, done.stdout + logs
        assert command(env, "squeue", "-h") == "", "the job and its steps are ended"
    proven(home, workers)
    assert eyes.seen == set() and {"srun", "drive"} <= eyes.words
    assert files_with(server.password, home) == [home / "inrush-fleet" / "secrets"]
    assert server.password not in done.stdout + logs
    done = pasted(blocks("Slurm")[CLEANUP], home, server.password, {"PATH": os.environ["PATH"]})
    assert done.returncode == 0, done.stdout
    assert files_with(server.password, home) == files_with("PRIVATE KEY", home) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_batch_script_runs_a_study_on_a_worker_of_each_other_node(folder: Path) -> None:
    home = folder / "home"
    home.mkdir()
    with asking_server(folder) as server:
        job(home, folder, server, 3, 2, blocks("Slurm")[1])
    assert all("Registered to" in log.read_text() for log in home.glob("worker-*-0.log"))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_runner_of_dask_jobqueue_does_the_same_from_one_program(folder: Path) -> None:
    runner = need_package("dask_jobqueue", "dask-jobqueue")
    home = folder / "home"
    home.mkdir()
    with asking_server(folder) as server:
        job(home, folder, server, 4, 2, blocks("Slurm")[3], str(Path(runner.__file__).parents[1]))
