"""Runs in Flink's own Python: definitions, then queries whose answers it prints, then inserts, each to its end."""

import json
import sys

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment

with open(sys.argv[1]) as file:
    job = json.load(file)

config = Configuration()
for name, value in job["config"].items():
    config.set_string(name, value)
tables = TableEnvironment.create(
    EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(config).build()
)
for statement in job["definitions"]:
    tables.execute_sql(statement)
for name, query in job["queries"].items():
    with tables.execute_sql(query).collect() as answer:
        for row in answer:
            sys.stdout.write(json.dumps([name, row.get_row_kind().name, [str(each) for each in row]]) + "\n")
for insert in job["inserts"]:
    tables.execute_sql(insert).wait()
