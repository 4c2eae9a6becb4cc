"""Nanoseconds of what a refresh does. Written by `python -m benchmarks sharing --adopt`; do not edit.

Fitted to refreshes of 40 plans; of plans that were not fitted, the median error is 9%.
"""

REFRESH_NS = 5.669e7
TREE_NS = 7.092e6
RECORD_NS = 45.85
PREDICATE_NS = 96.58
WRITTEN_NS = 2557
READ_NS = 0
REPORT_NS = 5.298e5
ANSWER_NS = 2.392e4
