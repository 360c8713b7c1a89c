"""Who asks."""

import base64


class AuthBase:
    def __call__(self, r):
        raise NotImplementedError("Auth hooks must be callable.")


class HTTPBasicAuth(AuthBase):
    def __init__(self, username, password):
        self.username = username
        self.password = password

    def __eq__(self, other):
        return isinstance(other, HTTPBasicAuth) and vars(self) == vars(other)

    __hash__ = None

    def __call__(self, r):
        r.headers["Authorization"] = _basic_auth_str(self.username, self.password)
        return r


class HTTPProxyAuth(HTTPBasicAuth):
    """There are no proxies here."""

    def __call__(self, r):
        return r


class HTTPDigestAuth(AuthBase):
    def __init__(self, username, password):
        raise NotImplementedError("the sandbox has no digest authentication: use HTTPBasicAuth, or a header of your own")


def _basic_auth_str(username, password):
    joined = b":".join(one if isinstance(one, bytes) else str(one).encode("latin-1") for one in (username, password))
    return f"Basic {base64.b64encode(joined).decode()}"
