"""The queries that answers are derived by, as their archive's definition keeps them: in few bytes.

The log has the definition as JSON within JSON within JSON, where each quote is eight characters: a thousand queries
would be megabytes that whoever opens the archive reads. Archives of earlier programs have them as they are.

Beside the queries stand digests: of the text that each was compiled from, so that no text is compiled twice, and of
all query files together, so that files nobody has touched are not even parsed.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Any

from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.core.derivation import Derivation
from tidewheel.local.derived.neighbours import derived_by, derived_job
from tidewheel.queries.standing.query import DIGEST_BYTES, Query
from tidewheel.storage.snapshot import Snapshot

KEY = "queries"
TEXTS, FILES = "texts", "files"


@dataclass(frozen=True)
class KeptQueries:
    """The queries of a definition; `files` is the digest of the query files that told of them, and of nothing wrong."""

    queries: tuple[Query, ...] = ()
    files: str = ""

    def by_text(self) -> dict[str, Query]:
        """The queries by the digests of their texts."""
        return {query.text: query for query in self.queries if query.text}


def with_queries(told: Mapping[str, Any], queries: Iterable[Query], files: str = "") -> dict[str, Any]:
    """Add the queries that an archive is derived by, and the digest of the query files, to its definition."""
    queries = list(queries)
    text = json.dumps([query.to_json() for query in queries], sort_keys=True)
    digests = b"".join(bytes.fromhex(query.text).rjust(DIGEST_BYTES, b"\0") for query in queries)
    return {**told, KEY: _text(zlib.compress(text.encode())), TEXTS: _text(digests), FILES: files}


def kept_queries(derived: str) -> KeptQueries:
    """The queries in such a definition, with their digests; in that of any other archive, none."""
    told = _unpacked(_content(derived))
    pairs = zip(told.get(KEY, ()), chain(_digests(told), repeat("")), strict=False)
    queries = tuple(Query.from_json({**one, "text": digest}) for one, digest in pairs)
    return KeptQueries(queries, told.get(FILES, ""))


def queries_in(derived: str) -> list[Query]:
    """The queries in such a definition; in that of any other archive, none."""
    return list(kept_queries(derived).queries)


def query_in(derived: str, name: str) -> Query | None:
    """The query of a name in such a definition: no other is looked at, as there may be thousands."""
    told = _unpacked(_content(derived)).get(KEY, ())
    return next((Query.from_json(one) for one in told if one["name"] == name), None)


def files_in(derived: str) -> str:
    """The digest of the query files in such a definition."""
    return str(_content(derived).get(FILES, ""))


def says_the_same(derived: str, other: str) -> bool:
    """Tell whether two definitions say the same: not every zlib packs it alike."""
    return derived == other or _unpacked_whole(derived) == _unpacked_whole(other)


def stored_queries(answers: Snapshot) -> list[Query]:
    """The queries that an answers archive is derived by; of any other archive, none."""
    return queries_in(answers.definition.derived)


def answered(job: ArchiveJob) -> KeptQueries:
    """The queries that were answered so far, as they were, with the digests of what they were compiled from."""
    with derived_by(derived_job(job, "answers")) as derived:
        return kept_queries(derived)


def answered_queries(job: ArchiveJob) -> list[Query]:
    """The queries that were answered so far, as they were."""
    return list(answered(job).queries)


def answered_query(job: ArchiveJob, name: str) -> Query | None:
    """The query of a name as it was when it was answered last."""
    with derived_by(derived_job(job, "answers")) as derived:
        return query_in(derived, name)


def answered_files(job: ArchiveJob) -> str:
    """The digest of the query files that told of these queries."""
    with derived_by(derived_job(job, "answers")) as derived:
        return files_in(derived)


def _content(derived: str) -> Mapping[str, Any]:
    return Derivation.from_text(derived).content


def _unpacked(told: Mapping[str, Any]) -> Mapping[str, Any]:
    packed = told.get(KEY)
    if not isinstance(packed, str):
        return told
    try:
        return {**told, KEY: json.loads(zlib.decompress(b64decode(packed)))}
    except zlib.error as error:
        raise ValueError(f"its queries are not what was packed: {error}") from error


def _unpacked_whole(derived: str) -> Derivation:
    derivation = Derivation.from_text(derived)
    return replace(derivation, content=_unpacked(derivation.content))


def _digests(told: Mapping[str, Any]) -> Iterable[str]:
    packed = b64decode(told.get(TEXTS, ""))
    found = (packed[at : at + DIGEST_BYTES] for at in range(0, len(packed), DIGEST_BYTES))
    return (one.hex() if any(one) else "" for one in found)


def _text(packed: bytes) -> str:
    return b64encode(packed).decode()
