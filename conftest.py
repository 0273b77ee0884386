"""Every test draws the same numbers in every run: released noise and keys come from a stream that its name seeds.

What draws from the operating system all the same is marked `entropy`, and states how seldom it fails by chance.
"""

from __future__ import annotations

import gc
import zlib
from collections.abc import Callable, Generator, Iterator
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import typer.main
import typer.testing
from hypothesis import settings

from hedgerow.engines.dialects import levels
from hedgerow.noise import secure
from hedgerow.testing.simulated import SimulatedNoise

# `make test-long` searches for new examples instead, with the profile "default".
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")

# The command line is put together once, and not for each command that a test runs, by a runner or by a call.
typer.main.get_command = typer.testing._get_command = lru_cache(maxsize=4)(typer.main.get_command)

SAMPLERS = "_gaussian", "_geometric"
REAL = {name: getattr(secure, name) for name in SAMPLERS}
OPERATING_SYSTEM = secure.os


def draw_from(stream: SimulatedNoise) -> None:
    """Let releases draw from a stream; what is refused before a draw still is."""

    def of(draw: Callable[[float, int], Any]) -> Callable[[float], Callable[[Any], Any]]:
        return lambda width: lambda exact: draw(width, len(exact)).tolist()

    secure._gaussian = of(stream.discrete_gaussian)
    secure._geometric = of(stream.two_sided_geometric)
    secure.os = levels.os = SimpleNamespace(urandom=stream.generator().bytes)


def draw_from_the_operating_system() -> None:
    """Undo it."""
    for name, sampler in REAL.items():
        setattr(secure, name, sampler)
    secure.os = levels.os = OPERATING_SYSTEM


def seeded(name: str) -> SimulatedNoise:
    """Return the stream of a name."""
    return SimulatedNoise(np.random.default_rng(zlib.crc32(name.encode())))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let the garbage collector pass over what is collected here: the tests and their modules stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def served_examples(
    request: pytest.FixtureRequest, doctest_namespace: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Serve a test set to the examples of docstrings that ask a server at `address`."""
    example = getattr(request.node, "dtest", None)
    if example is None or "TestSetClient(address)" not in example.docstring:
        yield
        return
    from tests.unit.testset.served import made, serving

    with serving(made(tmp_path_factory.mktemp("served"))) as server:
        doctest_namespace["address"] = str(server.address)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Seed each test by its name."""
    if item.get_closest_marker("entropy"):
        draw_from_the_operating_system()
    else:
        draw_from(seeded(item.nodeid))
    try:
        return (yield)
    finally:
        draw_from_the_operating_system()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Seed what several tests share by its own name: which of them asks first depends on what else runs."""
    marked = isinstance(request.node, pytest.Item) or secure.os is OPERATING_SYSTEM
    if marked:
        return (yield)
    before = secure._gaussian, secure._geometric, secure.os
    draw_from(seeded(f"{fixturedef.baseid}::{fixturedef.argname}[{getattr(request, 'param_index', 0)}]"))
    try:
        return (yield)
    finally:
        secure._gaussian, secure._geometric, secure.os = before
        levels.os = secure.os
