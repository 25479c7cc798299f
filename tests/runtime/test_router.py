"""A prompt goes to one server, whenever and wherever it is asked."""

from __future__ import annotations

import inspect

import pytest

from orbiter_spec.runtime.router import PromptRouter

SERVERS = {"hf_server_0_0": "a", "hf_server_1_0": "b"}


def test_same_prompt_same_server() -> None:
    names = {PromptRouter(SERVERS).acquire_server(str(index), prompt_ids=[1, 2, 3])[0] for index in range(20)}
    assert len(names) == 1


def test_prompts_spread() -> None:
    router = PromptRouter(SERVERS, max_cache_size=10)
    for prompt in range(200):
        name, handle = router.acquire_server("r", prompt_ids=[*range(300), prompt])
        assert SERVERS[name] == handle
    loads = router.get_status()["servers"]
    assert min(loads.values()) > 60
    assert router.get_total_inflight() == 200


def test_releases_are_counted() -> None:
    router = PromptRouter(SERVERS)
    name, _ = router.acquire_server("r", prompt_ids=[1])
    router.release_server(name)
    router.release_server(name)
    assert router.get_total_inflight() == 0


def test_servers_come_and_go() -> None:
    router = PromptRouter({})
    with pytest.raises(RuntimeError, match="No available servers in load balancer"):
        router.acquire_server("r", prompt_ids=[1])
    router.add_servers(SERVERS)
    router.remove_servers(["hf_server_0_0"])
    assert router.get_all_servers() == ["hf_server_1_0"]
    assert router.acquire_server("r", prompt_ids=[1]) == ("hf_server_1_0", "b")


def test_it_has_every_method_of_verls_protocol() -> None:
    from verl.workers.rollout.router import RequestLoadBalancer

    for name, method in inspect.getmembers(RequestLoadBalancer, inspect.isfunction):
        if not name.startswith("_"):
            assert callable(getattr(PromptRouter, name, None)), method
