"""SQLite under Airflow: take the write lock before a savepoint, so that `airflow backfill create` cannot lose it.

A savepoint outside a transaction begins one that only reads. Its first write must then become the writer of a state
that may have moved on, which SQLite refuses at once ("database is locked") instead of waiting. Airflow creates each
run of a backfill in such a savepoint while the scheduler writes. For the embedded set-up alone; PostgreSQL has no
such trouble.
"""

from __future__ import annotations

from typing import Any

# What the embedded Airflow finds as $AIRFLOW_HOME/config/airflow_local_settings.py.
LOCAL_SETTINGS = """\
from tidewheel.playground.sqlite_savepoints import begin_before_savepoints

begin_before_savepoints()
"""


def begin_before_savepoints() -> None:
    """Begin a transaction that may write before every savepoint of this process."""
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    event.listen(Engine, "savepoint", _begin)


def _begin(connection: Any, name: str) -> None:
    driver = connection.connection.dbapi_connection
    if connection.dialect.name == "sqlite" and not getattr(driver, "in_transaction", True):
        connection.exec_driver_sql("BEGIN IMMEDIATE")
