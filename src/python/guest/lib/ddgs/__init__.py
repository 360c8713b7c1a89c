"""Stands for the package of the same name, as far as tools use it: DuckDuckGo's search for pages of the web."""

from html.parser import HTMLParser
from urllib.parse import parse_qs, urlsplit

import httpx

from .exceptions import DDGSException, RatelimitException, TimeoutException

_ENDPOINT = "https://html.duckduckgo.com/html/"
_RESULTS_IN_PAGE = 10
_PAGES_MAX = 10
_SAFE = {"on": "1", "moderate": "", "off": "-2"}

__all__ = ["DDGS"]


class DDGS:
    """A tool asks for it with `fetch` of https://html.duckduckgo.com."""

    def __init__(self, proxy=None, timeout=5, *, verify=True):
        self._timeout = timeout

    def __enter__(self):
        return self

    def __exit__(self, *args):
        return None

    def text(
        self, query, region="us-en", safesearch="moderate", timelimit=None, max_results=10, page=1, backend="auto", **ignored
    ):
        """A list of results, each with `title`, `href` and `body`."""
        if not query:
            raise DDGSException("query is mandatory")
        wanted = _RESULTS_IN_PAGE if max_results is None else max_results
        asked = {"q": query, "b": "", "kl": region, "kp": _SAFE.get(safesearch.lower(), ""), "df": timelimit or ""}
        found = {}
        for at in range(page, page + _PAGES_MAX):
            results = self._page({**asked, "s": str((at - 1) * _RESULTS_IN_PAGE)})
            new = {one["href"]: one for one in results if one["href"] not in found}
            found.update(new)
            if not new or len(found) >= wanted:
                break
        if not found:
            raise DDGSException("No results found.")
        return list(found.values())[:wanted]

    def _page(self, data):
        try:
            response = httpx.post(_ENDPOINT, data=data, timeout=self._timeout, follow_redirects=True)
        except httpx.TimeoutException as error:
            raise TimeoutException(str(error)) from error
        except httpx.HTTPError as error:
            raise DDGSException(str(error)) from error
        if response.status_code in (202, 403, 429):
            raise RatelimitException(f"{_ENDPOINT} answers {response.status_code}")
        if response.status_code != 200:
            raise DDGSException(f"{_ENDPOINT} answers {response.status_code}")
        reader = _Results()
        reader.feed(response.text)
        return [one for one in reader.results if one["href"].startswith("http")]

    def __getattr__(self, name):
        if name in ("images", "news", "videos", "books", "extract"):
            raise DDGSException(f"ddgs searches for pages only here: {name} is not available")
        raise AttributeError(name)


class _Results(HTMLParser):
    """Reads the links and snippets of a page of results."""

    def __init__(self):
        super().__init__()
        self.results = []
        self._into = None

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        classes = (given.get("class") or "").split()
        if tag == "a" and "result__a" in classes:
            self.results.append({"title": "", "href": _target(given.get("href") or ""), "body": ""})
            self._into = "title"
        elif "result__snippet" in classes and self.results:
            self._into = "body"

    def handle_endtag(self, tag):
        if tag == "a":
            self._into = None

    def handle_data(self, data):
        if self._into is not None:
            self.results[-1][self._into] += data


def _target(href):
    """Links lead over a page that counts clicks, which has the target as a parameter. That of an advertisement has none."""
    parts = urlsplit(href)
    if parts.path == "/l/":
        return parse_qs(parts.query).get("uddg", [""])[0]
    return "" if parts.path == "/y.js" else href
