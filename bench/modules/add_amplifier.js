class AddTool {
  name = "add_amplifier";
  description = "Adds two numbers.";

  async execute({ a, b }) {
    return { success: true, output: { sum: a + b } };
  }
}

export async function mount(coordinator) {
  const tool = new AddTool();
  await coordinator.mount("tools", tool, { name: tool.name });
}
