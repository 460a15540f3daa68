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
]

end_on_sigterm()
