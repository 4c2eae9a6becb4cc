"""One operation on a small archive in a process of its own, to be killed: a fork that has everything imported.

The JVM outlives it and is shared by the processes that follow, so that a killed driver costs no new Spark session.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from tests.support.archives.small_archive import EVERYTHING, SmallArchive
from tidewheel.commits.operations.expire import expire
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.operations.migrate import migrate
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.core.layouts import Generation
from tidewheel.indexing.errors import TidewheelError
from tidewheel.jobs.audit.compare import audit
from tidewheel.jobs.process.session import open_session
from tidewheel.jobs.update import update

DONE, REFUSED, FOUND = 0, 3, 4


@dataclass(frozen=True)
class Order:
    kind: str
    slots: tuple[int, ...] = ()
    through: int = 0
    key: str = ""
    generation: Generation | None = None


def run(archive: SmallArchive, order: Order, port: int, secret: str) -> None:
    """Carry out one order; the exit code says how it went."""
    os.environ |= {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    try:
        attach()
        code = carry_out(archive, order)
    except TidewheelError as error:
        print(f"{order.kind}: {error}")
        code = REFUSED
    os._exit(code)


def carry_out(archive: SmallArchive, order: Order) -> int:
    job = archive.job
    if order.kind == "create":
        archive.create()
    elif order.kind == "update":
        update(job, order.slots, confirmed=EVERYTHING)
    elif order.kind == "expire":
        expire(job, order.through, confirmed=EVERYTHING)
    elif order.kind == "forget":
        forget(job, keys=[(order.key,)])
    elif order.kind == "vacuum":
        vacuum(job)
    elif order.kind == "audit":
        findings = audit(job).findings
        print("\n".join(finding.message for finding in findings), end="")
        return FOUND if findings else DONE
    else:
        assert order.generation is not None
        migrate(job, order.generation, relocate=order.kind == "rebuild")
    return DONE


def attach() -> None:
    """The Spark session that an earlier process left in the JVM, or a new one."""
    gateway = launch_gateway()
    SparkContext._ensure_initialized(gateway=gateway)
    jvm = gateway.jvm
    if jvm.org.apache.spark.sql.SparkSession.getDefaultSession().isDefined():
        java = jvm.JavaSparkContext.fromSparkContext(jvm.org.apache.spark.SparkContext.getOrCreate())
        SparkSession(SparkContext(gateway=gateway, jsc=java))
    open_session()
