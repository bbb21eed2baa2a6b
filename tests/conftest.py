"""What all tests share: the fixtures Tailrace ships to its users, and how Hypothesis is run."""

from collections.abc import Iterator

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

pytest_plugins = ["tailrace.testing.fixtures"]

# No deadline: the machine's load is no property of the code.
settings.register_profile("tailrace", deadline=None, print_blob=True)
# `make properties` asks for this one.
settings.register_profile("nightly", settings.get_profile("tailrace"), max_examples=1000)
settings.load_profile("tailrace")


@pytest.fixture
def little_room(spark: SparkSession) -> Iterator[None]:
    """Spark brings no more than a megabyte to the driver."""
    conf = spark.sparkContext._jsc.sc().conf()  # of the context itself: it is looked at for every job
    before = conf.get("spark.driver.maxResultSize", "1g")
    conf.set("spark.driver.maxResultSize", "1m")
    yield
    conf.set("spark.driver.maxResultSize", before)
