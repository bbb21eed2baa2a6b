"""`python -m benchmarks [campaign] | run | ticks | reading | state | sql | table | setup`: see RESULTS.md."""

from __future__ import annotations

import argparse
import json
import shutil
import time

from benchmarks import dataset, environment, kafka, record
from benchmarks.measure import latency, throughput
from benchmarks.measure.job import Job, JobFailed
from benchmarks.settings import HOME, SEED
from benchmarks.systems import SYSTEMS
from benchmarks.systems.contract import Run, System
from benchmarks.table import markdown
from benchmarks.workloads import WORKLOADS
from benchmarks.workloads.contract import Workload

# What a campaign measures, in this order, so that a slow hour of the machine hits all alike.
CAMPAIGN = (
    ("ours", "eo", "throughput"),
    ("spark_plain", "alo", "throughput"),
    ("flink", "eo", "throughput"),
    ("pathway", "alo", "throughput"),
    ("ours", "alo", "throughput"),
    ("ours", "eo", "latency"),
    ("flink", "eo", "latency"),
)


def main() -> int:
    args = _parser().parse_args()
    match args.command:
        case "run":
            return _run(args)
        case "table":
            print(markdown(record.load_all()))
        case "setup":
            environment.build_flink()
            environment.build_pathway()
        case _:
            return _campaign(args.workloads)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.set_defaults(workloads=None)
    commands = parser.add_subparsers(dest="command")
    run = commands.add_parser("run", help="measure one system on one workload, once or several times")
    run.add_argument("--system", required=True, choices=SYSTEMS)
    run.add_argument("--workload", required=True, choices=WORKLOADS)
    run.add_argument("--mode", required=True, choices=("throughput", "latency"))
    run.add_argument("--variant", help="the system's first variant if absent")
    run.add_argument("--repeat", type=int, default=1)
    run.add_argument("--keep", action="store_true", help="keep the run's folder and output topic")
    run.add_argument("--dry", action="store_true", help="print the result, do not record it")
    campaign = commands.add_parser("campaign", help="everything, all systems on one broker (the default)")
    campaign.add_argument("--workloads", nargs="*", choices=WORKLOADS)
    commands.add_parser("table", help="print the recorded results side by side, as Markdown")
    commands.add_parser("ticks", help="the cost of a tick on a large state, and whether it stays flat")
    commands.add_parser("state", help="the cost of a tick by rule, size of the change and size of the state")
    commands.add_parser("sql", help="what a client waits for: the catalog, one row, the next change")
    commands.add_parser("reading", help="catch-up reading of JSON and Avro beside Spark's own batch read")
    commands.add_parser("setup", help="make the environments of Flink and Pathway")
    return parser


def _run(args: argparse.Namespace) -> int:
    system, workload = SYSTEMS[args.system], WORKLOADS[args.workload]
    variant = args.variant or next(iter(system.variants))
    if variant not in system.variants:
        raise SystemExit(f"{system.name} has no variant {variant!r}; it has {', '.join(system.variants)}")
    if reason := system.refusal(workload.name):
        print(f"{system.name} cannot run {workload.name}: {reason}")
        return 1
    correct = True
    for _ in range(args.repeat):
        result = _once(system, variant, workload, args.mode, keep=args.keep)
        print(json.dumps(result), flush=True)
        if not args.dry:
            record.save(result)
        correct &= result["correct"]
    return 0 if correct else 1


def _campaign(names: list[str] | None) -> int:
    results = []
    first = names[0] if names else next(iter(WORKLOADS))
    _once(SYSTEMS["ours"], "eo", WORKLOADS[first], "throughput", keep=False)  # a new broker is slow: whoever came first would pay
    for name in names or WORKLOADS:
        for system, variant, mode in CAMPAIGN:
            if reason := SYSTEMS[system].refusal(name):
                print(f"{system} {name}: left out, {reason}", flush=True)
                continue
            result = _once(SYSTEMS[system], variant, WORKLOADS[name], mode, keep=False)
            record.save(result)
            results.append(result)
            print(f"{system} {variant} {name} {mode}: {_short(result)}", flush=True)
    print("\n" + markdown(results))
    return 0 if all(result["correct"] for result in results) else 1


def _short(result: dict) -> str:
    if not result["correct"]:
        return f"WRONG: {result['verdict']}"
    if result["mode"] == "throughput":
        return f"{result['messages_per_second']:,.0f} messages/s"
    return f"p50 {result['p50_ms']:.0f} ms, p99 {result['p99_ms']:.0f} ms"


def _once(system: System, variant: str, workload: Workload, mode: str, *, keep: bool) -> dict:
    started = time.time()
    identity = f"bench-{system.name.replace('_', '-')}-{variant}-{workload.name}-{mode}-{int(started * 1000)}"
    folder = HOME / "runs" / identity
    folder.mkdir(parents=True)
    own_topics = [output_topic := f"{identity}-out"]
    kafka.create_topic(output_topic)
    if mode == "throughput":
        backlog = dataset.prepare(workload)
        inputs = backlog.topics
    else:
        stream = workload.stream(SEED, latency.PACED)
        inputs = {role: f"{identity}-{role}" for role in workload.inputs}
        own_topics += inputs.values()
        for topic in inputs.values():
            kafka.create_topic(topic)
        kafka.load(inputs, stream.base)
    run = Run(
        id=identity,
        workload=workload.name,
        variant=variant,
        inputs=inputs,
        output_topic=output_topic,
        output=workload.output,
        folder=folder,
    )
    launch = system.launch(run)
    job = Job(launch.argv, launch.env, folder)
    try:
        if mode == "throughput":
            measured = throughput.measure(job, workload, launch.envelope, backlog, output_topic)
        else:
            measured = latency.measure(job, workload, launch.envelope, stream, inputs, output_topic)
    except JobFailed as failure:
        keep, measured = True, {"correct": False, "verdict": str(failure)}
    finally:
        job.stop()
        if not keep:
            kafka.delete_topics(own_topics)
            shutil.rmtree(folder, ignore_errors=True)
    return record.describe(system, variant, workload, mode, started) | measured
