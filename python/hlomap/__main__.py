"""``python -m hlomap`` is the command ``hlomap``."""

from .cli.main import main

if __name__ == "__main__":
    main()
