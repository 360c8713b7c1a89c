/** A tool whose error tells a key of its config. */
export class AgentSpaceV1Tool {
  constructor(_id, data) {
    this.data = data;
  }

  async execute({ key, ms }) {
    await fetch(`${this.data.origin}/began/${key}`);
    console.log("began");
    await new Promise((resolve) => setTimeout(resolve, ms));
    throw new Error(`refused for ${this.data.api_key}`);
  }
}
