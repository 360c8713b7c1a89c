"""The methods of clients that are named as HTTP's own are: each is a request."""


class Verbs:
    """For a class with a function `request`, which may be a coroutine's."""

    def get(self, url, **named):
        return self.request("GET", url, **named)

    def options(self, url, **named):
        return self.request("OPTIONS", url, **named)

    def head(self, url, **named):
        return self.request("HEAD", url, **named)

    def post(self, url, **named):
        return self.request("POST", url, **named)

    def put(self, url, **named):
        return self.request("PUT", url, **named)

    def patch(self, url, **named):
        return self.request("PATCH", url, **named)

    def delete(self, url, **named):
        return self.request("DELETE", url, **named)
