"""The data that a task moved, for OpenLineage: datasets with rows, bytes and files.

Airflow's provider for OpenLineage asks a task before and after it; where it is not installed nobody asks, and nothing
of it is imported here. Datasets have the names that the provider gives to assets of the same address, so that they meet
those of other DAGs: namespace `file` and a path, or `s3://bucket` and a key.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from airflow.sdk import Asset

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage

# How OpenLineage names what others name differently.
_SCHEMES = {"postgresql": "postgres"}
_TABLES = ("postgresql", "mysql", "sqlserver")  # their datasets are named by dots


@dataclass(frozen=True)
class Moved:
    """The amounts that a task read from its inlet and wrote to its outlet; None is not known."""

    rows_in: int | None = None
    rows: int | None = None
    bytes: int | None = None
    files: int | None = None
    version: int | None = None

    @staticmethod
    def of_receipt(document: dict[str, Any]) -> Moved:
        """Take the amounts from the small receipt of one commit or of several."""
        return Moved(
            document["rows_in"],
            document["stored"],
            document["bytes_added"],
            document["files_added"],
            document["version"],
        )


def dataset_name(asset: Asset) -> tuple[str, str]:
    """The namespace and the name of what lies at an asset's address."""
    place = urlsplit(asset.uri)
    if place.scheme == "file":
        return "file", place.path
    name = place.path.lstrip("/")
    namespace = f"{_SCHEMES.get(place.scheme, place.scheme)}://{place.netloc}"
    return namespace, name.replace("/", ".") if place.scheme in _TABLES else name


def lineage_of(inlets: Iterable[Any], outlets: Iterable[Any], moved: Moved | None) -> OperatorLineage[Any, Any]:
    """A task's datasets, and what moved if it is over."""
    from airflow.providers.openlineage.extractors import OperatorLineage
    from openlineage.client.event_v2 import InputDataset, OutputDataset

    inputs, outputs = _named(inlets), _named(outlets)
    told, wrote, facets = ({}, {}, {}) if moved is None else _facets(moved)
    return OperatorLineage(
        inputs=[InputDataset(*name, inputFacets=told) for name in inputs],
        # What is known of the rows is known of the first; others are views of the same.
        outputs=[OutputDataset(*name, facets=facets, outputFacets=wrote) for name in outputs],
    )


def _named(assets: Iterable[Any]) -> list[tuple[str, str]]:
    """Each dataset once: the slots of an archive are its table again."""
    return list(dict.fromkeys(dataset_name(one) for one in assets if isinstance(one, Asset)))


def _facets(moved: Moved) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the facets of the input, of the output, and of the output's dataset."""
    from openlineage.client.facet_v2 import (
        dataset_version_dataset,
        input_statistics_input_dataset,
        output_statistics_output_dataset,
    )

    read = input_statistics_input_dataset.InputStatisticsInputDatasetFacet(rowCount=moved.rows_in)
    wrote = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
        rowCount=moved.rows, size=moved.bytes, fileCount=moved.files
    )
    version = dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=str(moved.version))
    return (
        {"inputStatistics": read},
        {"outputStatistics": wrote},
        {} if moved.version is None else {"version": version},
    )
