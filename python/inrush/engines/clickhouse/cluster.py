"""Several ClickHouse servers as one: a table of engine Distributed on the server in front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inrush.border.load import Rule
from inrush.engines.base.cluster import Cluster, ShardedTable
from inrush.engines.base.instance import Instance
from inrush.engines.clickhouse import shards as clickhouse_shards
from inrush.engines.clickhouse.life import SHARDS, native_port


class ClickhouseCluster(Cluster):
    configured = True

    def ask_shards(self) -> str:
        return clickhouse_shards.ask_cluster()

    def shard_urls(self, rows: Sequence[Sequence[Any]]) -> tuple[str, ...]:
        return clickhouse_shards.shard_urls(rows)

    def ask_table(self, schema: str, table: str) -> str:
        return clickhouse_shards.ask_table(schema, table)

    def sharded_table(self, name: str, rows: Sequence[Sequence[Any]]) -> ShardedTable | None:
        return clickhouse_shards.sharded_table(name, rows)

    def leading(self, settings: Mapping[str, str], shards: Sequence[Instance]) -> dict[str, str]:
        """A cluster stands in the configuration of the server that shows it as one."""
        return {**settings, SHARDS: " ".join(f"{native_port(s.data)}:{s.port}" for s in shards)}

    def know_shards(self, urls: Sequence[str], passwords: Mapping[str, str]) -> Sequence[str]:
        return ()  # its configuration says them

    def rule(self, kinds: Sequence[str], shards: int) -> Rule:
        return clickhouse_shards.rule(kinds, shards)

    def spread_table(
        self, name: str, columns: Sequence[tuple[str, str]], key: Sequence[str], urls: Sequence[str]
    ) -> Sequence[str]:
        return clickhouse_shards.table(name, columns, key, urls)
