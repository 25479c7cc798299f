"""What a good answer is worth."""


def correct(response: str, expected: str) -> float:
    """1 when the last word of the answer is the expected one."""
    words = response.split()
    return float(bool(words) and words[-1].strip(".") == expected)
