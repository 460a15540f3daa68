"""The life of a server that inrush starts itself: which steps, in which order. An engine's file says what they are.

release → folder → leftover ended → prepared once → launched → really ready → … → stopped, all of it gone
"""

from __future__ import annotations

import difflib
import re
import shutil
import signal
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from inrush.engines.base.instance import Cold, Instance, NotCold, Release, Stop, Target, log_of
from inrush.engines.base.lifecycle import Lifecycle
from inrush.engines.servers import (
    by_path,
    life,
    origin,
    page_cache,
    ports,
    private,
    profiles,
    secret,
    server_limits,
)
from inrush.engines.servers.offer import Offer
from inrush.errors import TargetError, UsageError

READY_S = 120.0
#: Time to end: a clean stop writes back first.
STOP_S = 120.0
KILL_S = 20.0
#: Ports that are tried: each was free when it was chosen.
PORTS = 3
#: Settings of inrush's own, beside those that the engine knows.
PROFILE, VERSION = "profile", "version"
#: Which release made the data, beside them.
MADE_BY = "made_by"


@dataclass(frozen=True)
class ServerPlace:
    """Where and how one server shall run."""

    release: Release
    #: The instance's folder; the server's own files lie in `home` below it.
    data: Path
    home: Path
    user: life.User
    port: int
    settings: Mapping[str, str]

    @property
    def log(self) -> Path:
        return log_of(self.data)


@dataclass(frozen=True)
class ServerProcess:
    """One process of a server, and when the next one may start."""

    command: Sequence[str | Path]
    log: Path
    is_ready: Callable[[], bool]
    #: Of one among several.
    name: str = ""
    #: Lines of its log -> the reason why it ended; empty: the end of the log is shown.
    explain: Callable[[Sequence[str]], str] = lambda lines: ""


