"""The jars Tailrace runs on: Spark's connectors, the local Kafka broker, the local schema registry; and what tests
read the results with: a JDBC driver and Iceberg's library for Spark.

`jars.lock` beside this file names every file of each set by its Maven coordinates and its SHA-256.  A set is
fetched on first use by the Ivy that PySpark ships, into a cache directory of the user; from then on nothing
asks the network.  A set appears in the cache whole or not at all: it is fetched beside, checked, and
renamed.

`python -m tailrace.jars` fetches all sets (a step of `make setup`); with `--lock` it resolves `ROOTS` anew.
"""

import argparse
import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tailrace.java import java

_LOCK = Path(__file__).with_name("jars.lock")


class JarsUnavailable(RuntimeError):
    """A set of jars could not be fetched; the message says which and what to try."""


@dataclass(frozen=True, slots=True)
class Jar:
    """One file by its Maven coordinates.

    `sha256` is empty in a root, which is asked for and not yet locked.
    """

    group: str
    name: str
    version: str
    sha256: str = ""
    classifier: str = ""
    extension: str = "jar"

    @property
    def file_name(self) -> str:
        classifier = f"-{self.classifier}" if self.classifier else ""
        return f"{self.name}-{self.version}{classifier}.{self.extension}"

    @property
    def module(self) -> tuple[str, str, str]:
        """What files of several classifiers have in common."""
        return self.group, self.name, self.version


# What we ask for; jars.lock holds what that came to.
ROOTS = {
    "spark": (
        Jar("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.0.0"),
        Jar("org.apache.spark", "spark-avro_2.13", "4.0.0"),
    ),
    "kafka": (
        Jar("org.apache.kafka", "kafka_2.13", "4.3.1"),
        Jar("org.slf4j", "slf4j-simple", "1.7.36"),
    ),
    "registry": (Jar("io.apicurio", "apicurio-registry-app", "3.0.9", classifier="all", extension="tar.gz"),),
    # Iceberg publishes its REST catalog for tests without saying what it needs.  The rest comes with Spark.
    "iceberg-rest": (
        Jar("org.apache.iceberg", "iceberg-open-api", "1.11.0", classifier="test-fixtures"),
        Jar("org.apache.iceberg", "iceberg-core", "1.11.0"),
        Jar("org.apache.iceberg", "iceberg-core", "1.11.0", classifier="tests"),
        Jar("org.apache.iceberg", "iceberg-api", "1.11.0"),
        Jar("org.apache.iceberg", "iceberg-common", "1.11.0"),
        Jar("org.apache.iceberg", "iceberg-bundled-guava", "1.11.0"),
        Jar("org.eclipse.jetty", "jetty-server", "12.1.5"),
        Jar("org.eclipse.jetty", "jetty-http", "12.1.5"),
        Jar("org.eclipse.jetty", "jetty-io", "12.1.5"),
        Jar("org.eclipse.jetty", "jetty-util", "12.1.5"),
        Jar("org.eclipse.jetty", "jetty-session", "12.1.5"),
        Jar("org.eclipse.jetty", "jetty-security", "12.1.5"),
        Jar("org.eclipse.jetty.ee10", "jetty-ee10-servlet", "12.1.5"),
        Jar("org.eclipse.jetty.compression", "jetty-compression-common", "12.1.5"),
        Jar("org.eclipse.jetty.compression", "jetty-compression-gzip", "12.1.5"),
        Jar("org.eclipse.jetty.compression", "jetty-compression-server", "12.1.5"),
        Jar("jakarta.servlet", "jakarta.servlet-api", "6.0.0"),
        Jar("org.apache.httpcomponents.client5", "httpclient5", "5.6.1"),
        Jar("org.apache.httpcomponents.core5", "httpcore5", "5.4"),
        Jar("org.apache.httpcomponents.core5", "httpcore5-h2", "5.4"),
        Jar("com.github.ben-manes.caffeine", "caffeine", "2.9.3"),
        Jar("org.xerial", "sqlite-jdbc", "3.50.3.0"),
    ),
    "jdbc": (Jar("org.postgresql", "postgresql", "42.7.11"),),
    "iceberg-spark": (Jar("org.apache.iceberg", "iceberg-spark-runtime-4.0_2.13", "1.11.0"),),
}

# Spark has these on its class path already, and some do not resolve completely.
_SHIPPED_WITH_SPARK = (
    "commons-logging",
    "hadoop-client-api",
    "hadoop-client-runtime",
    "jsr305",
    "lz4-java",
    "scala-library",
    "scala-parallel-collections_2.13",
    "slf4j-api",
    "snappy-java",
    "spark-tags_2.13",
    "xz",
)


