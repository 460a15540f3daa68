"""Workers of a pipeline over hosts killed, frozen and cut off, in a laboratory: load server, client, and the watcher of a shard.

`python -m benches.fleet_kills_pipeline --times 5`, as root: a scheduler and inrush on one host, a worker on each of three others,
of which the first has PostgreSQL, with a delay between each worker and the scheduler. Each fault comes at a seeded moment while
files are being loaded. Printed is what `benches.fleet_kills` prints of sessions: how long until the run has ended as failed, and
until no process of the load works any more on any of the hosts; what is wrong is named.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benches.fleet_kills import Campaign, add_options, disturbed
from benches.netlab.cluster import Cluster, cluster
from benches.netlab.database import postgresql
from inrush.load.pipeline.journal import lines
from inrush.results.store import Results

#: By the names of the workers: that on the host of the shard watches it, and of the others the first is the load server.
PARTS = {"load server": "host-2", "client": "host-3", "watcher": "host-1"}
#: As messages have them.
WORDS = {"load server": "the load server", "client": "client 1", "watcher": "the watcher of shard 0"}
FAULTS = {"killed": "worker", "frozen": "frozen", "cut off": "cut"}
VICTIMS = tuple(f"{part} {fault}" for part in PARTS for fault in FAULTS)
#: A load of 20 s or more, in files of which some have begun and none has ended when a fault comes.
STUDY = (
    "run", "pipeline-parallel", "--scale", "xs", "-P", "repeats={count=1,confirm=0}", "-P", "factors.pipelines=[2]",
    "-P", "pipeline.file_bytes=2_000_000", "-P", "pipeline.chunk_rows=400", "-P", "pipeline.flush_rows=400",
    "-P", "pipeline.pipeline_bytes_per_s=500_000", "-P", "pipeline.files={per_session=5}",
)  # fmt: skip


class Pipelines(Campaign):
    SAYS = "the run fails: "

    def __init__(self, at: Cluster, folder: Path, seed: int, url: str) -> None:
        super().__init__(at, folder, seed)
        self.url = url

    def study(self) -> Sequence[str]:
        return (*STUDY, self.url)

    def at_work(self) -> bool:
        """Rows of files have been stored."""
        journals = (
            path for study in self.store.studies() for path in study.path.glob("*/parts/**/*.journal")
        )
        return any(line["said"] == "look" and line["rows"] for path in journals for line in lines(path))

    def working(self) -> bool:
        """Parts and their ends."""
        return any(
            word.startswith("inrush.")
            for name in self.at.names
            for words in self.at.lab[name].processes().values()
            for word in words
        )

    def where(self, victim: str) -> tuple[str, str]:
        part, fault = split(victim)
        return FAULTS[fault], PARTS[part]

    def named(self, victim: str, name: str, message: str) -> bool:
        part, _ = split(victim)
        return message.startswith(f"{WORDS[part]} (worker tcp://") and f"on {name})" in message

    def kept(self, study: Path) -> bool:
        (found,) = Results(study).runs
        segments = found.table("segments").to_pylist()
        rows = [row["rows"] for row in found.table("repetitions").to_pylist()]
        return len(rows) == 1 and rows[0] > 0 and "error" in {row["ended_by"] for row in segments}


def split(victim: str) -> tuple[str, str]:
    return next((part, victim.removeprefix(f"{part} ")) for part in PARTS if victim.startswith(part))


@contextlib.contextmanager
def campaign(folder: Path, seed: int, delay_s: float, loss: float) -> Iterator[Pipelines]:
    with (
        cluster(len(PARTS), folder, seed) as at,
        # At its second address: a host that is cut off is so for its worker, and its server goes on.
        postgresql(at.lab[PARTS["watcher"]], folder / "database") as url,
    ):
        at.between(delay_s, loss)
        yield Pipelines(at, folder, seed, url)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5, help="of each fault of each part")
    add_options(parser)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="inrush-fleet-kills-", dir=asked.data) as name:
        # PostgreSQL has a user of its own, which enters this folder.
        Path(name).chmod(0o755)
        with campaign(Path(name), asked.seed, asked.delay_ms / 1e3, asked.loss) as at:
            return disturbed(at, dict.fromkeys(VICTIMS, asked.times), asked.seed, asked.within_min)


if __name__ == "__main__":
    sys.exit(main())
