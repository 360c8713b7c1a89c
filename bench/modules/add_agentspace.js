export class AgentSpaceV1Tool {
  execute({ a, b }) {
    return { sum: a + b };
  }
}