def spark_jars() -> list[Path]:
    """The jars that Spark needs beyond its own.  Fetches them the first time."""
    return sorted(_fetched("spark").glob("*.jar"))


def broker_classpath() -> str:
    """The class path that `kafka.Kafka` runs on.  Fetches it the first time."""
    return os.pathsep.join(str(jar) for jar in sorted(_fetched("kafka").glob("*.jar")))


def registry_jar() -> Path:
    """The schema registry's runnable jar, its libraries unpacked beside it.  Fetches it the first time."""
    return next(_fetched("registry").glob("*-runner.jar"))


def iceberg_rest_classpath() -> str:
    """The class path that Iceberg's REST catalog runs on, Spark's own jars last.  Fetches it the first time."""
    jars = sorted(_fetched("iceberg-rest").glob("*.jar"))
    return os.pathsep.join([*map(str, jars), str(_jars_of_spark() / "*")])


def jdbc_driver() -> Path:
    """PostgreSQL's own JDBC driver, as the client that it is.  Fetches it the first time."""
    return next(_fetched("jdbc").glob("postgresql-*.jar"))


def iceberg_spark_jar() -> Path:
    """Iceberg's own library for Spark, as the reader and writer that it is.  Fetches it the first time."""
    return next(_fetched("iceberg-spark").glob("*.jar"))


