"""The standard library's module. Each redirect is a request of its own to the fetch capability."""

import functools

from glovebox import _host, _standard, _web

_standard.evaluate(__name__, globals())
_open, _redirected = AbstractHTTPHandler.do_open, HTTPRedirectHandler.redirect_request  # noqa: F821
_is_local = _is_local_authority  # noqa: F821


@functools.wraps(_open)
def do_open(self, http_class, req, **http_conn_args):
    try:
        return _open(self, http_class, req, **http_conn_args)
    except URLError as error:  # noqa: F821
        _host.carry(error, getattr(error.reason, "__cause__", None))
        raise


@functools.wraps(_redirected)
def redirect_request(self, req, fp, code, msg, headers, newurl):
    given = [req.full_url, *req.headers.values()]
    new = _redirected(self, req, fp, code, msg, headers, _web.without_secrets(newurl, _web.secrets_in(given)))
    if new is not None and _web.is_elsewhere(req.full_url, new.full_url):
        for name in [name for name, value in new.headers.items() if _web.is_private(name, value)]:
            del new.headers[name]
    return new


@functools.wraps(_is_local)
def _is_local_authority(authority, resolve):
    try:
        return _is_local(authority, resolve)
    except PermissionError:
        # There is no looking up of other hosts.
        return False


AbstractHTTPHandler.do_open = do_open  # noqa: F821
HTTPRedirectHandler.redirect_request = redirect_request  # noqa: F821
del do_open, redirect_request
