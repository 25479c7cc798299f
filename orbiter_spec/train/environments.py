"""Environments and their trajectories, as the agent loop knows them.

The classes live where they can be copied into a compiled folder: there, `orbiter_spec.train` means them too.
"""

from __future__ import annotations

from orbiter_spec.runtime.agent.environments import (
    BaseEnvironment,
    EnvironmentConfig,
    Outcome,
    SimpleGameEnvironment,
    Trajectory,
)

__all__ = ["BaseEnvironment", "EnvironmentConfig", "Outcome", "SimpleGameEnvironment", "Trajectory"]
