from .servers import (
    clickhouse,
    end_on_sigterm,
    folder,
    influxdb,
    mariadb,
    mysql,
    postgresql,
    postgresql_programs,
    timescaledb,
    valkey,
)

__all__ = [
    "clickhouse",
    "folder",
    "influxdb",
    "mariadb",
    "mysql",
    "postgresql",
    "postgresql_programs",
    "timescaledb",
    "valkey",
]

end_on_sigterm()
