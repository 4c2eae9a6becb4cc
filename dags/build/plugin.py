"""The classes that Airflow needs by name to read the DAGs of archives; found by the package's entry point."""

from __future__ import annotations

from airflow.plugins_manager import AirflowPlugin

from tidewheel.dags.build.priority import ScheduleFirst
from tidewheel.dags.page.operator_page import PREFIX, OperatorPage, href
from tidewheel.dags.watch.deadlines import RunMade
from tidewheel.dags.watch.timetable import ArchiveTimetable


class TidewheelPlugin(AirflowPlugin):
    """Wherever an Airflow of these DAGs runs, tidewheel is installed: api-server, scheduler, dag-processor, workers."""

    name = "tidewheel"
    timetables = [ArchiveTimetable]  # noqa: RUF012
    deadline_references = [RunMade]  # noqa: RUF012
    priority_weight_strategies = [ScheduleFirst]  # noqa: RUF012
    fastapi_apps = [{"name": "tidewheel", "app": OperatorPage(), "url_prefix": PREFIX}]  # noqa: RUF012
    external_views = [  # noqa: RUF012
        {
            "name": "Archives",
            "href": href(),
            "url_route": "tidewheel_archives",
            "destination": "nav",
            "category": "browse",
        }
    ]
