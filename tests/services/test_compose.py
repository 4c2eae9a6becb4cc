"""docker-compose.yml: what every service must have, that Compose understands it, and that the native reader agrees."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.compose_file import read_environment_file, read_services
from scripts.native_services import compose_reader, install_compose_reader
from tests.support.services.servers import available
from tidewheel.playground.demo_source import EVERY, FILE_NAME
from tidewheel.resolve import read_archive_file

ROOT = Path(__file__).parent.parent.parent
COMPOSE = ROOT / "docker-compose.yml"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE.read_text())["services"]
SECRETS = (
    "POSTGRES_PASSWORD",
    "AIRFLOW_ADMIN_PASSWORD",
    "AIRFLOW_SECRET_KEY",
    "AIRFLOW_JWT_SECRET",
    "AIRFLOW_FERNET_KEY",
    "SPARK_SECRET",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "READER_ACCESS_KEY_ID",
    "READER_SECRET_ACCESS_KEY",
)


@pytest.fixture
def environment_file(tmp_path: Path) -> Path:
    """As `scripts/cluster init` writes it."""
    path = tmp_path / "env"
    subprocess.run([sys.executable, ROOT / "scripts/cluster", "--env-file", path, "init"], check=True)
    return path


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_confined(name: str) -> None:
    service = SERVICES[name]
    assert service["user"] not in ("root", "0", "0:0")
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert {"cpus", "memory", "pids"} <= service["deploy"]["resources"]["limits"].keys()
    assert all(str(port).startswith("127.0.0.1:") for port in service.get("ports", ()))


@pytest.mark.parametrize("name", [name for name in SERVICES if name != "airflow-init"])
def test_every_service_tells_its_health_and_comes_back(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"][0] == "CMD"
    assert SERVICES[name]["restart"] == "unless-stopped"


def test_nothing_starts_before_what_it_needs() -> None:
    for name, service in SERVICES.items():
        for needed, condition in service.get("depends_on", {}).items():
            wanted = "service_completed_successfully" if needed == "airflow-init" else "service_healthy"
            assert condition["condition"] == wanted, f"{name} waits for {needed}"
    assert "airflow-init" in SERVICES["airflow-scheduler"]["depends_on"]


def test_the_files_hold_no_secret() -> None:
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if re.search("PASSWORD|SECRET|KEY|CONN", name) and not name.endswith("_FILE"):
                assert value is None or "${" in value, name
    assert not re.search("PASSWORD|SECRET|KEY", (ROOT / "Dockerfile").read_text())
    example = read_environment_file(ROOT / ".env.example")
    assert [name for name in SECRETS if example[name]] == []


def test_init_fills_every_secret_with_another_value_for_the_owner_only(environment_file: Path) -> None:
    given = read_environment_file(environment_file)
    assert len({given[name] for name in SECRETS}) == len(SECRETS)
    assert all(len(given[name]) >= 32 for name in SECRETS)
    assert environment_file.stat().st_mode & 0o077 == 0


def test_what_the_image_takes_from_the_tree_is_enough_for_the_wheel(tmp_path: Path) -> None:
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "Dockerfile").read_text(), re.M)
    assert sorted(path for line in copied for path in line.split()) == sorted(allowed)
    for path in allowed:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        if (ROOT / path).is_dir():
            shutil.copytree(ROOT / path, tmp_path / path, symlinks=True)
        else:
            shutil.copy(ROOT / path, tmp_path / path)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", str(tmp_path)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_service_starts_without_its_secrets(environment_file: Path) -> None:
    variables = read_environment_file(environment_file)
    for name in SECRETS:
        with pytest.raises(ValueError, match=f"{name} is not set"):
            read_services(COMPOSE, {**variables, name: ""}, Path("/home"))


def test_the_object_stores_keys_are_only_where_they_are_needed(environment_file: Path) -> None:
    variables = read_environment_file(environment_file)
    services = read_services(COMPOSE, variables, Path("/home"))
    holders = {name for name, one in services.items() if variables["AWS_SECRET_ACCESS_KEY"] in one.environment.values()}
    assert holders == {"store", "demo", "airflow-scheduler"}
    reader = variables["READER_SECRET_ACCESS_KEY"]
    readers = {name for name, one in services.items() if reader in one.environment.values()}
    assert readers == {"store-reader", "airflow-apiserver"}
    assert "--readonly" in services["store-reader"].command
    without = {key: value for key, value in variables.items() if not key.startswith(("AWS_", "READER_"))}
    services = read_services(COMPOSE, {**without, "COMPOSE_PROFILES": ""}, Path("/home"))
    assert "store" not in services
    assert "AWS_ACCESS_KEY_ID" not in services["airflow-scheduler"].environment
    assert "READER_ACCESS_KEY_ID" not in services["airflow-apiserver"].environment


def test_java_runs_its_libraries_from_a_volume_and_not_from_tmp() -> None:
    for name, service in SERVICES.items():
        assert any(mount.startswith("/tmp") for mount in service["tmpfs"]), name
    worker, scheduler = SERVICES["spark-worker"], SERVICES["airflow-scheduler"]
    assert worker["environment"]["JAVA_TOOL_OPTIONS"] == f"-Djava.io.tmpdir={worker['volumes'][0]}"
    assert scheduler["environment"]["SPARK_LOCAL_DIRS"] in scheduler["volumes"]


def test_every_image_of_others_has_a_tag_and_a_digest() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    stages = set(re.findall(r"^FROM \S+ AS (\S+)$", dockerfile, re.M))
    images = set(re.findall(r"^FROM (\S+)", dockerfile, re.M)) - stages
    images |= {service["image"] for service in SERVICES.values() if not service["image"].startswith("tidewheel")}
    assert len(images) == 4
    assert [one for one in images if not re.fullmatch(r"[a-z]+:[\w.-]*\d[\w.-]*@sha256:[0-9a-f]{64}", one)] == []


def test_the_archive_that_comes_along_reads_what_its_source_writes() -> None:
    file = read_archive_file(ROOT / "archives/production/demo.toml")
    assert SERVICES["demo"]["command"][-1] == file.source.path.rpartition("/")[0]
    assert file.source.path.endswith("/{start:" + FILE_NAME.removesuffix(".json") + "}.json")
    assert file.axis.interval_us == EVERY / timedelta(microseconds=1)
    assert "STORE_BUCKET:-archives" in str(SERVICES["store"]["command"])
    assert file.path.startswith("s3a://archives/")
    assert read_environment_file(ROOT / ".env.example")["TIDEWHEEL_ARCHIVES"] == "./archives/production"


def test_compose_understands_it_as_the_native_reader_does(environment_file: Path) -> None:
    with available():
        program = compose_reader()
    check_understood(program, read_environment_file(environment_file))


@pytest.mark.cluster
def test_compose_understands_it_in_the_cluster_suite(environment_file: Path) -> None:
    """The same where the reader may be built, so that it is checked there in any case."""
    check_understood(install_compose_reader(), read_environment_file(environment_file))


def check_understood(program: Path, variables: dict[str, str]) -> None:
    understood = compose_config(program, variables)
    services = read_services(COMPOSE, {**variables, "AIRFLOW_BIND": "0.0.0.0"}, ROOT)
    assert understood["services"].keys() == services.keys()
    for name, service in services.items():
        theirs = understood["services"][name]
        # What has no value in the file or the environment is none in the container either.
        there = {key for key, value in (theirs.get("environment") or {}).items() if value is not None}
        assert there == set(service.environment), name
        assert len(theirs.get("command") or ()) == len(service.command), name
        assert set(theirs.get("depends_on") or ()) == set(service.waits_for), name
        assert int(theirs["deploy"].get("replicas", 1)) == service.replicas, name
    for name in SECRETS:
        with pytest.raises(ValueError, match=f"{name} is missing a value: see .env.example"):
            compose_config(program, {**variables, name: ""})


def compose_config(program: Path, variables: dict[str, str]) -> dict[str, Any]:
    """The file as the Compose specification's reader understands it."""
    done = subprocess.run(
        [program, COMPOSE], env={**variables, "HOME": "/nowhere"}, capture_output=True, text=True, check=False, cwd="/"
    )
    if done.returncode:
        raise ValueError(done.stderr)
    assert not done.stderr
    understood: dict[str, Any] = yaml.safe_load(done.stdout)
    return understood
