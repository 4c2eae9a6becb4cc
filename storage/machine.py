"""Refusals of the operating system, the network or the object store, told apart from damage.

The archive is not at fault, and stays as it was.
"""

from __future__ import annotations

from tidewheel.indexing.errors import InvalidInput, NotInstalled, TidewheelError, Unavailable
from tidewheel.indexing.printable import one_line

_AGAIN = "then run the command again"
# Words of the system, of Java, Arrow and delta-rs → what it means, what to do, and the kind of error.
_FAULTS: tuple[tuple[tuple[str, ...], str, str, type[TidewheelError]], ...] = (
    (
        # The second is what every later try in the same Java says. First of all, for its text also names a file.
        ("UnsatisfiedLinkError", "Could not initialize class com.github.luben.zstd", "failed to map segment"),
        "a library that Java brings cannot be loaded",
        "Java unpacks it into its temporary folder, which may be mounted with noexec: name another, on this machine "
        "SPARK_LOCAL_DIRS=/folder, on the workers of a cluster JAVA_TOOL_OPTIONS=-Djava.io.tmpdir=/folder",
        NotInstalled,
    ),
    (
        # Where Amazon's machines are asked for keys when there are none in the environment.
        ("169.254.169.254", "NoAuthWithAWSException", "Unable to load credentials", "EC2MetadataClient"),
        "there are no keys for the object store",
        f"set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, {_AGAIN}",
        InvalidInput,
    ),
    (
        ("InvalidAccessKeyId", "INVALID_ACCESS_KEY_ID", "SignatureDoesNotMatch", "SIGNATURE_DOES_NOT_MATCH",
         "AccessDenied", "ACCESS_DENIED", "ExpiredToken", "InvalidToken", "403 Forbidden", "status 403",
         "Status Code: 403", "401 Unauthorized", "status 401", "Access Denied", "AuthorizationHeaderMalformed"),
        "the object store does not accept the keys",
        f"check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and what the key may do, {_AGAIN}",
        InvalidInput,
    ),
    (
        ("NoSuchBucket", "NO_SUCH_BUCKET", "bucket does not exist", "Bucket not found"),
        "there is no such bucket",
        f"correct the path, or create the bucket, {_AGAIN}",
        InvalidInput,
    ),
    (
        ("Connection refused", "Connection reset", "Connection timed out", "ConnectException", "NETWORK_CONNECTION",
         "error sending request", "error following redirect", "dns error", "Could not resolve host",
         "Name or service not known", "UnknownHostException", "Temporary failure in name resolution",
         "NoRouteToHostException", "Network is unreachable", "No route to host", "operation timed out",
         "SocketTimeoutException", "Unable to execute HTTP request", "Broken pipe", "connection closed before message",
         "SLOW_DOWN", "SlowDown", "503 Service Unavailable", "500 Internal Server Error", "502 Bad Gateway",
         "The connection attempt failed", "curlCode: ", "HTTP status 50", "AWS Error INTERNAL_FAILURE",
         "AWS Error SERVICE_UNAVAILABLE", "AWS Error REQUEST_TIMEOUT", "Service Unavailable", "Bad Gateway",
         "Transport endpoint is not connected", "Stale file handle", "Host is down", "request or response body error"),
        "the other side does not answer",
        f"see that the host is up and its address right (for an object store, AWS_ENDPOINT_URL), {_AGAIN}",
        Unavailable,
    ),
    (
        ("Not a directory", "Too many levels of symbolic links", "File name too long"),
        "the path leads to no folder",
        "give the folder of an archive's table",
        InvalidInput,
    ),
    (
        ("No space left on device", "Disk quota exceeded"),
        "the disk is full",
        "free space (tidewheel vacuum removes what is no longer needed), then run the command again",
        InvalidInput,
    ),
    (
        ("Permission denied", "Read-only file system"),
        "the system does not allow it",
        "give this user the right to read and write there, then run the command again",
        InvalidInput,
    ),
    (
        # All that Hadoop says, whether for want of a right or of room.
        ("Mkdirs failed",),
        "a folder cannot be made",
        "see that the disk is not full and that this user may write there, then run the command again",
        InvalidInput,
    ),
    (
        ("Too many open files",),
        "too many files are open",
        "raise the limit (ulimit -n 4096), then run the command again",
        InvalidInput,
    ),
    (
        ("Cannot allocate memory", "bad_alloc", "OutOfMemoryError", "Java heap space", "MemoryError",
         "malloc of size", "realloc of size", "Out of Memory", "failed to allocate", "INVALID_DRIVER_MEMORY",
         "INVALID_EXECUTOR_MEMORY"),
        "the memory is not enough",
        "bring fewer slots in one commit, give Spark more (SPARK_DRIVER_MEMORY=4g), or lift the limit of this process",
        InvalidInput,
    ),
)  # fmt: skip


def machine_fault(
    text: str, doing: str, said: str = "", *, state: str = "Nothing was changed"
) -> TidewheelError | None:
    """Return the error to raise if a text speaks of a fault of the machine or the network; `said` is its gist.

    >>> print(machine_fault("IOError: Too many open files (os error 24)", "while reading a.json").message)
    too many files are open while reading a.json (IOError: Too many open files (os error 24)). Nothing was changed
    """
    said = said or one_line(text)[:500]
    for signs, what, remedy, kind in _FAULTS:
        if any(sign in text for sign in signs):
            return kind(f"{what} {doing} ({said}). {state}", remedy)
    return None
