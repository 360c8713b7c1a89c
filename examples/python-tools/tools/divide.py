spec = {"name": "divide", "description": "Divides a by b."}


def execute(input):
    return input["a"] / input["b"]
