"""Limits that a command line names for servers that inrush starts: what is wrong with them, all at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from inrush.engines import server
from inrush.engines.servers import server_limits
from inrush.errors import Problem
from inrush.study.document import unknown
from inrush.study.study import Study
from inrush.targets.deployments import NamedTargets, each_settings_on

#: `slow.write_bytes_per_s=20M`.
WORD = re.compile(r"([^.=]+)\.([^=]+)=(.+)")
OPTION = "--limit"


def read_limits(
    words: Sequence[str], study: Study, found: NamedTargets
) -> tuple[dict[str, dict[str, str]], list[Problem]]:
    """Storage or engine -> limit -> value, and what is wrong with the words. Pure but for the machine's size."""
    limits: dict[str, dict[str, str]] = {}
    problems = []
    names = (*found.storages, *found.start)
    for word in words:
        parts = WORD.fullmatch(word)
        if parts is None:
            problems.append(Problem(OPTION, word, "", "write NAME.LIMIT=VALUE, slow.write_bytes_per_s=20M"))
            continue
        name, limit, value = parts.groups()
        if name not in names:
            remedy = unknown("storage or started engine", name, names)
            problems.append(Problem(OPTION, f"{name}.{limit}", value, remedy))
        elif limit in limits.get(name, {}):
            problems.append(Problem(OPTION, f"{name}.{limit}", value, "is given twice; remove one"))
        elif (wrong := server_limits.problem_of(limit, value)) is not None:
            problems.append(Problem(OPTION, f"{name}.{limit}", value, wrong))
        else:
            limits.setdefault(name, {})[limit] = value
        problems += in_our_process(study, found, name, word)
    return limits, problems


def in_our_process(study: Study, found: NamedTargets, name: str, word: str) -> Iterator[Problem]:
    """A limit of a storage would hold an engine in our process together with the client that measures it."""
    if name in found.storages:
        for engine in study.engines:
            if server(engine).embedded and server(engine).answers:
                remedy = f"{engine} runs inside inrush, and only servers are held to limits; leave {engine} out, or the limit"
                yield Problem(OPTION, word, "", remedy)


def started_limit_problems(found: NamedTargets) -> Iterator[Problem]:
    """Limits among the settings of started servers that are none."""
    for storage in found.storages or ("",):
        for engine, words in limits_on(found, storage):
            for name, value in words.items():
                if (problem := server_limits.problem_of(name, value)) is not None:
                    yield Problem("--start", f"{engine},{server_limits.PREFIX}{name}", value, problem)


def forbidden_limits(found: NamedTargets, data: Path) -> Iterator[Problem]:
    """Started servers whose limits this machine does not permit; tries each in a group that it removes.

    data: where they lie without a storage.
    """
    for storage, folder in (found.storages or {"": data}).items():
        for engine, words in limits_on(found, storage):
            if (why := server_limits.not_permitted(folder, server_limits.limits_of(words))) is not None:
                where = f"{engine} on {storage}" if storage else engine
                remedy = (
                    f"limits of a server take control groups and, for its disk, a block device below {folder}: {why}; run as root "
                    "on such a folder, or leave the limit out"
                )
                yield Problem(OPTION, where, ", ".join(f"{k}={v}" for k, v in words.items()), remedy)


def limits_on(found: NamedTargets, storage: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Each server that is started on a storage and has limits, by its engine, with the words of the limits."""
    for engine in found.start:
        for settings in each_settings_on(found, engine, storage):
            if words := server_limits.split(settings)[1]:
                yield engine, words
