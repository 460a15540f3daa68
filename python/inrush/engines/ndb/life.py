"""The life of a MySQL Cluster of inrush's own: a management server and its data nodes, as one instance."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from inrush.engines.base.instance import Instance, Release, log_of
from inrush.engines.ndb import config as ndb_config
from inrush.engines.ndb import management as ndb_management
from inrush.engines.ndb import sql as ndb_sql
from inrush.engines.ndb.release import HINT, ClusterPrograms
from inrush.engines.servers import ports, private, profiles, server_limits
from inrush.engines.servers.own_server import PROFILE, STOP_S, OwnServer, ServerPlace, ServerProcess
from inrush.errors import TargetError, UsageError

MANAGEMENT = "management"
CONFIG = "config.ini"
#: Beside the data: how many nodes it lies on.
SHAPE = "shape.json"
#: There once all nodes have been ready: a start that was cut off before is begun anew.
STARTED = "started"
#: Below the files of a node: what it knows of the whole cluster. Behind the format's name and four words are bits.
SYSTEM_FILE = "D1/DBDIH/P0.sysfile"
MAGIC, BITS, INITIAL_START = b"NDBSYSF2", 28, 1
#: What a data node says of its threads: those that execute, by type, and others by what they do.
EXECUTES = re.compile(r"thr: \d+ tid: (\d+) \((\w+)\)")
SERVES = re.compile(r"Started thread, index = \d+, id = (\d+), type = (\w+?)(?:Thread)?$", re.MULTILINE)
MANAGEMENT_ERROR = re.compile(r"\bERROR\s+-- (.*)")
NODE_ERROR = re.compile(r"\b(?:WARNING|ERROR|ALERT|CRITICAL)\s+-- (.*)")
#: Warnings of a slow machine, and of a setting that is smaller than what it would choose.
HARMLESS = re.compile(r"is stuck in|overslept|timerHandlingLab|Watchdog|Calculated TransactionMemory")
FULL_BYTES = 64 << 20
#: Names of the latter -> the type that they are shown as.
SHOWN = {"Ndbfs": "io", "WatchDog": "watchdog", "SocketClient": "socket", "SocketServer": "socket"}


class NdbLife(OwnServer):
    name = "ndb"
    title = "NDB"
    #: Data of one series are opened by the next only by a rolling upgrade.
    series = 2
    left_open = "MySQL Cluster has no passwords: every user of this machine can reach its processes on the loopback address"
    unknown_setting = re.compile(r"Unknown parameter: (\w+)")
    with_less_memory = "DataMemory"
    reserved = frozenset(ndb_config.RESERVED)
    offers = {"9.7": ClusterPrograms()}  # noqa: RUF012

    def url_of(self, port: int) -> str:
        return f"ndb://127.0.0.1:{port}"

    def not_in_all(self) -> str:
        if ClusterPrograms().at_hand():
            return ""
        return f"it would be built from source; {HINT}, or fetch {self.name} by its name"

    def fetch(self, version: str | None = None) -> Release:
        self.offer(version)
        return ClusterPrograms(note=self.note).release()

    # settings

    def known_settings(self, release: Release) -> frozenset[str] | None:
        """The management server refuses one that it does not know, and says which."""
        return None

    def chosen(self, release: Release | None, settings: Mapping[str, str]) -> dict[str, str]:
        own = self._own(settings)
        if taken := sorted(name for name in own if name.lower() in self.reserved):
            own_names = sorted(
                {ndb_config.BY_OWN[n.lower()] for n in taken if n.lower() in ndb_config.BY_OWN}
            )
            by = f", by {', '.join(own_names)}" if own_names else ""
            raise UsageError(f"{self.name}: inrush sets {', '.join(taken)} itself{by}")
        if ndb_config.shape(own).sql and release is not None:
            self.sql_program(release)
        return self._with_profile(settings)

    def _with_profile(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Together the nodes may use what one server may: the budget is the machine's."""
        own = self._own(settings)
        limits = server_limits.limits_of(server_limits.split(settings)[1])
        memory = int(limits["memory"]) if "memory" in limits else profiles.memory()
        share = memory // ndb_config.shape(own).nodes
        return ndb_config.one_case(profiles.settings(self.name, settings.get(PROFILE), share), own)

    def setting_name(self, name: str) -> str:
        return {ndb_config.NODES: "data_nodes"}.get(name, name)

    def cannot_start(self, settings: Mapping[str, str]) -> str:
        chosen = self._with_profile(settings)
        of = ndb_config.shape(chosen)
        nodes = of.nodes
        need, there = nodes * ndb_config.memory_bytes(parameters(chosen)), available_bytes()
        need += ndb_sql.BYTES if of.sql else 0
        if need <= there:
            return ""
        return (
            f"{nodes} nodes need {need / 1e9:.1f} GB of memory, and {there / 1e9:.1f} GB are free; take fewer nodes or a smaller "
            "DataMemory"
        )

    # its files

    def make(self, place: ServerPlace) -> None:
        of = ndb_config.shape(place.settings)
        for name in (MANAGEMENT, *of.names):
            private.folder(place.home / name, place.user)
        private.write(place.home / SHAPE, json.dumps({"nodes": of.nodes, "replicas": of.replicas}) + "\n")

    def before_launch(self, place: ServerPlace) -> None:
        of = ndb_config.shape(place.settings)
        made = json.loads((place.home / SHAPE).read_text())
        if made != {"nodes": of.nodes, "replicas": of.replicas}:
            raise UsageError(
                f"{place.data} is a cluster of {made['nodes']} nodes with {made['replicas']} replicas, on which its tables lie; start it "
                f"with nodes={made['nodes']},replicas={made['replicas']}, or choose another --data"
            )
        if why := self.cannot_start(place.settings):
            raise TargetError(f"{self.title} in {place.data}: {why}")
        if of.sql:
            ndb_sql.make(place, self.sql_program(place.release))

    def command(self, place: ServerPlace) -> Sequence[str | Path]:
        """Of the management server. It reads the file at each start, so that it keeps none of its own."""
        of, home = ndb_config.shape(place.settings), place.home
        config = place.data / CONFIG
        text = ndb_config.file(of, parameters(place.settings), place.port, free_ports(of.nodes), home)
        private.write(config, text, place.user)
        return [
            self.program(place.release).with_name("ndb_mgmd"),
            "--nodaemon",
            "--config-cache=0",
            f"--config-file={config}",
            f"--configdir={home / MANAGEMENT}",
            "--bind-address=127.0.0.1",
        ]

    def processes(self, place: ServerPlace) -> Sequence[ServerProcess]:
        of = ndb_config.shape(place.settings)
        management = ServerProcess(
            self.command(place),
            place.log,
            lambda: bool(ndb_management.states(place.port)) and ports.serves(place.port, place.home),
            MANAGEMENT,
            refusal,
        )
        # They wait for each other: each is launched at once, and the last is ready when all are.
        last = of.names[-1]
        return [
            management,
            *(
                ServerProcess(
                    self._node(place, k),
                    log_of(place.data, name),
                    (lambda: self.is_ready(place)) if name == last else (lambda: True),
                    name,
                    lambda lines: failure(lines, shutil.disk_usage(place.home).free),
                )
                for k, name in enumerate(of.names, start=1)
            ),
            *([self._sql(place, of.sql_id)] if of.sql else []),
        ]

    def _sql(self, place: ServerPlace, node: int) -> ServerProcess:
        log = log_of(place.data, ndb_sql.ROLE)
        return ndb_sql.process(place, self.sql_program(place.release), log, node)

    def sql_program(self, release: Release) -> Path:
        """Raises UsageError where there is none."""
        if (found := ndb_sql.program(release)) is None:
            raise UsageError(ndb_sql.refusal(release))
        return found

    def process_url(self, instance: Instance, process: str) -> str:
        is_sql = process == ndb_sql.ROLE
        return ndb_sql.url_in(instance.data) if is_sql else instance.url

    def client(self, instance: Instance, process: str = "") -> str:
        if process != ndb_sql.ROLE:
            return ""
        return ndb_sql.client(instance)

    def _node(self, place: ServerPlace, node: int) -> Sequence[str | Path]:
        return [
            self.program(place.release),
            "--foreground",
            # Nodes that begin in an empty folder without this word cannot be restored by their next start.
            *([] if (place.home / STARTED).is_file() else ["--initial"]),
            f"--ndb-nodeid={node}",
            f"--ndb-connectstring=127.0.0.1:{place.port}",
        ]

    def is_ready(self, place: ServerPlace) -> bool:
        """The first time it leaves a mark: from then on the nodes hold data.

        For up to two seconds after its first start a cluster could not be restored: it would begin anew, even after a
        clean end. Until then it is not ready.
        """
        of, mark = ndb_config.shape(place.settings), place.home / STARTED
        if not ndb_management.all_started(place.port, of.nodes):
            return False
        if not mark.is_file():
            files = [
                place.home / name / f"ndb_{k}_fs" / SYSTEM_FILE for k, name in enumerate(of.names, start=1)
            ]
            if any(begins_anew(file) for file in files):
                return False
            private.write(mark, "")
        return True

    def before_end(self, port: int) -> None:
        ndb_management.stop_nodes(port, STOP_S)

    # its threads

    def threads(self, instance: Instance) -> dict[int, str]:
        """Thread -> its type: the kernel knows all of them by the program's name alone."""
        found: dict[int, str] = {}
        for name, pid in instance.processes.items():
            log = instance.log_of(name)
            if name != MANAGEMENT and log.is_file():
                alive = {int(task.name) for task in Path(f"/proc/{pid}/task").glob("[0-9]*")}
                found |= {
                    tid: of
                    for tid, of in thread_types(log.read_text(errors="replace")).items()
                    if tid in alive
                }
        return found


