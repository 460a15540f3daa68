"""The part of a twin that starts and stops servers. `own_server` orders the steps of those that inrush fetches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from inrush.engines.base.instance import Cold, Instance, NotCold, Release, Stop, Target


class Lifecycle(ABC):
    """Servers of one engine on this machine, from their programs to their end."""

    #: The engine's, as its twin has it; `title` for sentences.
    name: ClassVar[str]
    title: ClassVar[str]
    #: Settings with which it needs less memory; empty where there is none to name.
    with_less_memory: ClassVar[str] = ""
    #: Takes lines about what needs minutes; a caller that shows them puts its own here.
    note: Callable[[str], object] = staticmethod(lambda line: None)

    @abstractmethod
    def fetch(self, version: str | None = None) -> Release:
        """The programs, fetched when they are not here. version: of those on offer; None: the usual one."""

    @abstractmethod
    def fetched(self, version: str | None = None) -> Release | None:
        """The programs, where they are on this machine."""

    def not_in_all(self) -> str:
        """Why `inrush engines fetch all` leaves it out on this machine; empty where it does not."""
        return ""

    def check_settings(self, settings: Mapping[str, str]) -> None:
        """Raises UsageError for settings of which it is known without a server that none starts with them."""
        return

    def cannot_start(self, settings: Mapping[str, str]) -> str:
        """Why this machine has no room for a server with these settings now; empty where nothing is known of it."""
        return ""

    @abstractmethod
    def start(self, data: Path, settings: Mapping[str, str]) -> Instance:
        """Returns when really ready."""

    @abstractmethod
    def stop(self, instance: Instance, how: Stop) -> None:
        """Returns when gone."""

    @abstractmethod
    def make_cold(self, target: Target) -> Cold | NotCold:
        """Neither the server nor the kernel has a page of the data in memory when it returns `Cold`."""

    @abstractmethod
    def url_of(self, port: int) -> str:
        """The address of a server of ours on this port."""

    def url_in(self, data: Path, port: int) -> str:
        """The same with what only the files of its instance's folder say."""
        return self.url_of(port)

    def share_password(self, folders: Sequence[Path]) -> None:
        """Gives the instances in these folders, which will stand as one, the same password."""
        return

    def client(self, instance: Instance, process: str = "") -> str:
        """A command that opens a client of a server of ours, as it stands, for the user of inrush; empty: there is none.

        The password is in no argument of it. process: one of the server's processes, by its name.
        """
        return ""

    def process_url(self, instance: Instance, process: str) -> str:
        """The address of one of its processes, by the process's name: the instance's where it has none of its own."""
        return instance.url

    def threads(self, instance: Instance) -> Mapping[int, str]:
        """What threads of a server of ours are, where the kernel knows them by the program's name alone."""
        return {}

    def start_settings(self, instance: Instance) -> Mapping[str, str]:
        """Settings that a server of ours was started with, by the names under which it reports them."""
        return {}

    def by_profile(self, instance: Instance) -> Sequence[str]:
        """Those of `start_settings` that inrush chose by itself."""
        return ()

    def socket_url(self, instance: Instance) -> str | None:
        """The instance's address by its Unix socket; None where it has none (its path would be too long)."""
        return None
