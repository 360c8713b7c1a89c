spec = {
    "name": "greet",
    "description": "Greets somebody.",
    "inputSchema": {
        "type": "object",
        "properties": {"name": {"type": "string", "minLength": 1, "description": "Name of the person."}},
        "required": ["name"],
    },
    "examples": [
        {"input": {"name": "Ada"}, "output": {"text": "Hello, Ada!"}},
        {"name": "no name", "input": {"name": ""}, "error": "invalid_arguments"},
    ],
}


def execute(input):
    return {"text": f"Hello, {input['name']}!"}
