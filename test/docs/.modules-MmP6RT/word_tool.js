class WordTool {
  constructor(config) {
    this.config = config;
  }
  get name() {
    return "count_words";
  }
  get description() {
    return "Counts the words of a text.";
  }
  get input_schema() {
    return { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
  }
  async execute(input) {
    const words = input.text.split(/\s+/).filter(Boolean).length;
    if (words > this.config.max_words) return { success: false, error: { message: "too many words" } };
    return { success: true, output: words };
  }
}

export async function mount(coordinator, config = {}) {
  await coordinator.mount("tools", new WordTool({ max_words: config.max_words ?? 100 }), { name: "count_words" });
}
