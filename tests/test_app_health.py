"""What a server tells about itself: whether it is well, and how many requests it answered, but not what they held."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app import build_page
from eval.settings import EvalSettings
from graph.server.site import build_site
from memory.users import Users


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    Users(tmp_path).add("ann", "a long walk by the sea")
    settings = EvalSettings(home=tmp_path, auth=True)
    return TestClient(build_site(settings, partial(build_page, settings)), client=("127.0.0.1", 50000))


def test_health_needs_no_login_and_says_when_the_users_cannot_be_read(client: TestClient, tmp_path: Path) -> None:
    well = client.get("/health")
    assert (well.status_code, well.json()["bank_opens"]) == (200, True)
    (tmp_path / "users.json").write_text("{")
    ill = client.get("/health")
    assert (ill.status_code, ill.json()["bank_opens"]) == (503, False)
    assert str(tmp_path) not in ill.text


def test_requests_are_counted_and_logged_without_what_they_hold(
    client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    client.get("/gradio_api/file=/home/ann/secret-plan.txt", params={"chat": "secret-words"})
    client.get("/login?name=secret-name")
    numbers = client.get("/metrics")
    assert 'memoir_request_seconds_count{method="GET",route="/login",status="200"} 1.0' in numbers.text
    assert "process_resident_memory_bytes" in numbers.text
    logged = capsys.readouterr().err
    assert "GET /login 200 " in logged
    assert "secret" not in numbers.text + logged


def test_numbers_are_for_programs_on_this_machine(client: TestClient) -> None:
    assert client.get("/metrics", headers={"X-Forwarded-For": "203.0.113.7"}).status_code == 404
    client._transport.client = ("203.0.113.7", 1)  # type: ignore[attr-defined]
    assert client.get("/metrics").status_code == 404
