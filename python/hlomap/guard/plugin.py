"""The pytest plugin: the fixture ``hlo`` and the option ``--hlo-update``.

pytest imports this file when it starts, so the file imports nothing until a test uses the fixture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .fixture import Hlo


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--hlo-update``."""
    group = parser.getgroup("hlomap")
    group.addoption("--hlo-update", action="store_true", help="write the golden files of hlo.golden() anew")


@pytest.fixture
def hlo(request: pytest.FixtureRequest) -> Hlo:
    """Checks the data that compiled programs move: ``hlo.check(f, *args, max_bytes=...)``, ``hlo.golden(f, *args,
    "name")``."""
    from .fixture import Hlo

    return Hlo(request.path.parent, request.config.getoption("--hlo-update"))
