"""Sizes of a workload: numbers with a name, which tables and parameters refer to. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from inrush.study.document import Node, unknown


def read_size(name: str, node: Node) -> float:
    """A whole number; seconds, by a name that ends in `_s`, may have a fraction."""
    return node.number(above=True) if name.endswith("_s") else node.integer(1, 10**12)


def parse_size(node: Node, sizes: Mapping[str, float]) -> int:
    """A number, or the name of one under `sizes`."""
    if not isinstance(node.value, str):
        return node.integer(1, 10**12)
    if node.value not in sizes:
        node.problem(unknown("size", node.value, sizes))
        return 1
    return int(sizes[node.value])


def read_place(node: Node, sizes: Mapping[str, float]) -> int:
    """A number from 0 on, or the name of one under `sizes`."""
    return parse_size(node, sizes) if isinstance(node.value, str) else node.integer(0, 10**12)


def parse_seconds(node: Node, sizes: Mapping[str, float]) -> float:
    """A number, or the name of a size in seconds."""
    if not isinstance(node.value, str):
        return node.number(above=True)
    seconds = [name for name in sizes if name.endswith("_s")]
    if node.value not in seconds:
        node.problem(unknown("size in seconds", node.value, seconds))
        return 1.0
    return float(sizes[node.value])
