from datetime import datetime
from zoneinfo import ZoneInfo

from dateutil.easter import easter


def easter_sunday(year: int, zone: str = "Europe/Berlin") -> str:
    """Tells when Easter Sunday begins in a time zone.

    Args:
        year: The year
        zone: The name of the time zone
    """
    day = easter(year)
    return datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).isoformat()
