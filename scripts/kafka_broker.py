"""A Kafka broker that is its own controller, as a program of this machine, for tests: from Maven Central's jars.

It keeps everything in one folder and listens on the loopback only; stopped or killed, it goes on where it was.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pyspark

from scripts.native_services import Missing, programs_folder
from tidewheel.jobs.process.jars import JarSet, fetch_set

LOOPBACK = "127.0.0.1"
_NODE = 1
# Any 16 bytes in base64 are an id.
_CLUSTER_ID = "dGlkZXdoZWVsLXRlc3RzMQ"
_JAVA = (
    "-Xms64m",
    "-Xmx320m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)
_SETTINGS = """
process.roles=broker,controller
node.id={node}
controller.quorum.voters={node}@{host}:{controller_port}
listeners={protocol}://{host}:{port},CONTROLLER://{host}:{controller_port}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,{protocol}:{protocol}
controller.listener.names=CONTROLLER
inter.broker.listener.name={protocol}
log.dirs={folder}/data
auto.create.topics.enable=false
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.initial.task.delay.ms=200
log.retention.check.interval.ms=500
log.cleaner.backoff.ms=200
log.segment.delete.delay.ms=0
"""
# The scheduled look at old segments comes twice a second: the defaults are minutes.


def broker_jars() -> JarSet:
    """Return the jars of a broker, with their hashes."""
    [(name, one)] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
    packages, without = tuple(one["packages"]), tuple(one["without"])
    return JarSet(name, one["purpose"], packages, without, one["sha256"], given_folder=broker_folder())


def broker_folder() -> Path:
    return programs_folder().parent / "kafka-broker"


def install_broker() -> None:
    """Fetch the jars, unless they are here."""
    fetch_set(broker_jars())


def broker_command(
    folder: Path, port: int, controller_port: int, *, more: str = "", protocol: str = "PLAINTEXT"
) -> list[str]:
    """Return the command of a broker with its data in a folder, which is made at the first time."""
    if missing := broker_jars().missing:
        raise Missing(f"the Kafka broker is not here ({', '.join(missing[:2])}, ...): scripts/cluster install")
    data = folder / "data"
    if not data.exists():
        data.mkdir(parents=True)
        # What `kafka-storage format` writes, without another Java.
        (data / "meta.properties").write_text(f"version=1\ncluster.id={_CLUSTER_ID}\nnode.id={_NODE}\n")
    settings = _SETTINGS.format(
        node=_NODE, host=LOOPBACK, port=port, controller_port=controller_port, folder=folder, protocol=protocol
    )
    (folder / "server.properties").write_text(settings + more)
    scala = Path(pyspark.__file__).parent / "jars" / "scala-library-2.13.*.jar"
    jars = [*broker_jars().paths, *scala.parent.glob(scala.name)]
    return ["java", *_JAVA, "-cp", ":".join(map(str, jars)), "kafka.Kafka", str(folder / "server.properties")]
