"""What the compiler has to say to a person: values only.

A user's mistake is a `Diagnostic`. It knows its id, its places and its cure, and nothing of YAML, of verl or of how it
is printed; renderers beside this module draw text and JSON from the same object.
"""

from orbiter_spec.diagnostics.model import Diagnostic, Place, Related, Report, Severity, nearest

__all__ = ["Diagnostic", "Place", "Related", "Report", "Severity", "nearest"]
