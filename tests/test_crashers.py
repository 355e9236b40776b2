"""What once failed in the torture (`python -m tests.torture fuzz-import fuzz-ask`) fails no more."""

import pytest

from support.bad_input import seeded
from tests.torture.fuzz import CRASHERS, import_file, limit_cpu_seconds, sample_services, send


def test_files_that_once_failed_are_imported_or_refused(tmp_path):
    bank = seeded(tmp_path / "home")
    for crasher in CRASHERS.glob("import-*"):
        with limit_cpu_seconds():
            import_file(bank, tmp_path / "any.bin", crasher.read_bytes())


@pytest.mark.slow
def test_messages_that_once_failed_are_answered(tmp_path):
    parts = sample_services(tmp_path)
    for crasher in CRASHERS.glob("ask-*"):
        with limit_cpu_seconds():
            send(parts, crasher.read_bytes())
