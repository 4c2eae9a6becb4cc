"""Standing queries under Airflow: which DAGs refresh, when, and what becomes of a refresh that fails."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.archives.toml_archives import TomlArchive
from tests.support.services.dag_runs import K, bag_of, context_of, dags_of, pytestmark, tide, work

__all__ = ["pytestmark", "tide"]

QUERY = """
[query]
of = "tide"
select = "count(*) as n, sum(body) as total"
window = "1h"
slide = "20m"
"""


def ask(tide: TomlArchive, text: str = QUERY) -> None:
    folder = tide.path.parent / "queries"
    folder.mkdir(exist_ok=True)
    (folder / "counted.toml").write_text(text)


def after(dag: Any, task: str) -> set[str]:
    return set(dag.task_dict[task].downstream_task_ids)


def test_where_a_query_asks_the_archive_its_dags_refresh(tide: TomlArchive) -> None:
    assert not any("refresh" in dag.task_ids for dag in dags_of(tide).values())
    ask(tide, QUERY.replace("tide", "other"))
    assert not any("refresh" in dag.task_ids for dag in dags_of(tide).values())
    ask(tide)
    bag = bag_of(tide.path.parent)
    assert bag.import_errors == {}
    dags = bag.dags
    assert after(dags["tide"], "update") == {"refresh"}
    # What follows a backfill that stopped does not make a success of its run.
    assert after(dags["tide__backfill"], "backfill") == {"refresh", "backfill_done"}
    assert str(dags["tide__backfill"].task_dict["backfill_done"].trigger_rule.value) == "all_success"
    assert {"refresh", "vacuum"} == after(dags["tide__maintenance"], "expire")
    assert after(dags["tide__maintenance"], "forget") == {"refresh"}
    # A run is judged by its last tasks: a refresh that fails hides behind none.
    assert all(any(task.task_id == "refresh" for task in dag.leaves) for dag in dags.values())
    rules = {name: str(dag.task_dict["refresh"].trigger_rule.value) for name, dag in dags.items()}
    assert rules == {
        "tide": "all_success",
        "tide__backfill": "all_done",
        "tide__maintenance": "none_failed_min_one_success",
    }
    (outlet,) = dags["tide"].task_dict["refresh"].outlets
    assert (outlet.name, outlet.uri) == ("tide.answers", f"file://{tide.folder}/tables/tide.answers")


def test_a_query_file_that_cannot_be_read_is_told_by_the_refresh(tide: TomlArchive) -> None:
    ask(tide, "[query\n")
    assert bag_of(tide.path.parent).import_errors == {}
    assert "refresh" in dags_of(tide)["tide"].task_ids


def test_before_the_first_update_there_is_nothing_to_refresh(tide: TomlArchive) -> None:
    from airflow.sdk.exceptions import AirflowSkipException

    ask(tide)
    with pytest.raises(AirflowSkipException, match="the first update creates it"):
        work(tide, "tide", "refresh", context_of(tide, K, K + 2))


def test_updates_backfills_and_forgets_reach_the_answers(tide: TomlArchive, spark: object) -> None:
    from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

    tide.write_file(clock="data")
    ask(tide)
    tide.write_batches(range(K, K + 6))
    context = context_of(tide, K, K + 2)
    work(tide, "tide", "update", context)
    told = work(tide, "tide", "refresh", context)
    assert (told["queries"], told["answers_corrected"]) == (["counted"], 0)
    assert 1 <= told["answers_given"] <= 3, "of windows whose batches could be read whole"
    (outlet,) = dags_of(tide)["tide"].task_dict["refresh"].outlets
    assert context["outlet_events"][outlet].extra == told
    with pytest.raises(AirflowSkipException, match="no answer is new"):
        work(tide, "tide", "refresh", context)
    # A slot comes again with other data: what it touches is corrected.
    tide.write_batches([K + 1], edition=1)
    tide.open().update(tide.axis.name(K + 1))
    told = work(tide, "tide__backfill", "refresh", context)
    assert 1 <= told["answers_corrected"] <= 2
    # Faults of a query file are the refresh's, and the archive goes on.
    before = tide.open().snapshot().version
    ask(tide, QUERY.replace("sum(body)", "sum(nothing)"))
    with pytest.raises(AirflowFailException, match="nothing"):
        work(tide, "tide", "refresh", context)
    assert tide.open().snapshot().version == before
    ask(tide)
    tide.open().forget([("k1",)])
    told = work(tide, "tide__maintenance", "refresh", context)
    assert told["answers_corrected"] > 0


def test_several_nodes_are_mapped_tasks(tide: TomlArchive) -> None:
    from airflow.sdk.definitions.mappedoperator import MappedOperator

    ask(tide)
    tide.path.write_text(f"{tide.path.read_text()}\n[queries]\nnodes = 3\n")
    dags = dags_of(tide)
    for name, dag in dags.items():
        task = dag.task_dict["refresh"]
        assert isinstance(task, MappedOperator), name
        assert task.expand_input.value == {"node": [1, 2, 3]}
        assert task.partial_kwargs["nodes"] == task.partial_kwargs["max_active_tis_per_dag"] == 3
    assert after(dags["tide"], "update") == {"refresh"}


def test_of_several_nodes_the_first_tells_faults_of_files(tide: TomlArchive, spark: object) -> None:
    from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

    tide.write_file(clock="data")
    ask(tide)
    (tide.path.parent / "queries" / "bad.toml").write_text(QUERY.replace("sum(body)", "sum(nothing)"))
    tide.path.write_text(f"{tide.path.read_text()}\n[queries]\nnodes = 2\n")
    tide.write_batches(range(K, K + 6))
    context: Any = context_of(tide, K, K + 2)
    work(tide, "tide", "update", context)

    def refresh(node: int) -> Any:
        from tidewheel.dags.tasks.refreshing import RefreshQueries

        return RefreshQueries(task_id=f"node{node}", archive_file=str(tide.path), node=node, nodes=2).execute(context)

    with pytest.raises(AirflowFailException, match="nothing"):
        refresh(1)
    with pytest.raises(AirflowSkipException, match="no answer is new"):
        refresh(2)
    assert tide.open().queries.ask("counted", last=None).num_rows
