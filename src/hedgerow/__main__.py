"""`python -m hedgerow` is `hedgerow`."""

from hedgerow.cli.main import main

if __name__ == "__main__":
    main()
