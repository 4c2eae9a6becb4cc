"""The JSON schema of query files for editors, written from the table of fields.

It says less than the parser: which keys there are and what each may hold, nothing of SQL and of keys that depend on
others.
"""

from __future__ import annotations

from typing import Any

from tidewheel.indexing.toml.page import Absent, Field
from tidewheel.queries.standing.query_fields import FORM


def query_file_schema() -> dict[str, Any]:
    """The schema of a query file."""
    fields = FORM.fields_of("query")
    one = {
        "type": "object",
        "properties": {field.key: _value(field) for field in fields},
        "required": [field.key for field in fields if field.default is Absent.FAULT],
        "additionalProperties": False,
    }
    several = {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/query"}}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Standing queries over an archive",
        "type": "object",
        "definitions": {"query": one},
        "properties": {
            "query": {"description": FORM.sections["query"], "anyOf": [{"$ref": "#/definitions/query"}, several]}
        },
        "required": ["query"],
        "additionalProperties": False,
    }


def _value(field: Field) -> dict[str, Any]:
    default = {} if isinstance(field.default, Absent) else {"default": field.default}
    return {"description": field.meaning, **field.kind.schema, **default, "examples": [field.example]}
