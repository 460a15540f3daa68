"""Single files of results: written whole or not at all, read as far as they are whole."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from inrush.errors import ResultUnreadable
from inrush.results.schema import RESULT_SCHEMA

Doc = dict[str, Any]


def read_json(path: Path) -> Doc:
    try:
        doc = json.loads(path.read_text())
    except FileNotFoundError:
        raise ResultUnreadable(
            f"{path}: missing; the folder is not one of inrush's or was copied in part"
        ) from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as e:
        raise ResultUnreadable(f"{path}: {e}; restore the file, or leave this folder out") from e
    if not isinstance(doc, dict):
        raise ResultUnreadable(f"{path}: not a JSON object; restore the file, or leave this folder out")
    return doc


def write_json(path: Path, doc: Mapping[str, Any]) -> None:
    """Whole or not at all, also when the power goes: temporary file, fsync, rename, fsync of the folder."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("w") as f:
            json.dump(doc, f, indent=1, sort_keys=False, ensure_ascii=False)
            f.write("\n")
            f.flush()
            os.fsync(f.fileno())
    except OSError as e:  # a write says what is wrong, and not where
        temporary.unlink(missing_ok=True)
        raise OSError(e.errno, e.strerror, str(path)) from e
    temporary.rename(path)
    sync(path.parent)


def check_schema(doc: Mapping[str, Any], path: Path) -> None:
    """Raises ResultUnreadable for results of another schema, whose meaning is not known here."""
    version = doc.get("schema")
    if version != RESULT_SCHEMA:
        raise ResultUnreadable(
            f"{path}: schema is {version!r}, and this inrush reads {RESULT_SCHEMA} alone; run the study again"
        )


def whole_batches(path: Path) -> Iterator[pa.RecordBatch]:
    """Batches of an Arrow stream up to the last whole one: a kill cuts a stream anywhere.

    Nothing when not even the schema is there.
    """
    with path.open("rb") as f:
        try:
            reader = pa.ipc.open_stream(f)
        except (pa.ArrowInvalid, OSError):
            return
        while True:
            try:
                batch = reader.read_next_batch()
            except (StopIteration, pa.ArrowInvalid, OSError):
                return
            yield batch


def sha256(path: Path) -> str:
    """Of the whole file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as f:
        while chunk := f.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def sync(folder: Path) -> None:
    """Names of files in `folder` outlive the power."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
