import { createEngine } from "glovebox";

// As a file, hello.py would also have: spec = {"name": "hello", "description": "Says hello.", "inputSchema": {…}}
const source = `
def execute(input):
    print("greeting", input["name"])
    return {"text": f"Hello, {input['name']}!"}
`;
await using engine = await createEngine({ workers: 1 });
await engine.register({ name: "hello", description: "Says hello.", runtime: "python", source });
console.log((await engine.execute({ name: "hello", arguments: { name: "Ada" } })).output); // prints: { text: 'Hello, Ada!' }
