"""The Spark session: one per run."""

from __future__ import annotations

import logging
import os

from py4j.protocol import Py4JError
from pyspark import SparkConf
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from tidewheel.jobs.process.java import not_started, start_java
from tidewheel.jobs.process.java_start import let_go_of_dead_java
from tidewheel.jobs.process.settings import cluster_secret, session_settings

# PySpark prints each mistake in SQL with its traceback as JSON to standard error, before it raises it.
_CONTEXTS_LOGGED = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


def open_session(name: str = "tidewheel") -> SparkSession:
    """Return the running session, or a new one; spark-defaults.conf is honoured where it does not contradict."""
    let_go_of_dead_java()
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    words = start_java()
    conf = session_conf(name).setAll([*cluster_secret(os.environ).items()])
    try:
        session = SparkSession.builder.config(conf=conf).getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        raise not_started(error) from error
    if words is not None:
        words.pass_on()
    for context in _CONTEXTS_LOGGED:
        PySparkLogger.getLogger(context).setLevel(logging.CRITICAL)
    return session


def session_conf(name: str) -> SparkConf:
    """Return the settings as Spark takes them."""
    return SparkConf().setAll([*session_settings(os.environ, name).items()])
