"""Where the rows of a load go, and what is asked there beside the load."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inrush.border import address
from inrush.border import plan as border
from inrush.border.load import Scan, ScanPlan
from inrush.engines import engine_of_url, server
from inrush.engines.base.instance import Target
from inrush.engines.base.loading import Loading
from inrush.engines.base.sql import file_of
from inrush.engines.base.twin import Twin
from inrush.errors import Problem, UsageError, refuse
from inrush.extras import need
from inrush.load.call import Call
from inrush.targets.ask import ask, connected
from inrush.targets.passwords import environment, split_password

if TYPE_CHECKING:
    from inrush import _core

Doc = dict[str, Any]

#: Limit of a statement that looks at a table, s.
LOOK_S = 60.0


@dataclass
class Shards:
    """Where rows go: one engine, one or more addresses."""

    engine: str
    twin: Twin
    targets: list[Target]
    #: Holds passwords: never written or shown.
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: Real name of a file -> the embedded database that is open for several statements.
    _open: dict[str, tuple[_core.Control, ExitStack]] | None = field(
        default=None, init=False, repr=False, compare=False
    )

    @property
    def loading(self) -> Loading:
        return loading_of(self.twin)

    def documents(self) -> list[tuple[str, border.Target]]:
        def document(target: Target) -> border.Target:
            here = self.twin.run_target(target, Path.cwd())
            return {"engine": here.engine, "url": here.url, "options": dict(here.options)}

        return [(t.url, document(t)) for t in self.targets]

    def ask(self, target: border.Target, statement: str, limit_s: float = LOOK_S) -> list[list[Any]]:
        """Rows of one statement. Raises CoreFailure of the core."""
        with environment(self.secrets):
            return ask(target, statement, limit_s, self._connection(target))

    @contextmanager
    def held_open(self) -> Iterator[None]:
        """Within the block an embedded database is opened once, not for each statement; then other processes may have it.

        Servers are connected to for each statement in any case: a connection that waits may be lost.
        """
        if self._open is not None or not self.twin.embedded:
            yield
            return
        self._open = {}
        try:
            yield
        finally:
            opened, self._open = self._open, None
            # All are closed, also where one of them fails to.
            with ExitStack() as closing:
                for _, stack in opened.values():
                    closing.callback(stack.close)

    def _connection(self, target: border.Target) -> _core.Control | None:
        if self._open is None:
            return None
        name = real_name(target["url"])
        if name not in self._open:
            stack = ExitStack()
            self._open[name] = (stack.enter_context(connected(target)), stack)
        return self._open[name][0]

    def _let_go(self, target: border.Target) -> None:
        """Two that have one file open in a process would not see each other's locks."""
        if self._open and (found := self._open.pop(real_name(target["url"]), None)):
            found[1].close()

    def scan(self, target: border.Target, scan: Scan) -> Doc:
        """Rows, digest and sums of a table that is read back."""
        from inrush import _core

        with environment(self.secrets):
            self._let_go(target)
            plan: ScanPlan = {**scan, "target": target}
            found: Doc = json.loads(_core.read_table(json.dumps(plan)))
            return found


def loading_of(twin: Twin) -> Loading:
    """What `inrush load` knows of this engine's tables. Raises UsageError where it knows nothing."""
    if twin.loading is None:
        raise UsageError(f"{twin.name}: inrush load does not prove its tables")
    return twin.loading


def shards_of(call: Call, note: Callable[[str], None]) -> Shards:
    """By the command line. Raises UsageError for addresses that do not go together."""
    if call.into and call.shards:
        refuse(coordinator_problems(call.into))
    return shards_at(call.shards or ((call.into,) if call.into else ()), note)


def coordinator_problems(into: str) -> Iterator[Problem]:
    """Shards cannot be made known to the server that is named as their coordinator."""
    twin = server(engine_of_url(into))
    if twin.cluster is None:
        yield Problem.sentence(
            f"--into {address.shown(into)} with --shard: {twin.name} has no coordinator of ours; leave --into out"
        )
    elif twin.cluster.configured:
        yield Problem.sentence(
            f"--into {address.shown(into)} with --shard: {twin.name} has its shards from its configuration and reports them; leave --shard out"
        )


def shards_at(urls: Sequence[str], note: Callable[[str], None]) -> Shards:
    """Raises UsageError for addresses that do not go together."""
    if not urls:
        raise UsageError("say where the rows go: --into URL, or --shard URL for each shard")
    engines = {engine_of_url(url) for url in urls}
    if len(engines) > 1:
        raise UsageError(
            f"the shards are of several engines ({', '.join(sorted(engines))}); they must be of one"
        )
    secret: dict[str, str] = {}
    targets = []
    problems = []
    engine = engines.pop()
    twin = server(engine)
    loading = loading_of(twin)
    for url in urls:
        shown, variables, warning = split_password(url)
        if warning:
            note(warning)
        if loading.in_database and not address.read(shown).database:
            said = f"name a database in the URL: {address.read(shown).before}/DATABASE"
            problems.append(Problem.sentence(said))
        if any(secret.get(k, v) != v for k, v in variables.items()):
            said = "the shards have several passwords; give them one, or use the engine's password file"
            problems.append(Problem.sentence(said))
        secret.update(variables)
        targets.append(Target(engine, shown))
    refuse([*problems, *(one_file_problems(targets) if twin.embedded else ())])
    need(engine, twin.extra)
    return Shards(engine, twin, targets, secret)


def real_name(url: str) -> str:
    """One name of an embedded database's file, however an address spells it."""
    return str(Path(file_of(url)).resolve())


def one_file_problems(targets: Sequence[Target]) -> Iterator[Problem]:
    """Two shards are one file: its openers would not see each other's locks, and lose rows."""
    for one, two in combinations(targets, 2):
        a, b = Path(real_name(one.url)), Path(real_name(two.url))
        if a == b or (a.exists() and b.exists() and a.samefile(b)):
            yield Problem.sentence(f"{one.url} and {two.url} are one file; give each shard a file of its own")
