"""An archive fed by a topic for an hour of slots, with replays, while its broker is restarted and killed; and by a
broker that lets in only whom it knows.
"""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
from confluent_kafka.admin import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from tests.support.archives.byte_search import holders
from tests.support.archives.topic_archive import TopicArchive
from tests.support.services.broker import Broker, broker
from tidewheel.indexing.errors import InvalidInput, Unavailable
from tidewheel.jobs.data import topic_client

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("spark")]

SLOTS = 60
ROWS = 40
EVER = "log.retention.ms=-1\n"


def test_sixty_slots_with_replays_and_a_broker_that_falls_equal_the_oracle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_client, "ANSWER_MAX_S", 5.0)  # what is down here stays down until it is started
    chance = random.Random(17)
    with broker(tmp_path / "kafka", more=EVER) as running:
        flows = TopicArchive(tmp_path, running, "flows", partitions=3, more='missing = "empty"').create()
        partitions, late = 3, 0
        for slot in range(SLOTS):
            partitions = add_partition(flows, partitions) if slot == 25 else partitions
            late += produce(flows, chance, slot, partitions)
            falls(running, flows, slot)
            flows.update(slot)
            if slot % 4 == 3:
                again = chance.randint(max(0, slot - 5), slot)
                before = flows.offsets(again)
                flows.update(again)
                assert flows.offsets(again) == before
            flows.check()
        flows.update(SLOTS)  # what was stamped with its start
        assert 0 < flows.late_rows() <= late, "of those that came late, what was still to be stored"
        for number, sent in flows.sent.items():
            read = sorted((one.first(number), one.end(number)) for one in flows.first_read().values())
            covered = [offset for first, end in read for offset in range(first, end)]
            assert covered == list(range(len(sent))), "each message in one slot"


def produce(flows: TopicArchive, chance: random.Random, slot: int, partitions: int) -> int:
    """A slot's messages, some of them late, and of some partitions none; how many came late."""
    messages = []
    for number in range(partitions):
        if chance.random() < 0.2:
            continue
        for _ in range(chance.randint(1, ROWS)):
            minute = slot + chance.random() - (chance.randint(1, 3) if chance.random() < 0.1 else 0)
            messages.append(flows.message(max(0, minute), number, life=chance.randint(0, 4)))
        if chance.random() < 0.5:
            messages.append(flows.message(slot + 1, number))
    flows.send(*messages)
    return sum(one.at_us < flows.at(slot) for one in messages)


def add_partition(flows: TopicArchive, partitions: int) -> int:
    flows.broker.add_partitions(flows.topic, partitions + 1)
    return partitions + 1


def falls(running: Broker, flows: TopicArchive, slot: int) -> None:
    """Before some slots the broker is stopped, or killed; what is asked of it meanwhile changes nothing."""
    if slot not in (20, 40):
        return
    version = flows.job.snapshot().version
    running.stop() if slot == 20 else running.kill()
    with pytest.raises(Unavailable, match=f"broker at {running.address} cannot be asked for topic flows"):
        flows.update(slot)
    assert flows.job.snapshot().version == version
    running.start()


def test_a_broker_that_is_killed_while_it_is_read_is_waited_for(tmp_path: Path) -> None:
    with broker(tmp_path / "kafka", more=EVER) as running:
        flows = TopicArchive(tmp_path, running, "flows").create()
        flows.send(*(flows.message(0.5, number % 2) for number in range(2000)), flows.message(1), flows.message(1, 1))
        fallen: list[str] = []

        def fall(step: str) -> None:
            if step == "writing" and not fallen:
                fallen.append(step)
                running.kill()
                running.start()

        flows.now_us = flows.at(1)
        flows.update(0, progress=fall)
        assert fallen == ["writing"]
        flows.check()


def test_certificates_of_broker_and_client_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority, store = certificates(tmp_path)
    monkeypatch.setenv("STORE_PASSWORD", "only-tests")
    trusting = {"security.protocol": "SSL", "ssl.ca.location": str(authority), "ssl.keystore.location": str(store)}
    more = f"""
ssl.client.auth=required
ssl.keystore.type=PEM
ssl.keystore.location={tmp_path / "both.pem"}
ssl.truststore.type=PEM
ssl.truststore.location={authority}
"""
    with broker(
        tmp_path / "kafka", more=EVER + more, protocol="SSL", client={**trusting, "ssl.keystore.password": "only-tests"}
    ) as running:
        options = {**trusting, "ssl.keystore.password": "${ENV:STORE_PASSWORD}"}
        flows = TopicArchive(tmp_path / "archive", running, "flows", options=options).create()
        flows.send(flows.message(0.5), flows.message(0.5, 1), flows.message(1), flows.message(1, 1))
        flows.update(0)
        flows.check()


def certificates(folder: Path) -> tuple[Path, Path]:
    """A certificate for the loopback, signed by itself; with its key in one file, as PEM, and in a client's store."""
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=broker"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "certificate.pem"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    both = [(folder / name).read_text() for name in ("key.pem", "certificate.pem")]
    (folder / "both.pem").write_text("".join(both))
    command = ["openssl", "pkcs12", "-export", "-in", "both.pem", "-out", "store.p12", "-passout", "pass:only-tests"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "certificate.pem", folder / "store.p12"


LOGINS = """
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512
sasl.mechanism.inter.broker.protocol=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
 username="admin" password="only-admin" user_admin="only-admin";
listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config=\
 org.apache.kafka.common.security.scram.ScramLoginModule required;
"""
ADMIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "admin",
    "sasl.password": "only-admin",
}
PASSWORD = 'hush "quoted" \\ backslash'


def test_a_user_with_a_password_reads_and_the_password_is_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with broker(tmp_path / "kafka", more=EVER + LOGINS, protocol="SASL_PLAINTEXT", client=ADMIN) as running:
        iterations = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        added = UserScramCredentialUpsertion("reader", iterations, PASSWORD.encode())
        [done] = running.admin.alter_user_scram_credentials([added]).values()
        done.result()
        options = dict(ADMIN, **{"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "reader"})
        options["sasl.password"] = "${ENV:READER_PASSWORD}"
        flows = TopicArchive(tmp_path / "archive", running, "flows", options=options).create()
        flows.send(flows.message(0.5), flows.message(0.5, 1), flows.message(1), flows.message(1, 1))
        with pytest.raises(InvalidInput, match="READER_PASSWORD, which is not set"):
            flows.update(0)
        monkeypatch.setenv("READER_PASSWORD", "wrong")
        with pytest.raises(Unavailable, match="uthentication"):
            flows.update(0)
        monkeypatch.setenv("READER_PASSWORD", PASSWORD)
        flows.update(0)
        flows.check()
    assert holders(tmp_path / "archive", ["hush", "wrong"]) == {}
    printed = capfd.readouterr()
    assert "hush" not in printed.out + printed.err
