"""The version, in one place: the build, `hedgerow --version` and every certificate read it."""

__version__ = "0.1.0"
