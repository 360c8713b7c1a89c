/** Alerts on calls that wait. */
import { withClock } from "../clock.ts";
import type { AlertScene, Stage } from "./alert.ts";
import { needed } from "./trial.ts";

const DAY_AND_MORE_MS = 25 * 60 * 60 * 1_000;
const ASK_MS = 10_000;
/** Its file says by how much the clock is ahead. */
const READS_AHEAD = `import { readFileSync } from "node:fs";
const ahead = Number(readFileSync(new URL("ahead", import.meta.url), "utf8"));`;

function toolsOf(origin: string): Readonly<Record<string, string>> {
  return {
    ahead: "0",
    "tools/order.js": `export const spec = { name: "order", description: "Orders.",
  capabilities: { fetch: { origins: ["${origin}"], methods: ["POST"] } } };
export default async ({ key }) => {
  const response = await fetch("${origin}/tell/" + key, { method: "POST" });
  return { said: await response.text() };
};\n`,
    "tools/refund.js": `export const spec = { name: "refund", description: "Pays back.", approval: "always" };
export default ({ order }) => order;\n`,
  };
}

async function send(url: string, path: string, body: object): Promise<void> {
  const response = await fetch(`${url}/v1/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(ASK_MS),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
}

/** Decides all calls of a state, once there are some. */
async function decideAll({ scene, watch }: Omit<Stage, "callers">, state: string, decision: object): Promise<void> {
  const { url } = scene.server;
  await needed(watch, `a call that is ${state}`, async () => {
    const response = await fetch(`${url}/v1/calls?state=${state}`, { signal: AbortSignal.timeout(ASK_MS) });
    const { calls } = (await response.json()) as { readonly calls: readonly { readonly id: string }[] };
    for (const { id } of calls) await send(url, `calls/${id}/decisions`, decision);
    return calls.length > 0;
  });
}

/** A server that keeps calls in a file, and tells of those that wait. */
export const CALLS: AlertScene = {
  name: "calls",
  needs: ["prometheus"],
  settings: withClock(READS_AHEAD, {
    config: 'calls: { notify: [{ url: "ORIGIN/hook", secret: { env: HOOK_SECRET }, events: [paused] }] }\n',
    env: { HOOK_SECRET: "a secret of this hook" },
    files: ({ counter }) => toolsOf(counter.origin),
  }),
  trials: [
    {
      alerts: ["GloveboxCallsInDoubt"],
      fault: "server-killed-in-effect",
      what: "The server is killed (SIGKILL) while a stored call waits for the answer to a request, and started again.",
      heals: "Somebody says that it did not happen: `glovebox calls settle`.",
      bring: async ({ scene, watch }) => {
        const { server, counter } = scene;
        counter.manner = "late";
        const body = { name: "order", arguments: { key: "order-1" }, options: { durable: true } };
        const lost = send(server.url, "execute", body).catch(() => undefined);
        await needed(watch, "the call's request", async () => counter.told.has("order-1"));
        await server.end("SIGKILL");
        await lost;
        counter.manner = "well";
        await scene.restart();
        return () => decideAll({ scene, watch }, "in_doubt", { decision: "did_not_happen" });
      },
    },
    {
      alerts: ["GloveboxNotificationsFail"],
      fault: "hook-down",
      what: "The target of notifications ends connections, and a call needs an approval.",
      heals: "It takes them again.",
      bring: async ({ scene }) => {
        scene.counter.manner = "cut";
        await send(scene.server.url, "execute", { name: "refund", arguments: { order: "6" } });
        return async () => void (scene.counter.manner = "well");
      },
    },
    {
      alerts: ["GloveboxApprovalsOld", "GloveboxNotificationsLost"],
      fault: "approval-forgotten",
      what: "Nobody decides a call that needs an approval, and its target of notifications takes none, for 25 hours: the server is started again with a clock that is so much ahead.",
      heals: "Somebody refuses the call; an hour without another loss.",
      bring: async ({ scene, watch }) => {
        scene.counter.manner = "cut";
        await send(scene.server.url, "execute", { name: "refund", arguments: { order: "7" } });
        await scene.server.end("SIGTERM");
        scene.write("ahead", `${DAY_AND_MORE_MS}`);
        await scene.restart();
        return async () => {
          scene.counter.manner = "well";
          await decideAll({ scene, watch }, "paused", { decision: "refuse" });
        };
      },
    },
  ],
};
