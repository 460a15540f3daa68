"""Folders that a command line names as storages, and what a study makes of them: every mistake at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from inrush.border import address
from inrush.border.labels import STORAGE
from inrush.engines import server
from inrush.errors import Problem, refuse
from inrush.study.forms import FromFactor
from inrush.study.storage import NAME, NAMED_SO
from inrush.study.study import Study
from inrush.targets.deployments import NamedTargets

#: `fast=/mnt/nvme`: what stands before the first `=` of a path is part of it where it has a slash or a dot.
NAMED = re.compile(r"([^=/.~]*)=(.*)")


def read_data(words: Sequence[str]) -> tuple[Path | None, dict[str, str]]:
    """The one folder that `--data DIR` names, or storage -> folder of each `--data NAME=DIR`.

    Raises UsageError with a line for every word that is wrong.
    """
    plain = [word for word in words if not NAMED.fullmatch(word)]
    storages: dict[str, str] = {}
    problems = []
    for name, folder in (found.groups() for word in words if (found := NAMED.fullmatch(word))):
        if not NAME.fullmatch(name):
            problems.append(f"--data {name}={folder}: {NAMED_SO}; a folder with = in its name is ./{name}=…")
        elif not folder:
            problems.append(f"--data {name}=: name its folder, {name}=DIR")
        elif name in storages:
            problems.append(
                f"--data {name}={folder}: {name} is {storages[name]} already; name each storage once"
            )
        storages.setdefault(name, str(Path(folder).absolute()))
    if len(plain) > 1 or (plain and storages):
        problems.append(
            f"--data {plain[-1]}: there is one folder without a name, or each has one; write NAME={plain[-1]}"
        )
    refuse(map(Problem.sentence, problems))
    return (Path(plain[0]) if plain else None), storages


def over_storages(study: Study, names: Sequence[str]) -> Study:
    """The study on each of the storages that a command line names, where it has no such factor itself.

    Each storage has an answer of its own: they do not compete for one.
    """
    if study.storage is not None or not names:
        return study
    answer = study.answer
    if answer is not None and answer.per:
        answer = replace(answer, per=(*answer.per, STORAGE))
    factors = {**study.factors, STORAGE: tuple(names)}
    return replace(study, factors=factors, storage=FromFactor(STORAGE), answer=answer)


def storage_problems(study: Study, found: NamedTargets, plain: str | None) -> Iterator[Problem]:
    """Everything that keeps a study from running on its storages. plain: the folder that has no name.

    Pure but for the links in the paths of folders.
    """
    wanted = study.factors.get(STORAGE, ())
    given = found.storages
    for i, name in enumerate(wanted):
        if name not in given:
            where = f"write --data {name}=DIR"
            if plain is not None:
                where += f", in place of --data {plain}"
            yield Problem(
                study.file, f"factors.{STORAGE}[{i}]", str(name), f"its folder is not known; {where}"
            )
    for name, folder in given.items():
        if name not in wanted:
            has = ", ".join(map(str, wanted))
            remedy = f"the study has no storage of this name, it has {has}; correct the name or leave it out"
            yield Problem("--data", name, str(folder), remedy)
    yield from shared_folders(given)
    for engine in found.urls if wanted else ():
        what = "file" if server(engine).embedded else "server"
        use = engine if server(engine).embedded else f"--start {engine}"
        remedy = f"the {what} lies where its URL says, on no storage of the study; use {use}"
        yield Problem("targets", engine, address.shown(found.urls[engine]), remedy)


def shared_folders(given: Mapping[str, Path]) -> Iterator[Problem]:
    """Two storages in one folder, or one inside of the other: what runs in one would be found in both."""
    for (a, one), (b, other) in combinations(given.items(), 2):
        first, second = one.resolve(), other.resolve()
        if first == second or first in second.parents or second in first.parents:
            how = (
                "is that of"
                if first == second
                else "lies in that of"
                if first in second.parents
                else "holds that of"
            )
            yield Problem("--data", b, str(other), f"its folder {how} {a} ({one}); give each storage its own")
