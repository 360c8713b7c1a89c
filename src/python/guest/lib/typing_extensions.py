"""What newer versions of `typing` have, for modules that are written for older ones. A wheel of the package goes before it."""

import annotationlib
import collections
import contextlib
import types
import typing
import warnings
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Buffer, Coroutine, Generator
from typing import *  # noqa: F403

# Not all that `typing` has is exported by it.
_FromTyping = ("TypeAliasType", "TypeIs", "TypeVar", "ReadOnly", "NoDefault", "get_protocol_members", "is_protocol", "evaluate_forward_ref")
globals().update({name: getattr(typing, name) for name in _FromTyping if hasattr(typing, name)})

AsyncContextManager = contextlib.AbstractAsyncContextManager
ContextManager = contextlib.AbstractContextManager
ChainMap = collections.ChainMap
Counter = collections.Counter
DefaultDict = collections.defaultdict
Deque = collections.deque
OrderedDict = collections.OrderedDict

deprecated = warnings.deprecated
get_original_bases = types.get_original_bases
CapsuleType = types.CapsuleType
Format = annotationlib.Format
get_annotations = annotationlib.get_annotations
type_repr = annotationlib.type_repr
runtime = typing.runtime_checkable
IntVar = typing.TypeVar


class Doc:
    """Documentation of what is annotated with it."""

    def __init__(self, documentation, /):
        self.documentation = documentation

    def __repr__(self):
        return f"Doc({self.documentation!r})"

    def __hash__(self):
        return hash(self.documentation)

    def __eq__(self, other):
        return isinstance(other, Doc) and self.documentation == other.documentation


class Sentinel:
    """A value that is nothing but itself."""

    def __init__(self, name, repr=None):
        self._name = name
        self._repr = f"<{name}>" if repr is None else repr

    def __repr__(self):
        return self._repr


def disjoint_base(cls):
    return cls
