"""From files of rows to verl's row format, and everything else that a spec names outside itself.

This room reads and writes files and runs no user code; it knows nothing of Ray or of verl's configuration keys.
"""
