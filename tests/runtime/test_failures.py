"""The first error of a process is kept, later ones are not."""

import logging

from orbiter_spec.runtime.failures import FirstError


def test_the_first_exception_is_kept() -> None:
    logger, kept = logging.getLogger("orbiter.test.failures"), FirstError()
    logger.addHandler(kept)
    logger.error("no exception here")
    for text in ("first", "second"):
        try:
            raise KeyError(text)
        except KeyError as error:
            logger.error("it failed", exc_info=(type(error), error, error.__traceback__))
    assert kept.text == "KeyError: 'first'"
