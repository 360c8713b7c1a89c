"""Functions that stand for built-in ones."""

import copyreg

_DESCRIBED = ("__doc__", "__self__", "__text_signature__")


def like(own, function):
    """As an attribute of a class it is no method, as no built-in function is. `own`: the one for which it stands."""
    function = staticmethod(function)
    for name in _DESCRIBED:
        if hasattr(own, name):
            setattr(function, name, getattr(own, name))
    return function


def put(module, name, function):
    setattr(module, name, like(getattr(module, name, None), function))


def install():
    # By its name, as a function is.
    copyreg.pickle(staticmethod, lambda function: function.__qualname__)
