"""Functions that stand for built-in ones."""

import copyreg


def like(function):
    """As an attribute of a class it is no method, as no built-in function is."""
    return staticmethod(function)


def install():
    # By its name, as a function is.
    copyreg.pickle(staticmethod, lambda function: function.__qualname__)
