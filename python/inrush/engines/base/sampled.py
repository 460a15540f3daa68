"""What the sampled rows of files say of the table that is made for them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class SampledColumns:
    """Beside the columns: those without a NULL are `required`."""

    #: Column -> characters of its longest text.
    longest: Mapping[str, int] = field(default_factory=dict)
    #: Columns of times of which some are of years that not every database has.
    far: frozenset[str] = frozenset()
    #: `--key`, and whether rows are placed by it on several shards.
    key: tuple[str, ...] = ()
    placed: bool = False
    #: The server's, where its types depend on it: `Loading.types_by_version`.
    version: str = ""
