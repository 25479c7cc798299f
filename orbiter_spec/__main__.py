"""`python -m orbiter_spec` is the command line."""

from orbiter_spec.cli import main

main()
