/** A scripted model: an HTTP server with the chat completions API. With `run_code` it writes a program, else it calls tools. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

interface Message {
  readonly role: string;
  readonly content: string;
}
interface Sent {
  readonly messages: readonly Message[];
  readonly tools: readonly { readonly function: { readonly name: string } }[];
}

const PROGRAM = `const stores = await tools.list_stores({});
const totals = await Promise.all(
  stores.map(async ({ id, city }) => {
    const sales = await tools.sales({ store: id });
    return { city, total: sales.reduce((sum, { amount }) => sum + amount, 0) };
  }),
);
return totals.toSorted((one, other) => other.total - one.total)[0];`;

const call = (name: string, args: object, id: number) => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id: `call_${id}`, type: "function", function: { name, arguments: JSON.stringify(args) } }],
});
const say = (city: string, total: number) => ({ role: "assistant", content: `${city} sold most: ${total}.` });

function answer({ messages, tools }: Sent): object {
  const results = messages.filter(({ role }) => role === "tool").map(({ content }) => JSON.parse(content));
  if (tools.some((tool) => tool.function.name === "run_code")) {
    if (results.length === 0) return call("run_code", { code: PROGRAM }, 0);
    const { city, total } = results[0].result;
    return say(city, total);
  }
  const [stores, ...sales] = results;
  if (stores === undefined) return call("list_stores", {}, 0);
  if (sales.length < stores.length) return call("sales", { store: stores[sales.length].id }, results.length);
  const totals = sales.map((rows) => rows.reduce((sum: number, row: { amount: number }) => sum + row.amount, 0));
  const best = totals.indexOf(Math.max(...totals));
  return say(stores[best].city, totals[best] ?? 0);
}

export async function startModel(): Promise<{ url: string; stop: () => void }> {
  const server = createServer((request, response) => {
    void json(request).then((sent) => {
      response.setHeader("content-type", "application/json");
      const choices = [{ index: 0, message: answer(sent as Sent) }];
      response.end(JSON.stringify({ id: "1", object: "chat.completion", choices }));
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return { url, stop: () => server.close().closeAllConnections() };
}
