"""One request at a time."""

import contextlib

from ._client import Client

_OF_CLIENTS = ("cookies", "proxy", "timeout", "follow_redirects", "verify", "trust_env")


def request(method, url, **named):
    with _client(named) as client:
        return client.request(method, url, **named)


@contextlib.contextmanager
def stream(method, url, **named):
    with _client(named) as client, client.stream(method, url, **named) as response:
        yield response


def get(url, **named):
    return request("GET", url, **named)


def options(url, **named):
    return request("OPTIONS", url, **named)


def head(url, **named):
    return request("HEAD", url, **named)


def post(url, **named):
    return request("POST", url, **named)


def put(url, **named):
    return request("PUT", url, **named)


def patch(url, **named):
    return request("PATCH", url, **named)


def delete(url, **named):
    return request("DELETE", url, **named)


def _client(named):
    return Client(**{name: named.pop(name) for name in _OF_CLIENTS if name in named})
