export class WeatherProvider {
  constructor(config) {
    this.config = config;
  }
  async list_tools() {
    const city = { type: "string", description: "Name of the city", required: true };
    return [{ name: "get_weather", description: "Tells the weather of a city.", parameters: { city } }];
  }
  async execute_tool(tool_name, { city }) {
    if (city === "Atlantis") return { success: false, error: `City '${city}' not found` };
    return { success: true, result: { city, degrees: 22, unit: this.config.unit ?? "C" } };
  }
}
