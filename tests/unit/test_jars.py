"""The jars' lock names what we ask for, and a set appears whole or not at all."""

import re
from pathlib import Path

import pytest

from tailrace import jars


def test_every_root_is_locked() -> None:
    locked = jars.read_lock()
    assert set(locked) == set(jars.ROOTS)
    for set_name, roots in jars.ROOTS.items():
        names = {jar.file_name for jar in locked[set_name]}
        assert {root.file_name for root in roots} <= names


def test_every_locked_file_has_its_sum_and_a_name_of_its_own() -> None:
    for locked in jars.read_lock().values():
        assert all(re.fullmatch("[0-9a-f]{64}", jar.sha256) for jar in locked)
        assert len({jar.file_name for jar in locked}) == len(locked)


def test_spark_does_not_get_twice_what_it_ships() -> None:
    names = {jar.name for jar in jars.read_lock()["spark"]}
    assert not names & set(jars._SHIPPED_WITH_SPARK)


def test_a_wrong_sum_publishes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = jars.Jar("org.example", "thing", "1", sha256="0" * 64)

    def arrive(*arguments: object, **_options: object) -> None:
        target = arguments[3]
        assert isinstance(target, Path)
        (target / jar.file_name).write_text("not what was locked")

    monkeypatch.setattr(jars, "_run_ivy", arrive)
    with pytest.raises(jars.JarsUnavailable, match=r"thing-1\.jar"):
        jars._fetch("example", [jar], tmp_path / "example-1")
    assert not (tmp_path / "example-1").exists()


def test_the_cache_is_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILRACE_CACHE", str(tmp_path))
    assert jars.cache_directory() == tmp_path
    monkeypatch.delenv("TAILRACE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert jars.cache_directory() == tmp_path / "tailrace"
