"""The plugin of pytest: the fixture ``hlo`` and the option ``--hlo-update``.

pytest imports this file when it starts, so it imports nothing; a test that uses the fixture does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .fixture import Hlo


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--hlo-update``."""
    group = parser.getgroup("hlomap")
    group.addoption("--hlo-update", action="store_true", help="write the golden files of hlo.golden() as they are now")


@pytest.fixture
def hlo(request: pytest.FixtureRequest) -> Hlo:
    """Checks what compiled programs move: ``hlo.check(f, *args, max_bytes=...)``, ``hlo.golden(f, *args, "name")``."""
    from .fixture import Hlo

    return Hlo(request.path.parent, request.config.getoption("--hlo-update"))
