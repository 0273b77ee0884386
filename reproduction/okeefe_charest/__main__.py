"""``python -m reproduction.okeefe_charest``, from the root of the repository."""

from .run import main

if __name__ == "__main__":
    main()
