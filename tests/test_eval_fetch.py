"""Official files come over the hub whole and checked, or an error says why not and how to get them by hand."""

import hashlib
import os
import random
import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from filelock import FileLock

from eval.fetching import fetch as module
from eval.fetching.fetch import SOURCES, FetchFailed, Source, fetch, manual_steps
from memory.errors import Cancelled
from support.hub_server import Hub

REPO = "somebody/memories"
CONTENT = random.Random(5).randbytes(3_000_000)
STEPS = ("Open https://example.org/ and download it.", "Save it as {folder}/memories.json.")


@pytest.fixture(autouse=True)
def source(monkeypatch):
    """One benchmark that is on the hub, under its second name."""
    files = {"memories.json": ("memories", "memories.json")}
    monkeypatch.setattr(module, "SOURCES", {"memories": Source("Memories", "MIT", STEPS, REPO, files)})


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A hub that holds it, for a program that is offline otherwise, as the app is."""
    with Hub(REPO, {"memories.json": CONTENT}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        monkeypatch.delenv("HF_TOKEN", raising=False)
        yield hub


def quietly(*_):
    """Progress that nobody watches."""


def failure(folder, progress=quietly):
    """What is said when it fails; it always ends with the steps."""
    with pytest.raises(FetchFailed) as caught:
        fetch("memories", folder, progress)
    said = str(caught.value)
    assert said.startswith("Memories was not downloaded: ")
    assert said.endswith(manual_steps("memories", folder))
    return said


def test_a_file_comes_whole_with_its_progress_told(hub, tmp_path):
    told = []
    (path,) = fetch("memories", tmp_path / "new" / "folder", lambda *seen: told.append(seen))
    assert path == tmp_path / "new" / "folder" / "memories.json"
    assert path.read_bytes() == CONTENT
    names, here, totals = zip(*told, strict=True)
    assert {*names} == {"memories.json"}
    assert {*totals} == {len(CONTENT)}
    assert list(here) == sorted(here)
    assert (here[0], here[-1]) == (0, len(CONTENT))
    assert len(here) > 3
    assert [p.name for p in path.parent.iterdir() if not p.name.startswith(".")] == ["memories.json"]
    assert os.environ["HF_HUB_OFFLINE"] == "1"


def test_a_file_that_is_there_and_right_is_not_downloaded_again(hub, tmp_path):
    (tmp_path / "memories.json").write_bytes(CONTENT)
    assert fetch("memories", tmp_path, quietly) == [tmp_path / "memories.json"]
    assert hub.asked == []


def test_a_small_file_is_checked_by_the_checksum_that_git_gives_it(hub, tmp_path):
    hub.small.add("memories.json")
    (path,) = fetch("memories", tmp_path, quietly)
    assert path.read_bytes() == CONTENT
    hub.sent["memories.json"] = CONTENT[::-1]
    path.unlink()
    assert "was damaged or altered on the way" in failure(tmp_path)


def test_another_file_of_the_name_is_left_as_it_is(hub, tmp_path):
    for other in (b"my own notes", CONTENT[::-1]):
        (tmp_path / "memories.json").write_bytes(other)
        assert f"{tmp_path}/memories.json exists already" in failure(tmp_path)
        assert (tmp_path / "memories.json").read_bytes() == other


def test_a_connection_that_breaks_off_is_taken_up_where_it_did(hub, tmp_path):
    hub.cuts.extend([1_000_000, 500_000])
    (path,) = fetch("memories", tmp_path, quietly)
    assert path.read_bytes() == CONTENT
    assert [asked for asked, _ in hub.asked] == ["bytes=0-", "bytes=1000000-", "bytes=1500000-"]


def interrupt(name, here, total):
    """Progress that is broken off, as by Ctrl-C, as soon as anything has come."""
    if here:
        raise KeyboardInterrupt


def test_an_interrupted_download_goes_on_next_time(hub, tmp_path):
    hub.gate = threading.Event()
    assert "it was interrupted; the part that was downloaded is kept" in failure(tmp_path, interrupt)
    (part,) = tmp_path.glob("memories.json.*.part")
    came = part.read_bytes()
    assert CONTENT.startswith(came)
    assert 1_000_000 < len(came) <= len(CONTENT) // 2
    hub.gate = None
    (path,) = fetch("memories", tmp_path, quietly)
    assert path.read_bytes() == CONTENT
    assert [asked for asked, _ in hub.asked] == ["bytes=0-", f"bytes={len(came)}-"]
    assert not part.exists()


def test_a_progress_that_raises_stops_the_download(hub, tmp_path):
    def stop(*_):
        raise Cancelled("Nothing was changed.")

    with pytest.raises(Cancelled, match="is kept"):
        fetch("memories", tmp_path, stop)
    assert fetch("memories", tmp_path, quietly)[0].read_bytes() == CONTENT


def test_a_connection_that_keeps_breaking_off_is_given_up(hub, tmp_path):
    hub.cuts.extend([1_000_000] + [0] * 5)
    assert "the connection broke 5 times in a row" in failure(tmp_path)
    assert fetch("memories", tmp_path, quietly)[0].read_bytes() == CONTENT
    assert hub.asked[-1][0] == "bytes=1000000-"


def test_parts_of_two_versions_are_never_sewn_together(hub, tmp_path):
    hub.gate = threading.Event()
    failure(tmp_path, interrupt)
    hub.gate, newer = None, CONTENT[::-1]
    hub.files["memories.json"] = hub.sent["memories.json"] = newer
    assert fetch("memories", tmp_path, quietly)[0].read_bytes() == newer


def test_a_host_that_ignores_ranges_is_read_from_the_beginning(hub, tmp_path):
    hub.ranges = False
    hub.cuts.extend([1_000_000])
    assert fetch("memories", tmp_path, quietly)[0].read_bytes() == CONTENT


def test_a_part_that_is_too_long_is_begun_anew(hub, tmp_path):
    checksum = hashlib.sha256(CONTENT).hexdigest()
    (tmp_path / f"memories.json.{checksum[:12]}.part").write_bytes(CONTENT + b"more")
    assert fetch("memories", tmp_path, quietly)[0].read_bytes() == CONTENT


def test_a_wrong_checksum_is_said_and_the_file_put_aside(hub, tmp_path):
    altered = CONTENT[:-1] + bytes([CONTENT[-1] ^ 1])
    hub.sent["memories.json"] = altered
    said = failure(tmp_path)
    wrong, right = (hashlib.sha256(content).hexdigest() for content in (altered, CONTENT))
    assert f"its checksum is {wrong}, the hub's is {right}" in said
    (aside,) = tmp_path.glob("*.wrong")
    assert str(aside) in said
    assert aside.read_bytes() == altered
    assert not (tmp_path / "memories.json").exists()
    hub.sent["memories.json"] = CONTENT
    assert fetch("memories", tmp_path, quietly)[0].read_bytes() == CONTENT
    assert aside.exists()


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        ((403, "GatedRepo"), f"its licence must be accepted first. Log in at https://huggingface.co/datasets/{REPO}"),
        ((404, "EntryNotFound"), "the hub refused the request (404)"),
        ((503, ""), "the hub refused the request (503)"),
    ],
)
def test_a_refusal_says_what_it_means(hub, tmp_path, refusal, said):
    hub.refusal = refusal
    assert said in failure(tmp_path)
    assert not (tmp_path / "memories.json").exists()


def test_a_repository_that_is_gone_is_said(hub, tmp_path):
    hub.repo = "somebody/else"
    assert f"https://huggingface.co/datasets/{REPO} does not exist" in failure(tmp_path)


def test_a_file_that_is_gone_is_said(hub, tmp_path):
    hub.files.clear()
    assert f"{REPO} on the hub no longer contains memories or memories.json" in failure(tmp_path)


def test_no_network_is_said(hub, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert "the hub cannot be reached (ConnectError" in failure(tmp_path)


def test_a_page_in_between_is_said(hub, tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "info", lambda path: "please log in")
    assert "the answer is not from the hub" in failure(tmp_path)


def test_too_little_room_is_said_before_anything_is_downloaded(hub, tmp_path):
    hub.announced["memories.json"] = 10**18
    assert "1,000,000,000,000 MB are needed" in failure(tmp_path)
    assert hub.asked == []


def test_a_disk_that_fills_up_is_said_and_the_part_kept(hub, tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, limits[1]))
    try:
        assert "the disk is full" in failure(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert fetch("memories", tmp_path, quietly)[0].read_bytes() == CONTENT
    assert hub.asked[-1][0] != "bytes=0-"


def test_a_folder_that_cannot_be_made_is_said(hub, tmp_path):
    (tmp_path / "file").write_text("")
    assert "file/folder cannot be created" in failure(tmp_path / "file" / "folder")


def test_a_token_goes_to_the_hub_alone_and_into_no_message(hub, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_planted0123456789")
    fetch("memories", tmp_path, quietly)
    assert hub.tokens == ["Bearer hf_planted0123456789"]
    assert [token for _, token in hub.asked] == [None]
    (tmp_path / "memories.json").unlink()
    hub.refusal = (403, "GatedRepo")
    assert "planted" not in failure(tmp_path)


def test_two_downloads_into_one_folder_do_not_mix(hub, tmp_path):
    hub.gate, said = threading.Event(), []

    def meanwhile(name, here, total):
        if here and not said:
            said.append(failure(tmp_path))
            hub.gate.set()

    assert fetch("memories", tmp_path, meanwhile)[0].read_bytes() == CONTENT
    assert f"another download into {tmp_path} is running" in said[0]


def test_the_download_ends_when_whoever_started_it_is_killed(hub, tmp_path):
    code = f"""
