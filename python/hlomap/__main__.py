"""``python -m hlomap`` is the command ``hlomap``."""

from .cli import main

if __name__ == "__main__":
    main()
