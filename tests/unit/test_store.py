"""What the store decides without a database: where it is, what it keeps, who owns a run."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchvise.documents import decode, encode
from benchvise.errors import UsageError
from benchvise.store import Store
from benchvise.store.database import Database
from benchvise.store.faults import explain
from benchvise.store.location import default_file, locate
from benchvise.store.owner import Owner
from benchvise.store.values import DEEPEST, clean_json, clean_text, dump_json

HIDDEN = "s3cret"


class TestLocation:
    def test_default_is_under_the_xdg_data_directory(self) -> None:
        assert default_file({"XDG_DATA_HOME": "/data"}) == Path("/data/benchvise/benchvise.db")

    @pytest.mark.parametrize("environment", [{}, {"XDG_DATA_HOME": ""}, {"XDG_DATA_HOME": "rel"}])
    def test_default_without_a_usable_variable(self, environment: dict[str, str]) -> None:
        assert default_file(environment) == Path.home() / ".local/share/benchvise/benchvise.db"

    @pytest.mark.parametrize("nothing", [None, ""])
    def test_nothing_given_is_the_default(self, nothing: str | None) -> None:
        assert locate(nothing).file == default_file()

    def test_a_path_is_an_sqlite_file(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir("/")
        assert locate("a b/x.db").file == Path("/a b/x.db")
        assert locate("~/x.db").file == Path.home() / "x.db"
        assert locate("sqlite:////data/x.db").name == "/data/x.db"

    @pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg2"])
    def test_postgresql_is_spoken_to_by_psycopg(self, scheme: str) -> None:
        location = locate(f"{scheme}://me:{HIDDEN}@host:5433/results")
        assert location.url.drivername == "postgresql+psycopg"
        assert location.url.password == HIDDEN
        assert location.name == "postgresql://me:***@host:5433/results"

    def test_a_secret_in_the_query_is_not_shown(self) -> None:
        location = locate(f"postgresql://me@/results?host=/run/pg&password={HIDDEN}&sslpassword=x")
        assert "host=" in location.name
        assert HIDDEN not in location.name
        assert "sslpassword" not in location.name

    @pytest.mark.parametrize(
        "url",
        [
            f"postgresql://me:{HIDDEN}@more@host/results",
            f"postgresql://me:12@34:{HIDDEN}/results",
            f"postgresql://host:{HIDDEN}/results",
            f"://{HIDDEN}",
            f"mysql://me:{HIDDEN}@host/results",
            f"sqlite:///x.db?{HIDDEN}=1",
            "sqlite://",
            "sqlite:///:memory:",
        ],
    )
    def test_a_url_that_cannot_be_used_is_refused_without_repeating_it(self, url: str) -> None:
        with pytest.raises(UsageError) as caught:
            locate(url)
        assert HIDDEN not in str(caught.value)
        assert caught.value.remedy


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
)


class TestValues:
    @given(json_values)
    def test_cleaned_values_are_json_that_both_databases_accept(self, value: object) -> None:
        cleaned = clean_json(value)
        text = dump_json(cleaned)
        assert text.isascii()
        assert "\\u0000" not in text.replace("\\\\", "")
        assert json.loads(text) == cleaned
        assert clean_json(cleaned) == cleaned

    @given(st.dictionaries(st.text("abc"), st.floats(allow_nan=False, allow_infinity=False)))
    def test_what_is_storable_is_not_touched(self, value: dict[str, float]) -> None:
        assert list(json.loads(dump_json(clean_json(value))).items()) == list(value.items())

    @pytest.mark.parametrize(
        ("value", "kept"),
        [
            (math.nan, {"na": "not a number"}),
            (-math.inf, {"na": "infinite"}),
            (2**64 - 1, 2**64 - 1),
            (2**64, {"na": "integer of more than 64 bits"}),
            (True, True),
            ((1, 2), [1, 2]),
            ("a\0b", "a\ufffdb"),
            ("\ud800", "\ufffd"),
            ({"a\0": 1, 2: 3}, {"a\ufffd": 1, "2": 3}),
        ],
    )
    def test_what_is_replaced(self, value: object, kept: object) -> None:
        assert clean_json(value) == kept

    def test_deep_nesting_is_cut(self) -> None:
        deep: object = 1
        for _ in range(10_000):
            deep = [deep]
        assert f"nested deeper than {DEEPEST} levels" in dump_json(clean_json(deep))

    def test_what_is_not_json_is_a_mistake_of_the_caller(self) -> None:
        with pytest.raises(TypeError, match="Path has no JSON form"):
            clean_json({"file": Path("/")})

    def test_ordinary_text_is_kept(self) -> None:
        assert clean_text("Größe\t\x1b[1m\U0001f600") == "Größe\t\x1b[1m\U0001f600"


class TestOwner:
    here = Owner.here()

    def test_this_process_is_not_gone(self) -> None:
        assert not self.here.is_gone(self.here)
        assert decode(Owner, json.loads(json.dumps(encode(self.here)))) == self.here

    def test_a_process_that_ended_is_gone_even_before_it_is_waited_for(self) -> None:
        child = subprocess.Popen(["sleep", "60"])
        start = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19]
        owner = dataclasses.replace(self.here, pid=child.pid, started=int(start))
        assert not owner.is_gone(self.here)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert owner.is_gone(self.here)
        child.wait()
        assert owner.is_gone(self.here)

    def test_another_process_with_the_same_number_is_not_taken_for_it(self) -> None:
        assert dataclasses.replace(self.here, started=self.here.started - 1).is_gone(self.here)

    def test_another_boot_of_the_same_host_ended_it(self) -> None:
        assert dataclasses.replace(self.here, boot_id="before").is_gone(self.here)

    @pytest.mark.parametrize(
        "other",
        [
            {"hostname": "elsewhere", "boot_id": "before"},
            {"machine_id": "elsewhere", "boot_id": "before"},
            {"pid_namespace": "a container", "pid": 2**22 + 1},
            {"boot_id": ""},
        ],
    )
    def test_what_cannot_be_known_is_left_alone(self, other: dict[str, str]) -> None:
        assert not dataclasses.replace(self.here, **other).is_gone(self.here)  # type: ignore[arg-type]

    def test_an_owner_without_details_is_left_alone(self) -> None:
        assert not decode(Owner, {}).is_gone(self.here)


def test_a_missing_driver_is_explained() -> None:
    error = explain(ImportError("no pq wrapper"), locate(f"postgresql://me:{HIDDEN}@h/d"))
    assert "pip install" in error.remedy
    assert HIDDEN not in str(error)


def test_the_default_store_is_made_with_its_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "fresh" / "data"))
    with Store.open() as store:
        assert store.name == str(tmp_path / "fresh/data/benchvise/benchvise.db")
        assert store.runs() == []


def test_a_commit_to_a_file_is_on_disk_and_readers_do_not_wait(tmp_path: Path) -> None:
    database = Database(locate(str(tmp_path / "x.db")), timeout=10)
    database.use_write_ahead_log()
    expected = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 10_000}
    with database.writing() as connection:
        for name, value in expected.items():
            assert connection.exec_driver_sql(f"PRAGMA {name}").scalar() == value
    database.close()


def test_a_store_that_is_new_or_up_to_date_does_not_need_alembic(tmp_path: Path) -> None:
    code = (
        "import sys; from benchvise.store import Store; "
        f"Store.open({str(tmp_path / 'x.db')!r}).close(); sys.exit('alembic' in sys.modules)"
    )
    for _ in range(2):
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
