"""How cores are shared."""

import pytest

from orbiter_spec.runtime.threads import thread_count

SMALL, LARGE = 100_000, 500_000_000


@pytest.mark.parametrize(
    ("parameters", "processes", "cores", "expected"),
    [(SMALL, 1, 64, 1), (LARGE, 1, 2, 2), (LARGE, 2, 2, 1), (LARGE, 4, 2, 1), (LARGE, 2, 16, 8)],
)
def test_thread_count(parameters: int, processes: int, cores: int, expected: int) -> None:
    assert thread_count(parameters, processes, cores) == expected
