"""A process as its parent sees it: events out of it, words into it, and its end."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from inrush.agent.parent import GIVEN, environment_of_child
from inrush.border.words import Document, Word
from inrush.engines.servers.life import log_lines
from inrush.machine.own_programs import program

E = TypeVar("E")

#: The program of every process, whatever it does.
AGENT: tuple[str, ...] = program("inrush.agent.program")
#: Lines of the log that a message shows when a worker died.
LOG_LINES = 12
#: The last line of all, which the parent adds.
ENDED = b'{"event": "ended"}'


class Process(Generic[E]):
    """An agent in its own process, session and log: events out of it, words into it. E: its events."""

    def __init__(
        self,
        document: Document,
        log: Path | None,
        env: Mapping[str, str] | None = None,
        hear: Callable[[E], None] | None = None,
        command: Sequence[str] = AGENT,
    ) -> None:
        """document: what it does. log: what it prints beside its lines; None: goes where ours does. env: what it needs beyond our
        own environment, passwords among it. hear: takes its events, on a thread of its own, in place of `event`."""
        self.log = log
        self._log_file = log.open("wb") if log is not None else None
        self._process = subprocess.Popen(
            [*command, *named(document)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log_file,
            env=environment_of_child(),
            # Its own session: Ctrl-C in the terminal reaches us alone, and we decide.
            start_new_session=True,
        )
        self._events: queue.SimpleQueue[E] = queue.SimpleQueue()
        self._hear: Callable[[E], None] = hear or self._events.put
        self._reader = threading.Thread(target=self._read, name="worker events", daemon=True)
        self._reader.start()
        # A process that stands still before it has read all of its document (a pipe takes 64 KB) keeps nobody waiting.
        self._words: queue.SimpleQueue[Document | Word | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="worker words", daemon=True)
        self._writer.start()
        self._words.put({**document, "environment": {**GIVEN, **(env or {})}})

    @property
    def pid(self) -> int:
        return self._process.pid

    def event(self, timeout_s: float) -> E | None:
        """The next event, None when there was none in time. The last one of all is `{"event": "ended"}`."""
        try:
            return self._events.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def send(self, word: Word) -> None:
        """To a process that is gone it means nothing."""
        self._words.put(word)

    def _write(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            while (line := self._words.get()) is not None:
                self._process.stdin.write(json.dumps(line).encode() + b"\n")
                self._process.stdin.flush()

    def kill(self) -> None:
        """Ends it now, with everything it started. Nothing when it has ended: its id may be another's by now."""
        if self._process.returncode is None:
            # The thread that waits for its end may have just seen it, and not yet said so.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> int:
        """Waits for the end (kill first where it must not wait); returns the exit code, negative for a signal."""
        code = self._process.wait()
        self._reader.join()
        self._words.put(None)
        self._writer.join()
        for pipe in (self._process.stdin, self._process.stdout, self._log_file):
            with contextlib.suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()
        return code

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in itertools.chain(self._process.stdout, (ENDED,)):
            # A worker killed in the middle of a line leaves half a line, which says nothing.
            with contextlib.suppress(json.JSONDecodeError):
                self._hear(json.loads(line))


def named(document: Document) -> list[str]:
    """What a command line says of it, for `ps`, and for those that look for processes of a run or a fleet."""
    parts = [document["parts"]] if "parts" in document else []
    return [document["does"], *parts, *document.get("arguments", ())]


def death_message(code: int, log: Path | None) -> str:
    """One message about a worker that ended without saying why."""
    tail = log_lines(log, LOG_LINES) if log is not None else []
    shown = f"\n  last lines of {log}:\n" + "\n".join(f"    {line}" for line in tail) if tail else ""
    return f"the worker {death_cause(code)}{shown}"


def death_cause(code: int) -> str:
    """How a process ended that said nothing of it, behind its name."""
    if code == -signal.SIGKILL:
        remedy = "; if no user did this, the kernel did for lack of memory: see `dmesg`, use a smaller scale"
        return f"was killed by {signal.Signals(-code).name}{remedy}"
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"


def left(log: Path) -> Path:
    """The log of a process that crashed, where it stays; of this user alone."""
    return Path(shutil.move(log, Path(tempfile.mkdtemp(prefix="inrush-crashed-")) / "log"))


def end_leftover(parts: Path) -> list[int]:
    """Kills agents that still write below `parts`: their parent died in a way that left them.

    Found by their command line, not by a pid file: a pid may have been given to another process since.
    """
    ended = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        except OSError:
            continue  # gone meanwhile
        if AGENT[-1].encode() in words and str(parts).encode() in words:
            pid = int(entry.parent.name)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                ended.append(pid)
    return ended
