"""`requests.packages.urllib3` is urllib3."""

import sys

import urllib3
import urllib3.exceptions
import urllib3.util.retry

for _name in [name for name in sys.modules if name.partition(".")[0] == "urllib3"]:
    sys.modules[f"{__name__}.{_name}"] = sys.modules[_name]
