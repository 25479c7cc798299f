"""Tools of the project's developers: what is generated is generated here."""
