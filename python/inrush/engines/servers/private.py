"""Folders and files beside those of other users: made, written and read so that no link or folder of another user is followed.

A folder counts as ours by its owner and by the folders above it. Then no other user can change what lies in it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

from inrush.engines.servers.life import SERVANT, User, closed_above
from inrush.errors import TargetError
from inrush.machine import users
from inrush.machine.secret_files import opened_folder, write_secret

REMEDY = "choose another --data"
#: More than any file that is read here.
MOST_BYTES = 1 << 20


def folder(path: Path, owner: User = User(), mode: int = 0o700) -> Path:  # noqa: B008, frozen
    """A folder that belongs to `owner`, made if it is not there. `User()` is ourselves.

    Raises TargetError for one of another user, for a link, and below a folder in which others may rename it.
    """
    check_above(path, owner)
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=mode, parents=True)
    try:
        opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as e:
        what = "a link" if path.is_symlink() else f"no folder of ours ({e.strerror})"
        raise TargetError(f"{path} is {what}, and is left alone; {REMEDY}") from None
    try:
        found = os.fstat(opened)
        if found.st_uid not in {os.geteuid(), owner.uid}:
            raise TargetError(f"{path} belongs to {name_of(found.st_uid)}, and is left alone; {REMEDY}")
        if owner.uid is not None and owner.gid is not None:
            os.fchown(opened, owner.uid, owner.gid)
        elif found.st_uid != os.geteuid():
            os.fchown(opened, os.geteuid(), os.getegid())
        os.fchmod(opened, mode)
    finally:
        os.close(opened)
    return path


def check_above(path: Path, owner: User = User()) -> None:  # noqa: B008
    """Raises TargetError where another user could put something else in the place of `path`, by a folder above it."""
    trusted = {*users.trusted(), owner.uid, Path("/").stat().st_uid}
    for above in (*path.absolute().parents, *path.parent.resolve().parents, path.parent.resolve()):
        with contextlib.suppress(FileNotFoundError):
            found = above.lstat()
            others_write = found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX
            if found.st_uid not in trusted:
                why = f"belongs to {name_of(found.st_uid)}, and could be replaced by that user"
            elif others_write and not stat.S_ISLNK(found.st_mode):
                why = "can be changed by every user, and so could what lies in it"
            else:
                continue
            raise TargetError(f"{path}: {above} {why}; {REMEDY}")


def write(path: Path, text: str, owner: User = User(), mode: int = 0o600) -> None:  # noqa: B008
    """As `write_secret`: a link in its place is replaced, and not followed. Raises TargetError where its folder is one."""
    to = None if owner.uid is None or owner.gid is None else (owner.uid, owner.gid)
    with a_link_is_refused(path.parent):
        write_secret(path, text, to, mode)


def remove(path: Path) -> None:
    """Where it is there: a link itself, and not what it leads to. Raises TargetError where its folder is a link, which a server
    can put there whose home the folder is in."""
    with (
        contextlib.suppress(FileNotFoundError),
        a_link_is_refused(path.parent),
        opened_folder(path.parent, follow=False) as folder,
    ):
        os.unlink(path.name, dir_fd=folder)


@contextlib.contextmanager
def a_link_is_refused(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as e:
        if e.errno in (errno.ELOOP, errno.ENOTDIR):
            raise TargetError(f"{folder} is a link or a file, and is left alone; {REMEDY}") from None
        raise


@contextlib.contextmanager
def for_a_while(path: Path, text: str, owner: User) -> Iterator[Path]:
    """A file that a program of `owner` reads meanwhile."""
    write(path, text, owner)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def text_of(path: Path) -> str | None:
    """Text of a file of ours; None where there is none: nothing, a link, or another user's."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    found = os.fstat(opened)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(opened)
        return None
    with os.fdopen(opened, encoding="utf-8", errors="replace") as file:
        return file.read(MOST_BYTES)


def name_of(uid: int) -> str:
    try:
        return f"user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"user {uid}"


def instance_folder(data: Path, user: User) -> Path:
    """The folder of an instance. It is ours: the server's user, which other programs may have too, gets through it and
    changes nothing in it. Raises TargetError when that user cannot get there."""
    folder(data, mode=0o700 if user.uid is None else 0o711)
    if (closed := closed_above(data, user)) is not None:
        raise TargetError(
            f"{data}: as root, servers run as {SERVANT}, which cannot enter {closed}; choose another folder with "
            "--data (for instance /var/tmp/inrush), or run inrush as an ordinary user"
        )
    return data
