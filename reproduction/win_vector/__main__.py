"""``python -m reproduction.win_vector``."""

from .run import main

if __name__ == "__main__":
    main()
