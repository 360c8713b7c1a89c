"""Cookies of sessions and of answers."""

from glovebox._cookies import Cookie, Jar


class RequestsCookieJar(Jar):
    def __iter__(self):
        return iter(self.cookies())

    iterkeys = Jar.keys
    itervalues = Jar.values
    iteritems = Jar.items

    def list_domains(self):
        return list(dict.fromkeys(one.domain for one in self.cookies()))

    def list_paths(self):
        return list(dict.fromkeys(one.path for one in self.cookies()))


def cookiejar_from_dict(cookie_dict, cookiejar=None, overwrite=True):
    jar = RequestsCookieJar() if cookiejar is None else cookiejar
    for name, value in (cookie_dict or {}).items():
        if overwrite or name not in jar:
            jar.set(name, value)
    return jar


def create_cookie(name, value, **kwargs):
    known = {key: kwargs[key] for key in ("domain", "path", "secure", "expires") if key in kwargs}
    return Cookie(name, value, **known)


def merge_cookies(cookiejar, cookies):
    cookiejar.update(cookies)
    return cookiejar
