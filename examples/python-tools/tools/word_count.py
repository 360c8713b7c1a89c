from collections import Counter

spec = {
    "name": "word_count",
    "description": "Counts the words of a text.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string"}, "top": {"type": "integer", "minimum": 1, "default": 3}},
        "required": ["text"],
    },
}


def execute(input):
    words = Counter(input["text"].lower().split())
    return [{"word": word, "count": count} for word, count in words.most_common(input["top"])]
