/** A scripted model: an HTTP server with the chat completions API that answers from a list. It makes one mistake. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const call = (name: string, args: object) => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id: `call_${name}`, type: "function", function: { name, arguments: JSON.stringify(args) } }],
});
const SCRIPT = [
  call("mountain_height", { mountain: "Zugspitze" }),
  call("convert_length", { value: 2962, to: "feet" }),
  call("convert_length", { value: 2962, to: "ft" }),
  { role: "assistant", content: "The Zugspitze is 9717.8 feet high." },
];

export async function startModel(): Promise<{ url: string; stop: () => void }> {
  const answers = SCRIPT.values();
  const server = createServer((_request, response) => {
    const message = answers.next().value;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ id: "1", object: "chat.completion", choices: [{ index: 0, message }] }));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return { url, stop: () => server.close().closeAllConnections() };
}
