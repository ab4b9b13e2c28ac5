"""The page of `benchvise doctor`."""

from __future__ import annotations

from pathlib import Path

import pytest
from web_client import Client

from benchvise.flows.doctor import Check, CheckState
from benchvise.web.pages import doctor

ATTACK = "<script>document.body.dataset.attacked=1</script>\u202e"


def test_the_page_has_what_the_command_prints(tmp_path: Path) -> None:
    client = Client.of(store=str(tmp_path / "runs.db"))
    findings = client.get("/doctor.json").data["findings"]
    names = [finding["name"] for finding in findings]
    assert {"benchvise", "probes", "store", "settings", "traces"} <= set(names)
    text = client.get("/doctor").text
    for finding in findings:
        assert f'<th scope="row">{finding["name"]}' in text
    assert 'href="/doctor"' in client.get("/").text


def test_what_is_missing_has_its_remedy_and_nothing_acts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = Check("ssh", CheckState.MISSING, ATTACK, "apt-get install openssh-client")
    monkeypatch.setattr(doctor, "examine", lambda _store: [lacking])
    client = Client.of(store=str(tmp_path / "runs.db"))
    assert client.get("/doctor.json").data["lacking"] == 1
    text = client.get("/doctor").text
    assert "1 of 1 parts" in text and "apt-get install openssh-client" in text
    assert "<script>document" not in text and "\u202e" not in text
