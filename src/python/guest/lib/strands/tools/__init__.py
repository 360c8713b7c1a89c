"""The decorator of tools."""

from .decorator import tool

__all__ = ["tool"]
