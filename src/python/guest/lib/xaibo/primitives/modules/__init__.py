"""Stands for the package of the same name, as far as tools use it."""
