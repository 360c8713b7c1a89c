"""What tools are mounted on."""

from glovebox._contracts import Coordinator as ModuleCoordinator

__all__ = ["ModuleCoordinator"]
