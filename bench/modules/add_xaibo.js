export class AddProvider {
  async list_tools() {
    return [{ name: "add_xaibo", description: "Adds two numbers.", parameters: {} }];
  }

  async execute_tool(name, { a, b }) {
    return { success: true, result: { sum: a + b } };
  }
}
