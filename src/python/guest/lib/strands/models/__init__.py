"""Models have names here only."""

from .._elsewhere import elsewhere

Model = elsewhere("Model")
BedrockModel = elsewhere("BedrockModel")
