"""Plan to verl keys, each with its origin, and the target releases as data. Imports neither verl nor Ray."""
