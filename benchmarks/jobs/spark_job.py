"""The workloads on plain Structured Streaming."""

import json
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

with open(sys.argv[1]) as file:
    job = json.load(file)

builder = SparkSession.builder.master(job["master"]).appName("bench")
for name, value in job["conf"].items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
print("@bench engine_up", flush=True)

PAGEVIEWS = "view_id bigint, user_id bigint, page_id bigint, viewtime string, user_region string"
READINGS = "device_id bigint, updated_at bigint, status string, reading bigint"


def source(role, schema):
    topic = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", job["bootstrap"])
        .option("subscribe", job["inputs"][role])
        .option("startingOffsets", "earliest")
        .load()
    )
    return topic.select(F.from_json(F.col("value").cast("string"), schema).alias("row")).select("row.*")


def w1():
    views = source("pageviews", PAGEVIEWS).where("page_id < 5000")
    return views.selectExpr("view_id", "user_id", "viewtime", "upper(user_region) AS region"), None, "append"


def w2():
    counts = source("pageviews", PAGEVIEWS).groupBy("user_region")
    return (
        counts.agg(F.expr("count(*) AS pv"), F.expr("size(collect_set(user_id)) AS uv")),
        "user_region",
        "update",
    )


def w4():
    latest = source("readings", READINGS).groupBy("device_id")
    row = F.max_by(F.struct("updated_at", "status", "reading"), "updated_at").alias("row")
    return latest.agg(row).select("device_id", "row.*"), "device_id", "update"


rows, key, output_mode = {"w1": w1, "w2": w2, "w4": w4}[job["workload"]]()
message = [F.to_json(F.struct(*rows.columns)).alias("value")]
if key is not None:
    message.insert(0, F.to_json(F.struct(key)).alias("key"))
query = (
    rows.select(*message)
    .writeStream.format("kafka")
    .option("kafka.bootstrap.servers", job["bootstrap"])
    .option("topic", job["output_topic"])
    .option("checkpointLocation", job["checkpoint"])
    .outputMode(output_mode)
    .start()
)
print("@bench job_running", flush=True)
query.awaitTermination()
