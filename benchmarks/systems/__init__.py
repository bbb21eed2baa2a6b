"""The systems that can be measured, by name."""

from benchmarks.systems.contract import System
from benchmarks.systems.flink import Flink
from benchmarks.systems.ours import Ours
from benchmarks.systems.pathway import Pathway
from benchmarks.systems.spark_plain import SparkPlain

SYSTEMS: dict[str, System] = {s.name: s for s in (Ours(), SparkPlain(), Flink(), Pathway())}
