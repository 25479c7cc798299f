"""A reward of the example specs that asks a judge: the reward model that verl serves beside the run."""

from __future__ import annotations

import json
import re
from urllib.request import Request, urlopen

QUESTION = "Question: {prompt}\nAnswer: {response}\nReference: {expected}\nGrade the answer from 0 to {scale}. Grade:"


def judge(
    response: str, expected: str, prompt: object, reward_router_address: str, model: str, scale: int = 10
) -> float:
    """The judge's grade, scaled to 0..1; an answer without a number is worth 0."""
    content = QUESTION.format(prompt=prompt, response=response, expected=expected, scale=scale)
    body = {"model": model, "messages": [{"role": "user", "content": content}]}
    request = Request(
        f"http://{reward_router_address}/v1/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urlopen(request, timeout=300) as reply:
        verdict = json.load(reply)["choices"][0]["message"]["content"]
    grades = re.findall(r"\d+", str(verdict))
    return min(1.0, int(grades[-1]) / scale) if grades else 0.0
