"""Finding Java 17, which Spark and the local Kafka run on; and installing it where we may.

`java_home()` is what every part that starts a JVM asks.  The `java` on PATH may be of another version, so the
usual places are looked through as well.  `python -m tailrace.java --install` is the step of `make setup`.
"""

import argparse
import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SUPPORTED = (17, 21)  # what Spark 4.0 is tested on; 17 first, as everything here is measured on it

_PLACES = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/homebrew/opt/openjdk@*",
    "/usr/local/opt/openjdk@*",
)

# By package manager: what to type.  A system has 17 or 21, newer ones only the latter.
_INSTALLERS = (
    ("apt-get", "apt-get update", "apt-get install -y openjdk-{version}-jre-headless"),
    ("dnf", "", "dnf install -y java-{version}-openjdk-headless"),
    ("brew", "", "brew install openjdk@{version}"),
)


class JavaMissing(RuntimeError):
    """No Java that Spark runs on; the message says what to type."""


@functools.cache
def java_home() -> Path:
    """The home of the best Java found: 17 before 21.

    Starts `java -version` for each candidate, once a process.
    """
    found = {version: home for home in reversed(list(_candidates())) if (version := _major(home)) is not None}
    for version in SUPPORTED:
        if version in found:
            return found[version]
    raise JavaMissing(f"Java 17 is needed and was not found.  {_advice()}")


def java() -> Path:
    """The `java` program of `java_home()`."""
    return java_home() / "bin" / "java"


def _candidates() -> Iterator[Path]:
    """Homes to look at, the user's own choice first."""
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home)
    if on_path := shutil.which("java"):
        yield Path(on_path).resolve().parent.parent
    for place in _PLACES:
        yield from (found.resolve() for found in sorted(Path("/").glob(place.lstrip("/"))))
    if sys.platform == "darwin":
        yield from sorted(Path("/Library/Java/JavaVirtualMachines").glob("*/Contents/Home"))


def _major(home: Path) -> int | None:
    """17 for Java 17; None when there is no java that starts."""
    program = home / "bin" / "java"
    if not program.is_file():
        return None
    try:
        answer = subprocess.run([program, "-version"], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r'version "(\d+)', answer.stderr)
    return int(version.group(1)) if version else None


def _installer() -> tuple[str, str] | None:
    """What this system's package manager wants first, and the command that installs a {version}."""
    return next(((first, then) for manager, first, then in _INSTALLERS if shutil.which(manager)), None)


def _advice() -> str:
    installer = _installer()
    if installer is None:
        return "Install a JDK or JRE 17 and set JAVA_HOME to it."
    commands = [command.format(version=SUPPORTED[0]) for command in installer if command]
    prefix = "" if commands[0].startswith("brew") else "sudo "
    return "Type:  " + " && ".join(prefix + command for command in commands)


def _privilege() -> list[str] | None:
    """What to put before a command that changes the system; None when we may not."""
    if os.geteuid() == 0 or shutil.which("brew"):
        return []
    if shutil.which("sudo") and subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode == 0:
        return ["sudo", "-n"]
    return None


def install() -> None:
    """Install Java by the system's package manager, or raise JavaMissing with what to type."""
    installer, privilege = _installer(), _privilege()
    if installer is None or privilege is None:
        raise JavaMissing(f"Java 17 is needed and was not found.  {_advice()}")
    first, then = installer
    if first:
        _run(privilege, first)
    if not any(_run(privilege, then.format(version=version)) for version in SUPPORTED):
        raise JavaMissing(f"Java 17 could not be installed.  {_advice()}")


def _run(privilege: list[str], command: str) -> bool:
    _say(f"java: {command}")
    return subprocess.run([*privilege, *command.split()]).returncode == 0


def main() -> int:
    """Print the Java in use; with --install, install one first when there is none."""
    parser = argparse.ArgumentParser(prog="python -m tailrace.java", description=main.__doc__)
    parser.add_argument("--install", action="store_true", help="install Java 17 when it is missing")
    arguments = parser.parse_args()
    try:
        try:
            home = java_home()
        except JavaMissing:
            if not arguments.install:
                raise
            install()
            home = java_home()
    except JavaMissing as missing:
        _say(f"error: {missing}")
        return 1
    _say(f"java: {home}")
    return 0


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
