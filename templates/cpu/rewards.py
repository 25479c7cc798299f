"""What a good answer is worth."""


def digit_share(response: str) -> float:
    """Share of characters that are digits."""
    return sum(character.isdigit() for character in response) / len(response) if response else 0.0
