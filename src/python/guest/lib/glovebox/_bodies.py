"""What requests carry, and how answers are read."""

import codecs
import json
import os
import re
from collections.abc import Mapping
from urllib.parse import urlencode

from ._headers import parameters

FORM = "application/x-www-form-urlencoded"


def encode_form(data):
    """A form's text. Values may be lists; None values are left out."""
    return urlencode(_pairs(data))


def _pairs(data):
    found = []
    for name, value in data.items() if isinstance(data, Mapping) else data:
        several = [value] if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__") else value
        found += [(name, one) for one in several if one is not None]
    return found


def encode_multipart(data, files):
    """A body of parts, and its type. `files`: a dict or pairs of names and contents, or tuples of `(filename, content, type)`."""
    boundary = os.urandom(16).hex()
    parts = []
    for name, value in _pairs(data or ()):
        parts.append(_part(boundary, name, None, value, None, {}))
    for name, file in files.items() if isinstance(files, Mapping) else files:
        filename, content, kind, headers = _file(name, file)
        parts.append(_part(boundary, name, filename, content, kind, headers))
    return b"".join([*parts, f"--{boundary}--\r\n".encode()]), f"multipart/form-data; boundary={boundary}"


def _file(name, file):
    kind, headers = None, {}
    if isinstance(file, (tuple, list)):
        filename, content, *rest = file
        kind = rest[0] if rest else None
        headers = rest[1] if len(rest) > 1 else {}
    else:
        content = file
        path = getattr(file, "name", None)
        filename = os.path.basename(path) if isinstance(path, str) and path[:1] != "<" else _string(name)
    return filename, content, kind, headers


def _part(boundary, name, filename, content, kind, headers):
    disposition = f'form-data; name="{_quoted(name)}"'
    if filename is not None:
        disposition += f'; filename="{_quoted(filename)}"'
    lines = [f"--{boundary}", f"Content-Disposition: {disposition}"]
    if kind is not None:
        lines.append(f"Content-Type: {kind}")
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + to_bytes(content) + b"\r\n"


def _quoted(text):
    return _string(text).replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def _string(text):
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)


def to_bytes(content):
    """The bytes of a text, of bytes, of a file, or of what yields them."""
    if content is None:
        return b""
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, (bytes, bytearray, memoryview)):
        return bytes(content)
    if hasattr(content, "read"):
        return to_bytes(content.read())
    if hasattr(content, "__iter__") and not isinstance(content, Mapping):
        return b"".join(to_bytes(one) for one in content)
    return str(content).encode()


def charset_of(headers):
    """The charset that an answer names, where Python knows it."""
    charset = parameters(headers.get("content-type", "")).get("charset")
    return charset if charset is not None and is_charset(charset) else None


def is_charset(charset):
    try:
        # Codecs that do not decode bytes to text are no charsets.
        return codecs.lookup(charset)._is_text_encoding
    except (LookupError, ValueError):
        return False


def guess_charset(content):
    for mark, charset in ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
        if content.startswith(mark):
            return charset
    try:
        content.decode()
    except UnicodeDecodeError:
        return "windows-1252"
    return "utf-8"


def decode(content, charset):
    return content.decode(charset if charset and is_charset(charset) else "utf-8", "replace")


def read_json(content, **named):
    return json.loads(content.decode(json.detect_encoding(content), "surrogatepass") if content else "", **named)


def rechunked(chunks, size):
    """The same bytes in pieces of one size, but for the last."""
    rest = bytearray()
    for chunk in chunks:
        rest += chunk
        while len(rest) >= size:
            yield bytes(rest[:size])
            del rest[:size]
    if rest:
        yield bytes(rest)


def decoder(charset):
    """Makes text of bytes that come in pieces."""
    return codecs.getincrementaldecoder(charset if is_charset(charset) else "utf-8")("replace")


def decoded(chunks, charset):
    """The text of chunks of bytes, none of whose characters is torn."""
    made = decoder(charset)
    for chunk in chunks:
        if text := made.decode(chunk):
            yield text
    if text := made.decode(b"", True):
        yield text


_ENDS = re.compile(r"\r\n|\n|\r")


class Lines:
    """The lines of a text that comes in pieces."""

    def __init__(self):
        self._rest = ""

    def feed(self, text):
        text = self._rest + text
        # What may be the first half of an end of a line waits for the other.
        held = "\r" if text.endswith("\r") else ""
        *whole, rest = _ENDS.split(text[: len(text) - len(held)])
        self._rest = rest + held
        return whole

    def end(self):
        rest, self._rest = self._rest, ""
        return [rest.removesuffix("\r")] if rest else []


def lines(texts):
    found = Lines()
    for text in texts:
        yield from found.feed(text)
    yield from found.end()