def cache_directory() -> Path:
    """Where fetched sets live: TAILRACE_CACHE, else the user's cache directory."""
    if chosen := os.environ.get("TAILRACE_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tailrace"


def read_lock() -> dict[str, list[Jar]]:
    """The sets and their files, from `jars.lock`."""
    sets: dict[str, list[Jar]] = {}
    for line in _LOCK.read_text().splitlines():
        if line and not line.startswith("#"):
            set_name, coordinates, sha256 = line.split()
            group, name, version, *rest = coordinates.split(":")
            classifier, extension = rest or ("", "jar")
            sets.setdefault(set_name, []).append(Jar(group, name, version, sha256, classifier, extension))
    return sets


@functools.cache
def _fetched(set_name: str) -> Path:
    """The directory that holds one set, fetched if need be.  One process fetches, others wait for it."""
    jars = read_lock()[set_name]
    fingerprint = hashlib.sha256("\n".join(sorted(jar.sha256 for jar in jars)).encode()).hexdigest()[:12]
    place = cache_directory() / "jars" / f"{set_name}-{fingerprint}"
    if place.is_dir():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    with _only_one(place.with_suffix(".lock")):
        if not place.is_dir():
            _fetch(set_name, jars, place)
    return place


def _fetch(set_name: str, jars: list[Jar], place: Path) -> None:
    """Fetch, check, unpack archives, publish by one rename.  What Ivy has fetched survives a failed try."""
    ivy_cache, arriving = place.with_suffix(".ivy"), place.with_suffix(".arriving")
    shutil.rmtree(arriving, ignore_errors=True)
    arriving.mkdir()
    _run_ivy(set_name, _ivy_module(jars, transitive=False), ivy_cache, arriving, use_poms=False)
    for jar in jars:
        file = arriving / jar.file_name
        if not file.is_file() or _sha256(file) != jar.sha256:
            shutil.rmtree(ivy_cache, ignore_errors=True)
            raise JarsUnavailable(f"{jar.file_name} is missing or is not the file that jars.lock names")
        if jar.extension == "tar.gz":
            with tarfile.open(file) as archive:
                archive.extractall(arriving, filter="data")
            file.unlink()
    arriving.rename(place)
    shutil.rmtree(ivy_cache, ignore_errors=True)
    _say(f"jars: {set_name} ready in {place}")


def _ivy_module(jars: Iterable[Jar], *, transitive: bool, exclude: Iterable[str] = ()) -> str:
    """An ivy.xml.  Ivy keeps one dependency on each module: its files are named together."""
    modules: dict[tuple[str, str, str], list[Jar]] = {}
    for jar in jars:
        modules.setdefault(jar.module, []).append(jar)
    return (
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">\n'
        '<info organisation="tailrace" module="jars"/>\n'
        '<configurations><conf name="default"/></configurations>\n<dependencies>\n'
        + "\n".join(_ivy_dependency(files, transitive=transitive) for files in modules.values())
        + "".join(f'\n<exclude module="{module}"/>' for module in exclude)
        + "\n</dependencies>\n</ivy-module>\n"
    )


def _ivy_dependency(files: list[Jar], *, transitive: bool) -> str:
    group, name, version = files[0].module
    conf = "default->default" if transitive else "default->*"
    artifacts = "" if transitive else "".join(map(_ivy_artifact, files))
    return (
        f'<dependency org="{group}" name="{name}" rev="{version}" conf="{conf}"'
        f' transitive="{str(transitive).lower()}">{artifacts}</dependency>'
    )


def _ivy_artifact(file: Jar) -> str:
    classifier = f' m:classifier="{file.classifier}"' if file.classifier else ""
    return f'<artifact name="{file.name}" type="{file.extension}" ext="{file.extension}"{classifier}/>'


def _ivy_settings(*, use_poms: bool) -> str:
    """Ivy's own default repository, or the mirror that TAILRACE_MAVEN_REPOSITORY names.

    Without poms Ivy asks for exactly the files named, which is faster, and works where a parent pom is
    missing.
    """
    mirror = os.environ.get("TAILRACE_MAVEN_REPOSITORY")
    root = f' root="{mirror}"' if mirror else ""
    return (
        '<ivysettings><settings defaultResolver="maven"/><resolvers>'
        f'<ibiblio name="maven" m2compatible="true" usepoms="{str(use_poms).lower()}"{root}/>'
        "</resolvers></ivysettings>\n"
    )


_PATTERN = "[artifact]-[revision](-[classifier]).[ext]"


def _run_ivy(
    set_name: str, module: str, cache: Path, target: Path, *, use_poms: bool, pattern: str = _PATTERN
) -> None:
    """Resolve `module` and put its files into `target`, with a line of progress for each download."""
    cache.mkdir(parents=True, exist_ok=True)
    (cache / "ivy.xml").write_text(module)
    (cache / "settings.xml").write_text(_ivy_settings(use_poms=use_poms))
    command: list[str | Path] = [
        java(),
        "-jar",
        _ivy_jar(),
        "-settings",
        cache / "settings.xml",
        "-ivy",
        cache / "ivy.xml",
    ]
    command += ["-cache", cache, "-confs", "default", "-retrieve", target / pattern]
    _say(f"jars: fetching {set_name}")
    transcript = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as ivy:
        assert ivy.stdout is not None
        for line in ivy.stdout:
            transcript.append(line)
            if file := re.match(r"downloading \S+/(\S+)", line):
                _say(f"jars:   {file.group(1)}")
    if ivy.returncode != 0:
        shutil.rmtree(target, ignore_errors=True)
        raise JarsUnavailable(
            f"the jars of {set_name} could not be fetched; is there a network, or a mirror to name in"
            " TAILRACE_MAVEN_REPOSITORY?  Ivy said:\n" + "".join(transcript[-40:])
        )


def _ivy_jar() -> Path:
    return next(_jars_of_spark().glob("ivy-*.jar"))


def _jars_of_spark() -> Path:
    """Where PySpark has the jars it comes with."""
    pyspark = find_spec("pyspark")
    assert pyspark is not None
    assert pyspark.origin is not None
    return Path(pyspark.origin).parent / "jars"


@contextmanager
def _only_one(lock_file: Path) -> Iterator[None]:
    """Holds a lock between processes; the system lets go of it when the holder dies."""
    with lock_file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def write_lock() -> None:
    """Resolve `ROOTS` with everything they need and write `jars.lock`."""
    work = cache_directory() / "jars" / "locking"
    lines = [
        "# Written by python -m tailrace.jars --lock: set, group:name:version[:classifier:extension], sha256"
    ]
    for set_name, roots in ROOTS.items():
        shutil.rmtree(work, ignore_errors=True)
        transitive = all(not root.classifier for root in roots)
        exclude = _SHIPPED_WITH_SPARK if set_name == "spark" else ()
        module = _ivy_module(roots, transitive=transitive, exclude=exclude)
        pattern = "[organisation]/[artifact]/[revision]/([classifier]).[ext]"
        _run_ivy(set_name, module, work / "ivy", work / "files", use_poms=transitive, pattern=pattern)
        for file in sorted(path for path in (work / "files").rglob("*") if path.is_file()):
            group, name, version, rest = file.relative_to(work / "files").parts
            classifier, extension = rest.split(".", 1)
            suffix = f":{classifier}:{extension}" if classifier else ""
            lines.append(f"{set_name} {group}:{name}:{version}{suffix} {_sha256(file)}")
    shutil.rmtree(work)
    _LOCK.write_text("\n".join(lines) + "\n")


def main() -> int:
    """Fetch all sets of jars into the user's cache."""
    parser = argparse.ArgumentParser(prog="python -m tailrace.jars", description=main.__doc__)
    parser.add_argument(
        "--lock", action="store_true", help="resolve the roots anew and write jars.lock first"
    )
    try:
        if parser.parse_args().lock:
            write_lock()
        for set_name in read_lock():
            _fetched(set_name)
    except JarsUnavailable as unavailable:
        _say(f"error: {unavailable}")
        return 1
    return 0


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
