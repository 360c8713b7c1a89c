"""Sessions: what several requests have in common."""

import time
from collections.abc import Mapping

from glovebox import _web

from . import exceptions
from .adapters import HTTPAdapter, seconds_of
from .cookies import RequestsCookieJar, cookiejar_from_dict
from .models import DEFAULT_REDIRECT_LIMIT, PreparedRequest, Request, response_of
from .structures import CaseInsensitiveDict
from .utils import default_headers

# Before there was an answer, so that nothing has come of it yet that anybody saw.
_AGAIN = ("connect", "read", "failed")


class Session:
    def __init__(self):
        self.headers = default_headers()
        self.auth = None
        self.proxies = {}
        self.hooks = {"response": []}
        self.params = {}
        self.stream = False
        self.verify = True
        self.cert = None
        self.max_redirects = DEFAULT_REDIRECT_LIMIT
        self.trust_env = True
        self.cookies = cookiejar_from_dict({})
        self.adapters = {}
        self.mount("https://", HTTPAdapter())
        self.mount("http://", HTTPAdapter())

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()

    def close(self):
        for adapter in self.adapters.values():
            adapter.close()

    def mount(self, prefix, adapter):
        self.adapters[prefix] = adapter
        for shorter in [known for known in self.adapters if len(known) < len(prefix)]:
            self.adapters[shorter] = self.adapters.pop(shorter)

    def get_adapter(self, url):
        for prefix, adapter in self.adapters.items():
            if url.lower().startswith(prefix.lower()):
                return adapter
        raise exceptions.InvalidSchema(f"No connection adapters were found for {url!r}")

    def prepare_request(self, request):
        prepared = PreparedRequest()
        cookies = RequestsCookieJar(self.cookies)
        cookies.update(request.cookies or {})
        prepared.prepare(
            method=request.method,
            url=request.url,
            headers=_merged(request.headers, self.headers, CaseInsensitiveDict),
            files=request.files,
            data=request.data,
            json=request.json,
            params=_merged(request.params, self.params),
            auth=request.auth or self.auth,
            cookies=cookies,
            hooks=_hooks(self.hooks, request.hooks),
        )
        return prepared

    def request(
        self,
        method,
        url,
        params=None,
        data=None,
        headers=None,
        cookies=None,
        files=None,
        auth=None,
        timeout=None,
        allow_redirects=True,
        proxies=None,
        hooks=None,
        stream=None,
        verify=None,
        cert=None,
        json=None,
    ):
        request = Request(method, url, headers, files, data, params, auth, cookies, hooks, json)
        prepared = self.prepare_request(request)
        stream = self.stream if stream is None else stream
        return self.send(prepared, timeout=timeout, allow_redirects=allow_redirects, stream=stream)

    def get(self, url, **kwargs):
        return self.request("GET", url, **kwargs)

    def options(self, url, **kwargs):
        return self.request("OPTIONS", url, **kwargs)

    def head(self, url, **kwargs):
        kwargs.setdefault("allow_redirects", False)
        return self.request("HEAD", url, **kwargs)

    def post(self, url, data=None, json=None, **kwargs):
        return self.request("POST", url, data=data, json=json, **kwargs)

    def put(self, url, data=None, **kwargs):
        return self.request("PUT", url, data=data, **kwargs)

    def patch(self, url, data=None, **kwargs):
        return self.request("PATCH", url, data=data, **kwargs)

    def delete(self, url, **kwargs):
        return self.request("DELETE", url, **kwargs)

    def send(self, request, timeout=None, allow_redirects=True, stream=False, **options):
        if isinstance(request, Request):
            raise ValueError("You can only send PreparedRequests.")
        adapter = self.get_adapter(request.url)
        if type(adapter).send is not HTTPAdapter.send:
            response = adapter.send(request, stream=stream, timeout=timeout, **options)
        else:
            response = self._exchange(request, adapter.max_retries, timeout, allow_redirects)
        for hook in request.hooks.get("response", ()):
            response = hook(response) or response
        if not stream:
            response.content
        return response

    def _exchange(self, request, retry, timeout, allow_redirects):
        cookies = _Cookies(self.cookies, request._cookies)
        redirects = self.max_redirects if allow_redirects else None
        attempt = 0
        while True:
            attempt += 1
            hop = _web.Hop(request.method, request.url, request.headers.copy(), request.body)
            try:
                exchange, history = _web.at_once(
                    _web.follow(_web.blocking, hop, seconds_of(timeout), redirects, cookies)
                )
            except _web.Failure as failure:
                if failure.kind not in _AGAIN or not retry.is_due(attempt, request.method):
                    raise exceptions.of_failure(failure, request) from failure.cause
            else:
                forced = retry.total > 0 and exchange.status in retry.status_forcelist
                if forced and attempt > retry.total and retry.raise_on_status:
                    exchange.close()
                    raise exceptions.RetryError(f"too many {exchange.status} error responses", request=request)
                if not retry.is_due(attempt, request.method, exchange.status):
                    break
                exchange.close()
            if pause := retry.pause(attempt):
                time.sleep(pause)
        response = response_of(exchange, _sent(request, exchange.request))
        response.history = [response_of(one, _sent(request, one.request), content) for one, content in history]
        return response


class _Cookies:
    """Those of a session, and those of one request of it."""

    def __init__(self, session, request):
        self._session = session
        self._all = RequestsCookieJar(request)

    def header(self, url, asked):
        return self._all.header(url, asked)

    def store(self, url, headers):
        self._session.store(url, headers)
        self._all.store(url, headers)


def _sent(request, hop):
    sent = request.copy()
    sent.method, sent.url, sent.body = hop.method, hop.url, hop.body
    sent.headers = CaseInsensitiveDict(hop.headers)
    return sent


def _merged(own, common, kind=dict):
    """What is None in a request is left out of what is common."""
    if own is None or own == {}:
        return common
    if not isinstance(own, Mapping):
        return own if not common else [*common.items(), *own] if not isinstance(own, (str, bytes)) else own
    merged = kind(common)
    for name, value in own.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = value
    return merged


def _hooks(common, own):
    hooks = own.get("response") or common.get("response") or []
    return {"response": [hooks] if callable(hooks) else list(hooks)}


def session():
    return Session()
