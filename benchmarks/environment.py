"""The programs under test: ours and Spark's run in this project's own environment, Flink and Pathway in their own.

`python -m benchmarks setup` makes them with pip and fetches Flink's Kafka connector with the Ivy that Spark ships; a
peer that is not set up is left out of a campaign, and the report says so.
"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

from benchmarks.settings import HOME
from tailrace.jars import spark_jars

PYTHON = sys.executable

FLINK_PYTHON = HOME / "flink" / "bin" / "python"
FLINK_JARS = HOME / "flink" / "jars"
_FLINK = "apache-flink>=2.2,<2.3"
_FLINK_CONNECTOR = ("org.apache.flink", "flink-sql-connector-kafka", "5.0.0-2.2")
_FLINK_AVRO = ("org.apache.flink", "flink-sql-avro-confluent-registry", "2.2.0")

PATHWAY_PYTHON = HOME / "pathway" / "bin" / "python"
_PATHWAY = "pathway>=0.33,<0.34"


def flink_is_there() -> bool:
    return FLINK_PYTHON.exists() and any(FLINK_JARS.glob("*.jar"))


def spark_files() -> list[Path]:
    return spark_jars()


def versions(*packages: str) -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in packages}


def flink_versions() -> dict[str, str]:
    return {"apache-flink": _installed(FLINK_PYTHON)["apache-flink"], _FLINK_CONNECTOR[1]: _FLINK_CONNECTOR[2]}


def pathway_versions() -> dict[str, str]:
    return {"pathway": _installed(PATHWAY_PYTHON)["pathway"]}


def _installed(python: Path) -> dict[str, str]:
    command = [str(python), "-m", "pip", "list", "--format=freeze"]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return dict(line.split("==") for line in listing.splitlines() if "==" in line)


def build_flink() -> None:
    _build(FLINK_PYTHON, "setuptools<80", _FLINK)
    FLINK_JARS.mkdir(parents=True, exist_ok=True)
    for jar in (_FLINK_CONNECTOR, _FLINK_AVRO):
        _fetch(jar)


def build_pathway() -> None:
    _build(PATHWAY_PYTHON, _PATHWAY)


def _build(python: Path, *packages: str) -> None:
    print(f"{packages[-1]} into {python.parent.parent} (some minutes) …", flush=True)
    if not python.exists():
        subprocess.run([PYTHON, "-m", "venv", str(python.parent.parent)], check=True)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)


def _fetch(jar: tuple[str, str, str]) -> None:
    ivy = next(Path(importlib.metadata.distribution("pyspark").locate_file("pyspark/jars")).glob("ivy-*.jar"))
    target = f"{FLINK_JARS}/[artifact]-[revision].[ext]"
    only_itself = ["-types", "jar", "-notransitive"]  # not its sources
    subprocess.run(["java", "-jar", str(ivy), "-dependency", *jar, "-retrieve", target, *only_itself], check=True)
