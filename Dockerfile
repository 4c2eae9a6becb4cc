# One image for everything that is ours: Airflow's components, Spark's master and workers, the command line.
# A second target, `store`, is the S3 server that comes along. Python packages, jars and Go modules are checked by hash.

# A tag for people, a digest for the machine; docs/production.md says how to move on to newer ones.
FROM python:3.11.16-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b AS java
RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless procps \
    && rm -rf /var/lib/apt/lists/*

FROM java AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /build
RUN python -m venv /opt/venv
# The locks first: a change of our code does not install everything anew.
COPY requirements.lock requirements-postgres.lock ./
RUN /opt/venv/bin/pip install --require-hashes -r requirements.lock -r requirements-postgres.lock
COPY pyproject.toml LICENSE README.md ./
COPY indexing indexing
COPY queries queries
COPY storage storage
COPY commits commits
COPY jobs jobs
COPY sql sql
COPY dags dags
COPY local local
COPY playground playground
COPY archives archives
COPY tidewheel tidewheel
RUN /opt/venv/bin/pip install --no-deps --no-build-isolation .
# Checked by their hashes, too: jobs/process/jars.toml.
RUN TIDEWHEEL_JARS=/opt/jars /opt/venv/bin/python -m tidewheel.jobs.process.jars kafka postgresql s3

FROM java AS tidewheel
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /tmp tidewheel \
    && install --directory --owner=tidewheel --group=tidewheel \
        /var/lib/airflow /var/lib/spark /etc/tidewheel/archives
COPY --from=build /opt/venv /opt/venv
COPY --from=build /opt/jars /opt/jars
COPY scripts/airflow-init scripts/airflow-clean scripts/as-reader scripts/healthcheck /usr/local/bin/
ENV PATH=/opt/venv/bin:$PATH \
    SPARK_HOME=/opt/venv/lib/python3.11/site-packages/pyspark \
    PYSPARK_PYTHON=/opt/venv/bin/python \
    TIDEWHEEL_JARS=/opt/jars \
    TIDEWHEEL_ARCHIVES=/etc/tidewheel/archives \
    HOME=/tmp \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
WORKDIR /tmp
# The class archive, by which each start of Spark takes half the time. It is of this Java and this Spark, and containers
# cannot write it later: they are read-only. Every update in them is a cold start, so it is made unless told otherwise:
# a minute or two of a build, and 180 MB. `docker compose build --build-arg CLASS_ARCHIVE=no` leaves it out.
ARG CLASS_ARCHIVE=yes
RUN if [ "$CLASS_ARCHIVE" = yes ]; then SPARK_LOCAL_IP=127.0.0.1 tidewheel-setup classes && rm -rf /tmp/*; fi
USER 10001:10001
CMD ["tidewheel", "--help"]

FROM golang:1.26.4-alpine@sha256:7a3e50096189ad57c9f9f865e7e4aa8585ed1585248513dc5cda498e2f41812c AS store-build
# Go checks the module and all that it needs against its checksum database.
RUN CGO_ENABLED=0 go install github.com/versity/versitygw/cmd/versitygw@v1.8.0

FROM alpine:3.22@sha256:14358309a308569c32bdc37e2e0e9694be33a9d99e68afb0f5ff33cc1f695dce AS store
RUN adduser -D -H -u 10001 store \
    && install -d -o store -g store /var/lib/store
COPY --from=store-build /go/bin/versitygw /usr/local/bin/
USER 10001:10001
CMD ["versitygw", "--help"]
