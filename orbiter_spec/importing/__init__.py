"""Bringing a verl run into the language, without executing anything."""

from orbiter_spec.importing.imported import Imported, import_text

__all__ = ["Imported", "import_text"]
