"""The four workloads, by name."""

from benchmarks.workloads.contract import Workload
from benchmarks.workloads.w1_passthrough import Passthrough
from benchmarks.workloads.w2_regions import Regions
from benchmarks.workloads.w3_join import JoinedRevenue
from benchmarks.workloads.w4_latest import LatestReading

WORKLOADS: dict[str, Workload] = {
    w.name: w for w in (Passthrough(), Regions(), JoinedRevenue(), LatestReading())
}
