"""Whole episodes inside verl's agent loop workers: environments and tools in processes of their own.

`compile` copies this folder, as the package `orbiter_agent`, beside `verl.yaml`, so that a run needs no orbiter-spec.
Its files therefore import one another relatively, and nothing beside verl and the standard library. `loop.py` is what
verl starts, `client.py` its way to the processes where the user's code runs (`host.py`, `session.py`).
"""
