"""`requests.codes.ok` is 200, and so on."""

from http import HTTPStatus

from .structures import LookupDict

codes = LookupDict()
for _status in HTTPStatus:
    _name = _status.name.lower()
    codes[_name] = codes[_name.upper()] = _status.value
for _name, _value in (("okay", 200), ("all_good", 200), ("moved", 301), ("bad", 400), ("server_error", 500)):
    codes[_name] = _value
