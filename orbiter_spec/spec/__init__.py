"""The user's words: models, the schema made from them, and the step from a document to an experiment."""

from orbiter_spec.spec.bind import bind

__all__ = ["bind"]
