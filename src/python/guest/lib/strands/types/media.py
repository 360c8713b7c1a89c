"""Content of a result beside text and JSON. Its bytes leave the sandbox as Base64."""

from typing import Any, Literal, NotRequired, TypedDict

DocumentFormat = Literal["pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"]
ImageFormat = Literal["png", "jpeg", "gif", "webp"]
VideoFormat = Literal["flv", "mkv", "mov", "mpeg", "mpg", "mp4", "three_gp", "webm", "wmv"]


class Location(TypedDict):
    type: str


class S3Location(Location):
    uri: str
    bucketOwner: NotRequired[str]


SourceLocation = Location | S3Location


class DocumentSource(TypedDict, total=False):
    bytes: bytes
    location: SourceLocation


class ImageSource(DocumentSource, total=False):
    pass


class VideoSource(DocumentSource, total=False):
    pass


class DocumentContent(TypedDict, total=False):
    format: DocumentFormat
    name: str
    source: DocumentSource
    citations: Any
    context: str | None


class ImageContent(TypedDict):
    format: ImageFormat
    source: ImageSource


class VideoContent(TypedDict):
    format: VideoFormat
    source: VideoSource
