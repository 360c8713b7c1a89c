"""Stands for the package of the same name, as far as search clients use it. Requests look like no browser's."""

import httpx

_IGNORED = ("impersonate", "impersonate_os", "verify", "ca_cert_file", "https_only", "http2_only", "referer", "cookie_store")


class Client:
    def __init__(self, *, auth=None, params=None, headers=None, cookies=None, timeout=30, follow_redirects=True, **ignored):
        for name in ignored:
            if name not in (*_IGNORED, "max_redirects", "proxy"):
                raise TypeError(f"Client has no option {name!r} here")
        self._client = httpx.Client(
            auth=auth, params=params, headers=headers, cookies=cookies, timeout=timeout, follow_redirects=follow_redirects
        )

    def request(self, method, url, *, params=None, headers=None, cookies=None, content=None, data=None, json=None, timeout=None):
        named = {"params": params, "headers": headers, "cookies": cookies, "content": content, "data": data, "json": json}
        given = {name: value for name, value in {**named, "timeout": timeout}.items() if value is not None}
        return self._client.request(method, url, **given)

    def get(self, url, **named):
        return self.request("GET", url, **named)

    def head(self, url, **named):
        return self.request("HEAD", url, **named)

    def post(self, url, **named):
        return self.request("POST", url, **named)
