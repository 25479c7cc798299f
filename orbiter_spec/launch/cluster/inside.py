"""What each of verl's processes on a cluster does first; verl imports it by name (`VERL_USE_EXTERNAL_MODULES`).

Runs are kept apart: TransferQueue finds its controller by a fixed name in a fixed namespace of Ray, so a second run on
the same cluster would join the first one's queue and train on its answers. Here the namespace carries Ray's id of the
job, which every process of one attempt shares and no other attempt has.

Secrets are resolved where they are used, from the node's own environment or files: Ray shows and keeps the environment
of a job in plain text. What the process prints is scrubbed of them before Ray writes it to a log.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
from typing import Any

from orbiter_spec.launch.secrets import Scrubber, SecretMissingError, resolve_secrets

NAMESPACE = "transfer_queue"
SECRETS_VARIABLE = "ORBITER_SECRETS"


def own_namespace(ray: Any, namespace: str | None) -> str | None:
    """`namespace`, or this job's own where it is TransferQueue's."""
    return f"{NAMESPACE}-{ray.get_runtime_context().get_job_id()}" if namespace == NAMESPACE else namespace


def keep_apart() -> None:
    """Let look-ups and creations of named actors pass through `own_namespace`. Safe to call twice."""
    import ray
    from ray.actor import ActorClass

    if getattr(ray.get_actor, "orbiter", False):
        return
    look_up, options = ray.get_actor, ActorClass.options

    @functools.wraps(look_up)
    def get_actor(name: str, namespace: str | None = None) -> Any:
        return look_up(name, own_namespace(ray, namespace))

    @functools.wraps(options)
    def with_options(self: Any, **values: Any) -> Any:
        if values.get("namespace") == NAMESPACE:
            values["namespace"] = own_namespace(ray, NAMESPACE)
        return options(self, **values)

    get_actor.orbiter = True  # type: ignore[attr-defined]
    ray.get_actor = get_actor
    ActorClass.options = with_options


def supply_secrets() -> None:
    """Set the variables that SECRETS_VARIABLE refers to, and keep their values out of what is printed."""
    references = json.loads(os.environ.get(SECRETS_VARIABLE) or "{}")
    found: dict[str, str] = {}
    for name, reference in references.items():
        try:
            found |= resolve_secrets({name: reference})
        except SecretMissingError as error:
            print(f"orbiter-spec: on this node {error}", file=sys.stderr)
    os.environ.update(found)
    if found:
        scrub_streams(Scrubber.of(found))


def scrub_streams(scrubber: Scrubber) -> None:
    """Let everything that Python prints in this process pass through `scrubber`."""
    for stream in (sys.stdout, sys.stderr):
        write = stream.write

        def clean(text: str, write: Any = write) -> Any:
            return write(scrubber.clean(text.encode("utf-8", errors="surrogateescape")).decode(errors="replace"))

        with contextlib.suppress(AttributeError):
            stream.write = clean  # type: ignore[method-assign]


if SECRETS_VARIABLE in os.environ:
    supply_secrets()
    keep_apart()
