"""What an agent remembers, for its tools: values that JSON can hold, by name."""

import copy
import json


class AgentState:
    def __init__(self, initial_state=None):
        self._data = {}
        for key, value in (initial_state or {}).items():
            self.set(key, value)

    def set(self, key, value):
        _require_key(key)
        try:
            json.dumps(value)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"Value is not JSON serializable: {type(value).__name__}. Only JSON-compatible types (str, int, float, bool, list, dict, None) are allowed."
            ) from error
        self._data[key] = copy.deepcopy(value)

    def get(self, key=None):
        """All of it where no key is named, and `None` for one that is not there."""
        return copy.deepcopy(self._data if key is None else self._data.get(key))

    def delete(self, key):
        _require_key(key)
        self._data.pop(key, None)


def _require_key(key):
    if key is None:
        raise ValueError("Key cannot be None")
    if not isinstance(key, str):
        raise ValueError("Key must be a string")
    if not key.strip():
        raise ValueError("Key cannot be empty")
