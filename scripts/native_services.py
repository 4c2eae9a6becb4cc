"""PostgreSQL and the S3 server as programs of this machine: their places, their installation, their start.

Beside them is the Compose specification's own reader, which tells whether docker-compose.yml is valid.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

VERSITYGW = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
# Of the time of Compose 2.29; newer ones print the file without the environment's values.
COMPOSE_READER = "github.com/compose-spec/compose-go/v2/cmd@v2.2.0"


class Missing(Exception):
    """A program that is not here; the text says how to install it."""


def versitygw() -> Path:
    """Return the S3 server's program, from the PATH or from where `install_versitygw` puts it."""
    found = shutil.which("versitygw") or str(programs_folder() / "versitygw")
    if not Path(found).is_file():
        raise Missing(f"the S3 server versitygw is not here: GOBIN={programs_folder()} go install {VERSITYGW}")
    return Path(found)


def install_versitygw() -> Path:
    """Build it, which takes minutes, unless it is here."""
    return _built(versitygw, VERSITYGW, programs_folder())


def compose_reader() -> Path:
    """Return the program of compose-go; its name is `cmd`, so it has a folder of its own."""
    program = programs_folder() / "compose-go" / "cmd"
    if not program.is_file():
        raise Missing(f"compose-go is not here: GOBIN={program.parent} go install {COMPOSE_READER}")
    return program


def install_compose_reader() -> Path:
    """Build it, in half a minute, unless it is here."""
    return _built(compose_reader, COMPOSE_READER, programs_folder() / "compose-go")


def _built(find: Callable[[], Path], module: str, folder: Path) -> Path:
    try:
        return find()
    except Missing:
        if shutil.which("go") is None:
            raise
    subprocess.run(["go", "install", module], env={**os.environ, "GOBIN": str(folder)}, check=True)
    return find()


def postgres_programs() -> Path:
    """Return the folder of PostgreSQL's server programs; the newest, if there are several."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    found = versions[-1] if versions else Path(shutil.which("initdb") or "")
    if not found.is_file():
        raise Missing("PostgreSQL is not here: apt-get install postgresql")
    return found.parent


def install_postgres() -> Path:
    """Install Debian's package, if that needs no question."""
    try:
        return postgres_programs()
    except Missing:
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            raise
    surroundings = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "install", "-y", "-qq", "postgresql"], env=surroundings, check=True)
    return postgres_programs()


def programs_folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "tidewheel" / "bin"


def postgres_folder(home: Path) -> Path:
    """Return the folder of the server's files.

    It refuses to run as root, and its account cannot enter a closed home.
    """
    if os.geteuid() != 0:
        return home
    return Path("/var/tmp") / f"tidewheel-postgres-{hashlib.sha256(bytes(home.absolute())).hexdigest()[:12]}"


def postgres_command(folder: Path, port: int, *, user: str, password: str, more: Sequence[str] = ()) -> list[str]:
    """Return the command of a server on the loopback with its data in a folder, which is made at the first time."""
    programs = postgres_programs()
    folder.mkdir(parents=True, exist_ok=True)
    account = _given_to_account(folder)
    data = folder / "data"
    if not data.exists():
        secret = folder / "password"
        secret.touch(mode=0o600)
        secret.write_text(password)
        _given_to_account(secret)
        initialise = [str(programs / "initdb"), "-D", str(data), "-U", user, "--pwfile", str(secret)]
        initialise += ["-A", "scram-sha-256", "-E", "UTF8", "--no-sync"]
        subprocess.run([*account, *initialise], check=True, capture_output=True, cwd="/")
        secret.unlink()
    settings = ["listen_addresses=127.0.0.1", f"port={port}", f"unix_socket_directories={folder}", *more]
    options = [part for setting in settings for part in ("-c", setting)]
    return [*account, str(programs / "postgres"), "-D", str(data), *options]


def postgres_ready(port: int) -> bool:
    asked = [str(postgres_programs() / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
    return subprocess.run(asked, check=False).returncode == 0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(command: Sequence[str], environment: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
    """Start a process with its own log, and its own session, so that it can be stopped with all its children."""
    with log.open("ab") as output:
        return subprocess.Popen(
            command, env=environment, stdout=output, stderr=output, stdin=subprocess.DEVNULL, cwd="/",
            start_new_session=True,
        )  # fmt: skip


def stop(processes: Sequence[subprocess.Popen[bytes]], wait_s: float = 20) -> None:
    """Ask all to end, then see to it."""
    for process in processes:
        _signal_group(process, signal.SIGTERM)
    deadline = time.monotonic() + wait_s
    for process in processes:
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(0.1, deadline - time.monotonic()))
    for process in processes:
        _signal_group(process, signal.SIGKILL)
        process.wait()


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _given_to_account(path: Path) -> list[str]:
    """Give the path to the server's account; return the prefix of its command, as it refuses to run as root."""
    if os.geteuid() != 0:
        return []
    account = pwd.getpwnam("postgres")
    os.chown(path, account.pw_uid, account.pw_gid)
    return ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups", "--"]