import sys
from pathlib import Path
from eval.fetching import fetch as module
files = {{"memories.json": ("memories.json",)}}
module.SOURCES = {{"memories": module.Source("Memories", "MIT", (), {REPO!r}, files)}}
module.fetch("memories", Path(sys.argv[1]), lambda name, here, total: print(here, flush=True))
"""
    hub.gate, root = threading.Event(), Path(__file__).parents[1]
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path], cwd=root, stdout=subprocess.PIPE, text=True
    ) as parent:
        while int(parent.stdout.readline()) == 0:
            pass
        parent.kill()
    hub.gate.set()
    with FileLock(tmp_path / ".fetching", timeout=20):  # free, since the other process has ended
        pass
    assert not (tmp_path / "memories.json").exists()
    (part,) = tmp_path.glob("*.part")
    assert CONTENT.startswith(part.read_bytes())
    assert fetch("memories", tmp_path, quietly)[0].read_bytes() == CONTENT


def test_what_the_hub_does_not_hold_is_told_by_hand(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SOURCES", SOURCES)
    for name, source in SOURCES.items():
        steps = manual_steps(name, tmp_path)
        assert str(tmp_path) in steps
        assert "{" not in steps
        assert source.licence in steps
        assert bool(source.repo) == bool(source.files)
        if not source.repo:
            with pytest.raises(FetchFailed, match=r"To get it by hand:\n  1\. Open https://github\.com/"):
                fetch(name, tmp_path, quietly)


def test_an_unknown_name_is_told_the_known_ones(tmp_path):
    with pytest.raises(FetchFailed, match=r"'memory'\. Known sources: memories"):
        fetch("memory", tmp_path, quietly)