class OwnServer(Lifecycle):
    """A server that inrush can fetch, start, stop and make cold."""

    #: Parts of a version number that must be equal for data to be opened.
    series: ClassVar[int] = 2
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    #: Folder of its files below the instance's; its processes work there.
    home: ClassVar[str] = "files"
    #: What inrush sets itself: no user may.
    reserved: ClassVar[frozenset[str]] = frozenset()
    #: The account that logs in by the password of the instance. Empty: the engine has no passwords.
    account: ClassVar[str] = ""
    #: What every user of the machine can do nevertheless, in one line; empty: nothing.
    left_open: ClassVar[str] = ""
    #: What it writes to its log where it ends because of a setting that it does not know; the group is the setting's name.
    #: None: it passes over such a setting.
    unknown_setting: ClassVar[re.Pattern[str] | None] = None

    # what an engine says

    #: Names of the server's program in a folder that the user names; empty: none can be named.
    programs: ClassVar[tuple[str, ...]] = ()
    #: Version → what inrush fetches for it, the usual one first.
    offers: ClassVar[Mapping[str, Offer]] = {}

    @abstractmethod
    def make(self, place: ServerPlace) -> None:
        """Makes them; called for an empty `home` that belongs to the server's user."""

    @abstractmethod
    def command(self, place: ServerPlace) -> Sequence[str | Path]:
        """Program and arguments; files that it reads are written here."""

    @abstractmethod
    def is_ready(self, place: ServerPlace) -> bool:
        """Whether a statement would work now."""

    @abstractmethod
    def known_settings(self, release: Release) -> frozenset[str] | None:
        """Names that this release takes; None where only the server itself knows them."""

    def processes(self, place: ServerPlace) -> Sequence[ServerProcess]:
        """Those of the server, in their order: each is launched when the one before is ready, and the last one's readiness is
        the server's. They are ended the other way round, those behind the first one together."""
        return [
            ServerProcess(
                self.command(place),
                place.log,
                # In this order: what is asked may carry the password.
                lambda: ports.serves(place.port, place.home) and self.is_ready(place),
            )
        ]

    def before_end(self, port: int) -> None:
        """What makes an end clean where a signal alone does not: asked of the server at this port, which may be gone."""

    def before_launch(self, place: ServerPlace) -> None:
        """What a dead server may have left that would keep the next from starting."""

    def after_launch(self, place: ServerPlace) -> None:
        """Takes away what was there for the launch alone, whether it went well or not."""

    def is_made(self, home: Path) -> bool:
        """Whether the server's data are here, made to the end: a killed maker has left no record."""
        return (home.parent / MADE_BY).is_file()

    def made_by(self, home: Path) -> str:
        """Version of the release that made the data; empty where it is not known."""
        record = home.parent / MADE_BY
        return record.read_text().strip() if record.is_file() else ""

    # its programs

    def fetch(self, version: str | None = None) -> Release:
        return self.named(version) or self.offer(version).release()

    def fetched(self, version: str | None = None) -> Release | None:
        return self.named(version) or self.offer(version).cached()

    def named(self, version: str | None) -> Release | None:
        """The programs in the folder that the user names. A version that is asked for is one that inrush fetches."""
        return by_path.release(self.name, self.programs) if self.programs and version is None else None

    def offer(self, version: str | None) -> Offer:
        chosen = version or next(iter(self.offers))
        if chosen not in self.offers:
            raise UsageError(
                f"{self.name}: version {chosen} is not on offer, {', '.join(self.offers)} is; "
                "name a server of another version by its URL"
            )
        return self.offers[chosen]

    def program(self, release: Release) -> Path:
        """The server's program."""
        own = by_path.program(release.path, self.programs)
        return own or next(iter(self.offers.values())).program_in(release.path)

    # the life

    def start(self, data: Path, settings: Mapping[str, str]) -> Instance:
        """A server in `data`, made if there is none; ready when a statement works. Its port stays over restarts.

        settings: the engine's own names, over those of the profile that `profile` names; `version` picks a release.
        Raises UsageError for a setting that it does not know, TargetError with the end of the log.
        """
        limits = server_limits.limits_of(server_limits.split(settings)[1])
        release, user = self.fetch(settings.get(VERSION)), life.servant()
        if self.left_open:
            self.note(f"{self.name}: {self.left_open}")
        chosen = self.chosen(release, settings)
        data = private.instance_folder(data.absolute(), user)
        home = data / self.home
        with life.starting_in(data):
            origin.end_leftover(data, home, self.stop_signal, STOP_S, self.before_end)
            place = ServerPlace(release, data, home, user, origin.last_port(data), chosen)
            self._make_once(place)
            for left in reversed(range(PORTS)):
                self.before_launch(place)
                parts = self.processes(place)
                written = {part.log: life.size_of(part.log) for part in parts}
                try:
                    return self._launched(place, parts, settings, limits)
                except TargetError:
                    if not left or not any(ports.was_taken(log, size) for log, size in written.items()):
                        raise
                    place = replace(place, port=ports.free_port())
                finally:
                    self.after_launch(place)
        raise AssertionError("the last attempt returns or raises")

    def _launched(
        self,
        place: ServerPlace,
        parts: Sequence[ServerProcess],
        settings: Mapping[str, str],
        limits: Mapping[str, float],
    ) -> Instance:
        """Raises TargetError; what was started is not left behind."""
        data, home = place.data, place.home
        group, held = server_limits.made(data, limits) if limits else (None, {})
        kills_before = group.memory_kills() if group is not None else 0
        log_bytes = life.size_of(place.log)
        # Joined before it runs: what it starts at once would else be outside.
        admit = group.join if group is not None else None
        begun: list[life.Launched] = []
        names: dict[str, int] = {}
        try:
            for part in parts:
                title = f"{self.title} in {data}" + (f": {part.name}" if part.name else "")
                part_bytes = life.size_of(part.log)
                process = life.launch(place.user, part.command, home, part.log, admit)
                begun.append(life.Launched(process, part.log, part_bytes, title, part.explain))
                names |= {part.name: process.pid} if part.name else {}
                origin.write(data, begun[0].process.pid, place.port, names, place.release.version)
                life.wait_for(begun, part.is_ready, READY_S)
            if group is not None and (free := server_limits.outside(home, group)):
                raise TargetError(
                    f"{self.title} in {data}: process {min(free)} is outside of the limits of its server"
                )
        except BaseException as ended:  # Ctrl-C too
            if begun:
                first, *rest = [one.process.pid for one in begun]
                life.end(first, signal.SIGKILL, home, KILL_S, rest)
                origin.remove(data)
            if group is not None:
                kills = group.memory_kills() - kills_before
                group.remove()
                if kills > 0 and isinstance(ended, TargetError):
                    what = f"{self.title} in {data}, while it started,"
                    raise TargetError(
                        server_limits.memory_clause(what, limits["memory"], self.with_less_memory)
                    ) from None
            if isinstance(ended, TargetError) and (unknown := self._unknown(place, log_bytes)):
                raise UsageError(f"{self.title} {place.release.version} has no setting {unknown}") from None
            raise
        url = self.url_in(data, place.port)
        return Instance(
            self.name,
            data,
            url,
            place.port,
            begun[0].process.pid,
            place.log,
            place.release,
            dict(settings),
            held,
            kills_before,
            names,
        )

    def stop(self, instance: Instance, how: Stop) -> None:
        asked = self.stop_signal if how is Stop.CLEAN else signal.SIGKILL
        if how is Stop.CLEAN and origin.running(instance.data):
            self.before_end(instance.port)
        # Of several some may have ended, whose ids may be others' by now.
        running = list(origin.running(instance.data).values()) if instance.processes else []
        first, *rest = running or [instance.pid]
        limit_s = STOP_S if how is Stop.CLEAN else KILL_S
        life.end(first, asked, instance.data / self.home, limit_s, rest)
        origin.remove(instance.data)
        server_limits.remove(instance.data)

    def make_cold(self, target: Target) -> Cold | NotCold:
        """Stop, drop the kernel's caches, start: neither the server nor the kernel has a page of the data."""
        instance = target.instance
        if instance is None:
            return NotCold(
                f"inrush did not start this server, so it cannot restart it; use --start {self.name}"
            )
        if not page_cache.can_drop():
            return NotCold(
                f"the kernel keeps the files in memory: {page_cache.DROP} can be written by root only"
            )
        self.stop(instance, Stop.CLEAN)
        before = page_cache.of(instance.data)
        page_cache.drop()
        after = page_cache.of(instance.data)
        started = self.start(instance.data, instance.settings)
        instance.pid, instance.port, instance.url = started.pid, started.port, started.url
        instance.kills_before, instance.processes = started.kills_before, started.processes
        if not page_cache.is_cold(after):
            return NotCold(
                f"{after.cached_bytes:,} of the {after.size_bytes:,} bytes in {instance.data} were still in memory after "
                "the kernel's page cache was dropped; something else may hold these files"
            )
        return Cold(
            "server stopped, kernel caches written back and dropped, server started; of "
            f"{after.size_bytes:,} bytes of data {before.cached_bytes:,} were in memory before, {after.cached_bytes:,} after"
        )

    # settings

    def check_settings(self, settings: Mapping[str, str]) -> None:
        self.chosen(self.fetched(settings.get(VERSION)), settings)

    def chosen(self, release: Release | None, settings: Mapping[str, str]) -> dict[str, str]:
        """The profile's settings with the caller's over them. Raises UsageError for what the engine does not know.

        release: None where its programs are not here, which alone know some of the names.
        """
        own = self._own(settings)
        if taken := sorted(self.reserved & own.keys()):
            raise UsageError(f"{self.name}: inrush sets {', '.join(taken)} itself")
        known = self.known_settings(release) if release is not None else None
        if release is not None and known is not None and (strange := sorted(own.keys() - known)):
            near = {name: difflib.get_close_matches(name, known, 1) for name in strange}
            unknown = [name + (f" (did you mean {near[name][0]}?)" if near[name] else "") for name in strange]
            raise UsageError(f"{self.title} {release.version} has no setting {', '.join(unknown)}")
        return self._with_profile(settings)

    def _unknown(self, place: ServerPlace, log_bytes: int) -> str | None:
        """The caller's setting that the server ended at, by the lines that it has written to its log since `log_bytes`."""
        if self.unknown_setting is None:
            return None
        written = "\n".join(life.log_lines(place.log, 200, log_bytes))
        names = self.unknown_setting.findall(written)
        return next((name for name in names if name in place.settings), None)

    # log-in

    def url_in(self, data: Path, port: int) -> str:
        """It names the file of the password, and not the password."""
        url = self.url_of(port)
        return secret.named(url, data) if self.account else url

    def share_password(self, folders: Sequence[Path]) -> None:
        if self.account:
            secret.share([private.instance_folder(data.absolute(), life.servant()) for data in folders])

    def start_settings(self, instance: Instance) -> dict[str, str]:
        """What a server of ours was started with, by the names under which it reports its settings. Pure but for the
        machine's memory, of which a profile takes its share."""
        return {
            self.setting_name(name): value for name, value in self._with_profile(instance.settings).items()
        }

    def by_profile(self, instance: Instance) -> Sequence[str]:
        named = {self.setting_name(name) for name in self._own(instance.settings)}
        return sorted(self.start_settings(instance).keys() - named)

    def setting_name(self, name: str) -> str:
        """The name under which the server reports a setting that is given to it as `name`."""
        return name

    def _with_profile(self, settings: Mapping[str, str]) -> dict[str, str]:
        limits = server_limits.limits_of(server_limits.split(settings)[1])
        memory = int(limits["memory"]) if "memory" in limits else None
        return {**profiles.settings(self.name, settings.get(PROFILE), memory), **self._own(settings)}

    def _own(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Those that the engine itself knows."""
        return {k: v for k, v in server_limits.split(settings)[0].items() if k not in (PROFILE, VERSION)}

    def _make_once(self, place: ServerPlace) -> None:
        if not self.is_made(place.home):
            # A server that was killed while it was made: half a server is none.
            shutil.rmtree(place.home, ignore_errors=True)
            private.folder(place.home, place.user)
            if self.account:
                secret.make(place.data)
            self.make(place)
            private.write(place.data / MADE_BY, place.release.version + "\n")
            return
        if self.account:
            secret.of(place.data)
        made_by = self.made_by(place.home)
        if made_by and _series(made_by, self.series) != _series(place.release.version, self.series):
            raise TargetError(
                f"{place.home} was made by {self.title} {made_by} and cannot be opened by {place.release.version}; "
                "name that version's programs, or choose another --data"
            )


def _series(version: str, parts: int) -> list[str]:
    return re.findall(r"\d+", version)[:parts]
