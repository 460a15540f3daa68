"""Passwords of addresses: in the environment of a process, never in an argument or a result."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from inrush.border import address
from inrush.engines import engine_of_url, server
from inrush.engines.base.twin import Twin
from inrush.engines.servers import secret
from inrush.errors import UsageError


def split_password(url: str) -> tuple[str, dict[str, str], str | None]:
    """URL without its password, the environment that carries it instead, and a warning for the user.

    A user that can list processes or read the shell's history reads a password in a URL. Raises UsageError for an address
    with anything wrong.
    """
    read = address.read(url).check() if address.is_url(url) else None
    if read is None or read.password is None:
        return url, {}, None
    variable = password_variable(read.shown)
    warning = f"{read.shown}: a password in the URL can be read by others; put it into {variable} instead"
    return read.shown, {variable: read.password}, warning


def by_file_of(coordinator: str, shards: Sequence[str]) -> tuple[str, ...]:
    """Addresses that a coordinator says of its shards: by the file that its own address names, where their password is the
    one in it, or is not said."""
    file = secret.file_in(coordinator)

    def of(url: str) -> str:
        shown, variables, _ = split_password(url)
        return secret.with_file(shown, file) if {*variables.values()} <= {secret.in_file(Path(file))} else url

    return tuple(map(of, shards)) if file else tuple(shards)


def password_variable(url: str) -> str:
    """The variable that the programs of a URL's engine read a password from."""
    try:
        return server(engine_of_url(url)).password_variable
    except UsageError:
        return Twin.password_variable


@contextlib.contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Variables set for a while, for the core in our own process."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
