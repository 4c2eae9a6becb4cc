"""An archive's query files, read and understood: which queries ask it, what is wrong, what was compiled before.

Files that nobody has touched since the last refresh are not parsed, and a text that was compiled once is not compiled
again: the answers' definition holds the queries with digests of both (`local/standing/stored_queries.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING

from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.toml.page import Fault
from tidewheel.queries.standing.query import Query, QueryText
from tidewheel.query_files import QueryFiles, archive_names

if TYPE_CHECKING:
    from tidewheel.handle import Handle
    from tidewheel.local.standing.compile import Understood


class ReadQueries:
    """The query files of one archive."""

    def __init__(self, archive: Handle) -> None:
        self._archive = archive
        self.wrong: InvalidInput | None = None  # with the files, when they were read last
        self._read: QueryFiles | None = None

    def files(self) -> QueryFiles:
        """The query files beside the archive file, as they are now."""
        return QueryFiles.read(self._archive.folder)

    def were_edited(self) -> bool:
        """Tell whether the query files changed since they were last read."""
        return self._read is not None and self.files() != self._read

    def are_there(self) -> bool:
        """Tell whether a query asks this archive, or did so at the last refresh."""
        return self._archive.location.derived("answers").has_log() or bool(self.texts())

    def texts(self) -> list[QueryText]:
        """The queries that ask this archive, as their files say them."""
        return self._asking_it(self.files().texts()[0])

    def understood(self) -> Understood:
        """The queries that can be answered, and what is wrong with the others: a fault of one is its own."""
        from tidewheel.local.standing.compile import Understood
        from tidewheel.local.standing.stored_queries import answered

        files, kept = self.files(), answered(self._archive.job)
        self._read = files
        digest = self._digest(files)
        if digest and digest == kept.files:
            self.wrong = None
            return Understood(kept.queries, files=digest)
        texts, unread = files.texts()
        found = self._compiled(self._asking_it(texts), kept.by_text())
        nobody = {text.name: fault for text, fault in self._asking_nobody(texts)}
        # Who mistypes its name does not give up the answers.
        astray = {query.name: nobody[query.name] for query in kept.queries if query.name in nobody}
        found = replace(
            found,
            faults=(*unread, *found.faults, *astray.values()),
            at_fault=found.at_fault | astray.keys(),
            some_unnamed=found.some_unnamed or bool(unread),
        )
        self.wrong = found.wrong_so("these queries stay as they were, all others are answered")
        return found if found.faults else replace(found, files=digest)

    def are_untouched(self) -> bool:
        """Tell whether the query files had no fault at the last refresh, and nobody has touched them since."""
        from tidewheel.local.standing.stored_queries import answered_files

        digest = self._digest(self.files())
        return bool(digest) and digest == answered_files(self._archive.job)

    def check(self) -> list[Query]:
        """The queries as they are understood; all that is wrong with any of them at once."""
        found = self.understood()
        others = (fault for fault in self._stray_faults(self.files().texts()[0]) if fault not in found.faults)
        return replace(found, faults=(*found.faults, *others)).sound()

    def query(self, name: str) -> Query:
        """One of them. One that cannot be understood just now is what it was when it was answered last."""
        queries = {query.name: query for query in self._standing().queries}
        if name not in queries:
            known = ", ".join(sorted(queries)) or "none"
            raise self.wrong or InvalidInput(
                f"archive {self._archive_name} has no standing query {name}", f"it has {known}"
            )
        return queries[name]

    def _compiled(self, texts: list[QueryText], known: Mapping[str, Query] = MappingProxyType({})) -> Understood:
        """These queries; `known` are some that were compiled before, by the digests of their texts."""
        from tidewheel.local.standing.compile import understood

        return understood(texts, self._archive.snapshot(), self._inserted_at, known)

    def _digest(self, files: QueryFiles) -> str:
        """A digest of the files and of all that they are compiled against."""
        from tidewheel.local.standing.compile import basis_of

        return files.digest(f"{self._inserted_at} {basis_of(self._archive.snapshot())}")

    def _standing(self) -> Understood:
        """The queries that are answered: those that are understood, and those that were before somebody broke them."""
        from tidewheel.local.standing.stored_queries import answered_queries

        found = self.understood()
        before = found.as_before(answered_queries(self._archive.job)) if found.faults else ()
        return replace(found, queries=(*found.queries, *before))

    def _asking_it(self, texts: list[QueryText]) -> list[QueryText]:
        """The queries that ask this archive, or do not say which."""
        asked = (self._archive_name, "")
        return [text for text in texts if text.of in asked]

    def _asking_nobody(self, texts: list[QueryText]) -> list[tuple[QueryText, Fault]]:
        """Queries of archives that have no file beside them: nobody will ever answer them."""
        archives = {self._archive_name, *archive_names(self._archive.folder)}
        known = f"the archives here are {', '.join(sorted(archives))}"
        return [
            (text, text.fault("of", "there is no archive file of that name", known))
            for text in texts
            if text.of and text.of not in archives
        ]

    def _stray_faults(self, texts: list[QueryText]) -> Iterator[Fault]:
        """All that is wrong with the queries that ask nobody: a misspelt archive hides no other fault."""
        for text, fault in self._asking_nobody(texts):
            yield fault
            is_meant = bool(get_close_matches(text.of, [self._archive_name]))
            yield from self._compiled([text]).faults if is_meant else text.faults

    @property
    def _inserted_at(self) -> str:
        file = self._archive.file
        return file.inserted_at if file else ""

    @property
    def _archive_name(self) -> str:
        return self._archive.snapshot().definition.name
