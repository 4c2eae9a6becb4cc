"""The protocol: attempt, plan, commit once, receipt; undo, fence and vacuum beside it. No Spark."""
