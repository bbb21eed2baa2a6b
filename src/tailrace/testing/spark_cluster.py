"""A real Spark standalone cluster on this machine: a master and workers of one core each, on free ports.

    with SparkCluster() as cluster:
        EngineProcess(data, log, "--master", cluster.master).start(PYSPARK_PYTHON=str(cluster.python))

Executors share nothing with the engine: they are JVMs of their own, started by the workers in an environment
that has nothing of ours, and their Python, `cluster.python`, has every package but Tailrace.  All of it ends
with the process that started it, however that ends.
"""

import json
import sys
import sysconfig
import time
import urllib.request
import venv
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
import pyspark

from tailrace.java import java_home
from tailrace.testing.ports import free_ports
from tailrace.testing.process import Child, ScratchDirectory

_SPARK_HOME = Path(pyspark.__file__).parent
_START_SECONDS = 90.0
_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_PYTHON_DAEMON = "pyspark.daemon"

_ADOPT_AND_RUN = """
import ctypes, os, sys
PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
os.execvp(sys.argv[1], sys.argv[1:])
"""


@dataclass(frozen=True, slots=True)
class PythonWorker:
    """The process that runs Python of a task, and those it hangs on: it was forked by a daemon of an executor."""

    process: psutil.Process
    daemon: psutil.Process
    executor: psutil.Process


class SparkCluster:
    """`memory` is what a worker has for executors; an engine's executor takes 1 GB unless told otherwise.

    `environment` is added to that of workers, and so of executors and their Python.
    """

    def __init__(
        self, *, workers: int = 2, memory: str = "1g", environment: Mapping[str, str] | None = None
    ) -> None:
        self._environment = dict(environment or {})
        self._memory = memory
        self._count = workers
        self._scratch: ScratchDirectory | None = None
        self._children: list[Child] = []
        self._port = 0
        self._page = 0

    @property
    def master(self) -> str:
        """What an engine is given as `--master`."""
        return f"spark://127.0.0.1:{self._port}"

    @property
    def python(self) -> Path:
        """The workers' Python, to be given to an engine as PYSPARK_PYTHON."""
        return self._directory / "python" / "bin" / "python"

    def executors(self) -> list[psutil.Process]:
        """The executors' JVMs that run now."""
        return [child for worker in self._workers() for child in _children(worker) if _runs(child, _EXECUTOR)]

    def python_workers(self) -> list[PythonWorker]:
        """The processes that run our tasks, or have run some and wait for more."""
        return [
            PythonWorker(process, daemon, executor)
            for executor in self.executors()
            for daemon in _children(executor)
            if _runs(daemon, _PYTHON_DAEMON)
            for process in _children(daemon)
        ]

    def start(self) -> Self:
        """Returns when every worker has told the master of itself."""
        self._scratch = ScratchDirectory("tailrace-cluster-")
        try:
            _make_python(self._directory / "python")
            self._port, self._page = free_ports(2)
            address = ("--host", "127.0.0.1", "--port", str(self._port), "--webui-port", str(self._page))
            self._launch("master", "org.apache.spark.deploy.master.Master", *address)
            self._wait(workers=0)
            for number in range(self._count):
                self._launch_worker(f"worker{number}")
            self._wait(workers=self._count)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        for child in reversed(self._children):
            child.kill()
        self._children.clear()
        if self._scratch is not None:
            self._scratch.close()
            self._scratch = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def _directory(self) -> Path:
        assert self._scratch is not None, "the cluster has not been started"
        return self._scratch.path

    def _workers(self) -> list[psutil.Process]:
        return [psutil.Process(child.pid) for child in self._children[1:] if child.is_running()]

    def _launch_worker(self, name: str) -> None:
        size = ("--cores", "1", "--memory", self._memory, "--work-dir", str(self._directory / name))
        address = ("--host", "127.0.0.1", "--webui-port", "0")
        self._launch(name, "org.apache.spark.deploy.worker.Worker", *address, *size, self.master)

    def _launch(self, name: str, main_class: str, *arguments: str) -> None:
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "JAVA_HOME": str(java_home()),
            "SPARK_HOME": str(_SPARK_HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self._directory / "spills"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            **self._environment,
        }
        # Linux hangs up on a stopped process when its last relative goes.  So the worker, of the same session, adopts
        # it: else a test could not stop a task and then kill its executor.
        adopting = [sys.executable, "-I", "-S", "-c", _ADOPT_AND_RUN] if sys.platform == "linux" else []
        # -i: executors inherit the worker's environment, and must not find in it what only a driver has.
        alone = ["env", "-i", *(f"{name}={value}" for name, value in environment.items())]
        command = [*adopting, *alone, str(_SPARK_HOME / "bin" / "spark-class"), main_class, *arguments]
        self._children.append(Child(command, log=self._directory / f"{name}.log", directory=self._directory))

    def _wait(self, workers: int) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while self._alive_workers() != workers:
            ended = [child for child in self._children if not child.is_running()]
            if ended or time.monotonic() > deadline:
                raise RuntimeError(f"the cluster did not start:\n{(ended or self._children)[-1].output()}")
            time.sleep(0.1)

    def _alive_workers(self) -> int | None:
        """None while the master does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._page}/json/", timeout=5) as answer:
                return int(json.load(answer)["aliveworkers"])
        except OSError:
            return None


def _make_python(directory: Path) -> None:
    """A Python with the packages of ours but for those that are installed to be edited, as Tailrace is here.

    A folder named in a .pth file is searched, and the .pth files in it, which name such packages, are not read.
    """
    venv.create(directory, with_pip=False, symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = directory / "lib" / version / "site-packages"
    (packages / "ours.pth").write_text(sysconfig.get_path("purelib") + "\n")


def _children(process: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return process.children()
    return []


def _runs(process: psutil.Process, name: str) -> bool:
    with suppress(psutil.NoSuchProcess):
        return name in process.cmdline()
    return False
