"""A client process that loads files of its own.

Beside the folder of its tables, in the folder of its worker, it makes the files that its sessions will load. It says so, and waits until all
processes of the run have theirs. From then on it is a process as of any run, and its files go with it.
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from inrush.agent.drive import POLL_S, driven
from inrush.agent.parent import Parent
from inrush.border.events import Event, FilesMade
from inrush.border.plan import RunPlan
from inrush.border.words import Document, Word
from inrush.fleet import own_files
from inrush.fleet.own_files import OwnFiles
from inrush.study.files import input_path


class Session:
    def __init__(
        self,
        plan: RunPlan,
        parts: Path,
        parent: Parent,
    ) -> None:
        self.parts, self.parent = parts, parent
        self.files, self.scratch = parts.parent / "files", parts.parent / "making"
        self.plan = own_files.at_worker(plan, self.files)
        self.first = own_files.share_of(plan)["index"] == 0
        #: Words that came before they could be heeded.
        self.words: list[Word] = []
        self.ended_by = ""

    def run(self) -> int:
        """0: done; 1: failed, and an event says how."""
        try:
            if not self.make():
                return 1
            self.await_others()
            return driven(self.plan, str(self.parts), self.parent, self.parent.say, self.words)
        except OSError as e:
            self.parent.say({"event": "failed", "kind": "io", "message": f"making input files: {e}"})
            return 1
        finally:
            self.beside(self.clear)

    def make(self) -> bool:
        """The core makes the files that are not there. Whether it did not fail."""
        began_s = time.monotonic()
        shares = own_files.shares(self.plan)
        self.beside(lambda: lay_out(shares, self.scratch))
        making = own_files.making(self.plan)
        if driven(making, str(self.scratch), self.parent, self.of_making, self.words) != 0:
            return False
        if self.ended_by == "stop":
            self.words = [{"do": "stop"}]
            return True
        found = {"bytes": 0}

        def weigh() -> None:
            found["bytes"] = sum(input_path(of.plan, n).stat().st_size for of in shares for n in of.made)

        self.beside(weigh)
        made: FilesMade = {
            "event": "made",
            "files": sum(len(of.made) for of in shares),
            "bytes": found["bytes"],
            "took_s": time.monotonic() - began_s,
        }
        self.parent.say(made)
        return True

    def of_making(self, event: str) -> None:
        """What is said of the run: it begins with the files of its first process, and ends later."""
        said: Event = json.loads(event)
        if said["event"] == "finished":
            self.ended_by = said["ended_by"]
        elif said["event"] == "failed" or said["event"] == ("segment" if self.first else "note"):
            self.parent.say(event)

    def await_others(self) -> None:
        """Until the word comes that all processes have their files, or to stop."""
        while not self.words:
            time.sleep(POLL_S / 10)
            self.words += self.parent.words()
        self.words = [word for word in self.words if word["do"] != "go"]

    def beside(self, work: Callable[[], None]) -> None:
        """While a thread does it, what is asked is answered: of very many files all takes seconds. Raises what it raises."""
        raised: list[BaseException] = []

        def done() -> None:
            try:
                work()
            except BaseException as e:
                raised.append(e)

        thread = threading.Thread(target=done, name="files")
        thread.start()
        while thread.is_alive():
            thread.join(POLL_S)
            self.words += self.parent.words()
        if raised:
            raise raised[0]

    def clear(self) -> None:
        for folder in (self.files, self.scratch):
            shutil.rmtree(folder, ignore_errors=True)


def lay_out(shares: Sequence[OwnFiles], scratch: Path) -> None:
    """Files of other processes lie there, empty. The core makes none that is there, and looks at all when a role begins; it
    reads those of its own sessions alone. If it read another one, its rows would be missing in the proof."""
    scratch.mkdir()
    for of in shares:
        Path(of.plan["folder"]).mkdir(parents=True, exist_ok=True)
        for n in of.elsewhere:
            input_path(of.plan, n).touch()


def work(document: Document, parent: Parent) -> int:
    return Session(cast("RunPlan", document["plan"]), Path(document["parts"]), parent).run()
