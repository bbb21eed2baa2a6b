"""The right Java is found among several, and its absence says what to type."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailrace import java


def fake_java(home: Path, version: str) -> Path:
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return home


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """No Java but those a test names."""
    java.java_home.cache_clear()
    monkeypatch.setattr(java, "_PLACES", ())
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    yield monkeypatch
    java.java_home.cache_clear()


def test_java_17_is_found_beside_a_newer_one_on_path(only: pytest.MonkeyPatch, tmp_path: Path) -> None:
    newer, wanted = fake_java(tmp_path / "a25", "25.0.1"), fake_java(tmp_path / "b17", "17.0.15")
    only.setattr(shutil, "which", lambda _name: str(newer / "bin" / "java"))
    only.setattr(java, "_PLACES", (f"{tmp_path}/*",))
    assert java.java_home() == wanted


def test_java_home_is_preferred_among_equals(only: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other, chosen = fake_java(tmp_path / "a", "17.0.1"), fake_java(tmp_path / "b", "17.0.2")
    only.setattr(shutil, "which", lambda _name: str(other / "bin" / "java"))
    only.setenv("JAVA_HOME", str(chosen))
    assert java.java_home() == chosen


def test_an_unusable_version_is_as_none(only: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = fake_java(tmp_path / "old", "1.8.0_402")
    only.setenv("JAVA_HOME", str(old))
    only.setattr(shutil, "which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None)
    with pytest.raises(java.JavaMissing, match="sudo apt-get install -y openjdk-17-jre-headless"):
        java.java_home()


def test_without_a_package_manager_the_error_names_java_home(only: pytest.MonkeyPatch) -> None:
    only.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(java.JavaMissing, match="JAVA_HOME"):
        java.install()


def test_a_system_without_17_gets_21(only: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def run(_privilege: list[str], command: str) -> bool:
        tried.append(command)
        return "21" in command

    only.setattr(shutil, "which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None)
    only.setattr(java, "_privilege", list)
    only.setattr(java, "_run", run)
    java.install()
    assert tried == [
        "apt-get update",
        "apt-get install -y openjdk-17-jre-headless",
        "apt-get install -y openjdk-21-jre-headless",
    ]
