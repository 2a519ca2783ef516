"""``python -m hlomap`` is the command ``hlomap``."""

import sys

from .base.types import needs
from .errors import UnsupportedError


def main() -> None:
    """Runs the command, or tells which extra it needs."""
    try:
        with needs("cli", "the command hlomap"):
            from .cli.main import main as command
    except UnsupportedError as error:
        sys.exit(str(error))
    command()


if __name__ == "__main__":
    main()
