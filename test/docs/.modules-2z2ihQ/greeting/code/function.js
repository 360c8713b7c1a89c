export class AgentSpaceV1Tool {
  constructor(tool_id, tool_data) {
    this.language = tool_data?.language ?? "en";
  }
  async execute(input) {
    return { message: `${this.language === "de" ? "Hallo" : "Hello"}, ${input.name}!` };
  }
  async execute_command(command, input) {
    if (command === "shout") return { message: input.name.toUpperCase() };
    throw new Error(`unknown command ${command}`);
  }
}
