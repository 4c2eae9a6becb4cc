"""Nanoseconds of what a refresh does. Written by `python -m benchmarks sharing --adopt`; do not edit.

Not fitted yet: rough figures of one machine.
"""

REFRESH_NS = 0.0
TREE_NS = 4e6
RECORD_NS = 40.0
PREDICATE_NS = 6.0
WRITTEN_NS = 300.0
READ_NS = 45.0
REPORT_NS = 0.0
ANSWER_NS = 120.0
