"""Tailrace's own code on its way to Spark's executors, so that nobody has to install it there.

Tasks that write to Kafka are Python of ours.  What they need of other packages (pyarrow, confluent-kafka) has
to be on the workers; Tailrace itself goes along as an archive, and so has the driver's version everywhere.
tests/cluster/ runs on workers whose Python has no Tailrace.
"""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path
from typing import Any

from pyspark import SparkContext

_ARCHIVE = "tailrace.zip"
_PACKAGE = Path(__file__).parent


def ship(context: SparkContext) -> None:
    """Makes `tailrace` importable for the tasks of this context.  Runs no job; costs nothing after the first time.

    On a local master there is nothing to do: executors are this process and its children.
    """
    if str(context.master).startswith("local") or _ARCHIVE in (context._python_includes or ()):
        return
    context.addPyFile(str(_packed(_folder(context))))


def _packed(folder: Path) -> Path:
    archive = folder / _ARCHIVE
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in sorted(_PACKAGE.rglob("*.py")):
            packed.write(file, file.relative_to(_PACKAGE.parent))
    return archive


def _folder(context: SparkContext) -> Path:
    """Stays as long as Spark does, which serves the archive from there whenever a new executor asks."""
    scratch = Path(context.getConf().get("spark.local.dir") or "/nowhere")
    folder = tempfile.mkdtemp(prefix="tailrace-code-", dir=scratch if scratch.is_dir() else None)
    jvm: Any = context._jvm
    jvm.org.apache.spark.util.ShutdownHookManager.registerShutdownDeleteDir(jvm.java.io.File(folder))
    return Path(folder)
