"""Results side by side, as Markdown: medians, and each system's ratio to ours in the same table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import median

_MEASURES = (("throughput", "messages_per_second", "messages/s"), ("latency", "p50_ms", "p50 ms"))


def markdown(results: Iterable[dict]) -> str:
    good = [result for result in results if result["correct"]]
    return "\n\n".join(_section(good, *measure) for measure in _MEASURES)


def _section(results: list[dict], mode: str, field: str, unit: str) -> str:
    found: defaultdict[tuple[str, str], defaultdict[str, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for result in results:
        if result["mode"] == mode and result.get(field) is not None:
            found[result["system"], result["variant"]][result["workload"]].append(result[field])
    workloads = sorted({workload for by_workload in found.values() for workload in by_workload})
    ours = found.get(("ours", "eo"), {})
    lines = [f"{unit}, with ours / theirs" if mode == "throughput" else f"{unit}, with theirs / ours"]
    lines += ["", "| system | " + " | ".join(workloads) + " |", "|---" * (len(workloads) + 1) + "|"]
    for (system, variant), by_workload in sorted(found.items()):
        cells = [_cell(by_workload.get(w), ours.get(w), mode) for w in workloads]
        lines.append(f"| {system} {variant} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(values: list[float] | None, ours: list[float] | None, mode: str) -> str:
    if not values:
        return "–"
    middle = median(values)
    ratio = ""
    if ours:
        quotient = median(ours) / middle if mode == "throughput" else middle / median(ours)
        ratio = f" ({quotient:.2f}×)"
    return f"{middle:,.0f}{ratio}"
