"""Is a server on the storage that its figures are given to, and which others of its kind ran beside it? Pure."""

from __future__ import annotations

from inrush.analysis.verdicts import Figures, Verdict, invalid, noted, passed
from inrush.guards.guard import About, Guard
from inrush.stats.record import RunRecord
from inrush.text import counted

#: Of a core: what servers that wait for statements use is less.
IDLE_CORES = 0.01


def on_its_storage(run: RunRecord, _: Figures) -> Verdict | None:
    """The folder that the server names, or that an engine in our process was given, against that of the storage."""
    found = run.summary.get("storage")
    if not found:
        return None
    name, files, folder = "on its storage", str(found["files"]), str(found["folder"])
    subject = "The server says" if found["said_by_server"] else "inrush put"
    if files != folder and not files.startswith(folder.rstrip("/") + "/"):
        return invalid(
            name,
            f"{subject} its files in {files}, which is not in {folder} of storage {found['name']}: these figures are of another "
            "storage. Look for a link in that folder, then run the study anew",
        )
    device, below = found["device"], found["files_device"]
    if device is not None and below is not None and device != below:
        return invalid(
            name,
            f"{files} lies on device {below}, and storage {found['name']} on {device}: something else is mounted below "
            f"{folder}. Name the folder that is meant, then run the study anew",
        )
    on = f" on device {below}" if below else ""
    return passed(name, f"{subject} its files in {files}{on}, storage {found['name']}")


def others_of_its_kind(run: RunRecord, _: Figures) -> Verdict | None:
    """Servers of the same program on the machine, and the cores that they used while the run was made."""
    others = run.summary.get("neighbours")
    begun, ended = run.summary.get("begun_unix_ns"), run.summary.get("ended_unix_ns")
    if others is None or not begun or not ended:
        return None
    name = "no other server of this engine"
    if not others:
        return passed(name, "No other server of this kind ran on the machine")
    cores = sum(o["cpu_s"] for o in others) / max((ended - begun) / 1e9, 1e-9)
    where = ", ".join(f"process {o['pid']} in {o['folder'] or 'a folder that is not known'}" for o in others)
    said = f"{counted(len(others), 'other server')} of this kind ran meanwhile ({where}) and used {cores:.2g} cores"
    if cores > IDLE_CORES:
        return noted(
            name, f"{said}: figures are of a machine that they share; stop them, and repeat", size=cores
        )
    return passed(name, f"{said}: they were idle, and hold their memory")


def no_other_study(run: RunRecord, _: Figures) -> Verdict | None:
    """Studies of other processes that held a lock in the server when the run began or ended."""
    others = run.summary.get("other_studies")
    if others is None:
        return None
    name = "no other study on the server"
    here = [o["said"] for o in others if o["here"]]
    if here:
        return invalid(
            name,
            f"Another study held this server meanwhile: {'; '.join(here)}. Its runs there are load on this one: wait until it "
            "has ended, and repeat",
            size=len(here),
        )
    if others:
        away = "; ".join(o["said"] for o in others)
        return noted(
            name,
            f"Another machine left a lock in this server, and whether it still runs is not known here: {away}",
        )
    return passed(name, "No lock of another study was seen when the run began or ended")


def one_server(run: RunRecord, _: Figures) -> Verdict | None:
    """`data_servers`: process ids of servers found on the data folder, where the run's maker looked."""
    servers = run.summary.get("data_servers", run.env.get("data_servers"))
    if not servers:  # not looked, or none seen: what was measured was there
        return None
    if len(servers) > 1:
        return invalid(
            "one server",
            f"{len(servers)} servers work on one data folder ({servers}): stop all but one",
            size=len(servers),
        )
    return passed("one server", "One server works on the data folder")


GUARDS = (
    Guard(
        About.SERVER,
        "one server",
        one_server,
        "Where the servers keep their data is not known here",
        of_run=True,
    ),
    Guard(
        About.SERVER, "on its storage", on_its_storage, "The study has one place for an engine", of_run=True
    ),
    Guard(
        About.SERVER,
        "no other study on the server",
        no_other_study,
        "The server lists no locks of studies",
        of_run=True,
    ),
    Guard(
        About.SERVER,
        "no other server of this engine",
        others_of_its_kind,
        "inrush did not start the server",
        of_run=True,
    ),
)
