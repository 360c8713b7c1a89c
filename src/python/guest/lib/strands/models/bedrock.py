"""Models have names here only."""

from . import BedrockModel as BedrockModel

DEFAULT_BEDROCK_REGION = "us-west-2"
DEFAULT_BEDROCK_MODEL_ID = ""
