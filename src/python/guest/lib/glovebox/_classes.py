"""Questions to a module's classes. What a class or an object answers is anybody's guess: it may raise."""

_MEMBERS = type.__dict__["__dict__"]
_FLAGS = type.__dict__["__flags__"]
_IS_ABSTRACT = 1 << 20


def made_in(module):
    """The module's own classes, but for protocols."""
    found = [value for value in list(vars(module).values()) if issubclass(type(value), type)]
    described = [(one, members(one)) for one in found]
    own = [(one, each) for one, each in described if each.get("__module__") == module.__name__]
    return [one for one, each in own if not each.get("_is_protocol", False)]


def members(one):
    """What stands in the class itself."""
    return _MEMBERS.__get__(one)


def is_abstract(one):
    return bool(_FLAGS.__get__(one) & _IS_ABSTRACT)


def knows(value, name):
    try:
        return hasattr(value, name)
    except Exception:
        return False


def has(value, name):
    """Whether it has a method of that name."""
    try:
        return callable(getattr(value, name, None))
    except Exception:
        return False
