/** A scripted model with the chat completions API. With `run_code` it writes a program, else it calls tools. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

const PROGRAM = `const stores = await tools.list_stores({});
const sales = await Promise.all(stores.map(({ id }) => tools.sales({ store: id })));
const totals = sales.map((rows) => rows.reduce((sum, { amount }) => sum + amount, 0));
const best = totals.indexOf(Math.max(...totals));
return { city: stores[best].city, total: totals[best] };`;

const call = (name: string, args: object) => ({
  role: "assistant",
  tool_calls: [{ id: `call_${name}`, type: "function", function: { name, arguments: JSON.stringify(args) } }],
});
const say = (city: string, total?: number) => ({ role: "assistant", content: `${city} sold most: ${total}.` });

type Sent = { messages: { role: string; content: string }[]; tools: { function: { name: string } }[] };

function answer({ messages, tools }: Sent): object {
  const [first, ...sales] = messages.filter(({ role }) => role === "tool").map(({ content }) => JSON.parse(content));
  const isCode = tools[0]?.function.name === "run_code";
  if (first === undefined) return isCode ? call("run_code", { code: PROGRAM }) : call("list_stores", {});
  if (isCode) return say(first.result.city, first.result.total);
  if (sales.length < first.length) return call("sales", { store: sales.length });
  const totals = sales.map((rows: { amount: number }[]) => rows.reduce((sum, row) => sum + row.amount, 0));
  const best = totals.indexOf(Math.max(...totals));
  return say(first[best].city, totals[best]);
}

export async function startModel(): Promise<{ url: string; stop: () => void }> {
  const server = createServer((request, response) => {
    response.setHeader("content-type", "application/json");
    void json(request).then((sent) => {
      const choices = [{ index: 0, message: answer(sent as Sent) }];
      response.end(JSON.stringify({ id: "1", object: "chat.completion", choices }));
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return { url, stop: () => server.close().closeAllConnections() };
}
