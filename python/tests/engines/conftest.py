from .servers import (
    clickhouse,
    end_on_sigterm,
    end_those_left,
    folder,
    influxdb,
    mariadb,
    mysql,
    ndb,
    postgresql,
    postgresql_programs,
    questdb,
    timescaledb,
    valkey,
)

__all__ = [
    "clickhouse",
    "folder",
    "influxdb",
    "mariadb",
    "mysql",
    "ndb",
    "postgresql",
    "postgresql_programs",
    "questdb",
    "timescaledb",
    "valkey",
]

end_on_sigterm()
end_those_left()