def refusal(lines: Sequence[str]) -> str:
    """Why a management server ended: the first error in its log, and a line without a time behind it. Pure."""
    for k, line in enumerate(lines):
        if found := MANAGEMENT_ERROR.search(line):
            behind = lines[k + 1].strip() if k + 1 < len(lines) else ""
            return found[1].strip() + ("" if not behind or behind[:4].isdigit() else f" {behind}")
    return ""


def failure(lines: Sequence[str], free_bytes: int) -> str:
    """Why a data node ended: the last of what it warned of, a full disk, or the last that it said. Pure.

    free_bytes: on the disk of its files; on a full one its log too is cut off.
    """
    found = [match[1].strip() for line in lines if (match := NODE_ERROR.search(line))]
    if said := next((said for said in reversed(found) if not HARMLESS.search(said)), ""):
        return said
    if free_bytes < FULL_BYTES:
        return f"{free_bytes / 1e6:.0f} MB are left on the disk of its files"
    return f"its last words were: {lines[-1].strip()}" if lines else ""


def begins_anew(file: Path) -> bool:
    """Whether a node of whose files this is the system's would begin anew: it has none, or one of a start that goes on.

    A file of another format says nothing: then a node that has it is one that has started.
    """
    written = file.read_bytes() if file.is_file() else b""
    if written[: len(MAGIC)] != MAGIC:
        return not written
    return int.from_bytes(written[BITS : BITS + 4], "little") & INITIAL_START > 0


def thread_types(log: str) -> dict[int, str]:
    """Of the log of a data node; a later thread of the same id is what it is now. Pure."""
    served = {int(tid): SHOWN.get(kind, kind.lower()) for tid, kind in SERVES.findall(log)}
    return served | {int(tid): kind for tid, kind in EXECUTES.findall(log)}


def parameters(settings: Mapping[str, str]) -> dict[str, str]:
    """Those that are NDB's own."""
    return {name: value for name, value in settings.items() if name not in ndb_config.OWN}


def free_ports(count: int) -> list[int]:
    """So many different ones."""
    found: dict[int, None] = {}
    while len(found) < count:
        found[ports.free_port()] = None
    return list(found)


def available_bytes() -> int:
    """What the kernel can give without swapping."""
    text = Path("/proc/meminfo").read_text()
    found = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) << 10 if found else profiles.memory()
