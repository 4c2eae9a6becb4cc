"""Row numbers of a rewritten statement: their order is total, and one that is shown ends with the first better row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tidewheel.indexing.errors import InvalidInput
from tidewheel.sql.derivations.lives import Life
from tidewheel.sql.derivations.trees import Node, Trees
from tidewheel.sql.engine.quoting import Sql, quote_identifier


@dataclass(frozen=True)
class RowNumbers:
    """Row numbers of a SELECT: their order is made total, and a number that is shown ends with the first better row."""

    trees: Trees
    life: Life

    def column(self, node: Node) -> Sql:
        text = self.trees.text_of(self._total(node))
        return Sql(f"{text} AS {quote_identifier(node['alias'])}") if node.get("alias") else text

    def qualify(self, node: Node | None) -> Sql:
        if not node:
            return Sql("")
        return Sql(f" QUALIFY {self.trees.text_of(self._total(node))}")

    def _total(self, node: Any) -> Any:
        """Return a tree in which each row number orders by the row's hash as well."""
        if isinstance(node, list):
            return [self._total(one) for one in node]
        if not isinstance(node, dict):
            return node
        found = {key: self._total(value) for key, value in node.items()}
        if found.get("class") == "WINDOW":
            if found["type"] != "WINDOW_ROW_NUMBER":
                raise InvalidInput("a window function", "row_number() OVER (...) is taken, with QUALIFY")
            tie = {"type": "DESCENDING", "null_order": "ORDER_DEFAULT"}
            found["orders"] = [*found["orders"], tie | {"expression": self.trees.expression(self.life.row_hash)}]
        return found

    def shortened(self, qualify: Node | None, columns: Sequence[Node]) -> Life:
        shown = [one for one in columns if one.get("class") == "WINDOW"]
        if not shown:
            return self.life
        window = self._total(shown[0])
        text = self.trees.text_of(window)
        over = text[text.index(" OVER ") :].rstrip(")")
        running = f"min({self.life.until}){over} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
        return Life(Sql(running), self.life.place, self.life.row_hash, self.life.time)
