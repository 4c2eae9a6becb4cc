"""The benefit and cost of one stream's keep fraction in a plan whose windows hold the last W that were kept.

Equations 27 and 28. The source says that the cost has no closed form; it has one (ours): a tuple costs what its
results cost on their way up, so a_k = Σ over the subtrees S below the root that hold k of price(S) × r_k(S), where
r_k(S) are the results of S in which a tuple of k came last. b_k = r_k of the whole query. The sum of all a is C(p).
With one price for all, b_k / a_k = W_out / (τ·Σ W(S)): the rates cancel, and streams that meet few rows on their way
are kept longest. Linear in the plan, times its streams.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidewheel.queries.literature.optimiser.plan_costs import Known, annotated
from tidewheel.queries.literature.optimiser.plan_tree import Tree
from tidewheel.queries.literature.optimiser.window_query import WindowQuery
from tidewheel.queries.statements.join_sizes import Number


@dataclass(frozen=True)
class PathCosts:
    """For each stream: results (b) and cost (a) a unit of time if all of it is kept."""

    benefit: dict[str, Number]
    cost: dict[str, Number]


def path_costs(tree: Tree, query: WindowQuery, known: Known | None = None) -> PathCosts:
    """Return what each stream brings and costs in a plan."""
    root = annotated(tree, query, known)
    return PathCosts(dict(sorted(root.shares.items())), dict(sorted(root.paid.items())))
