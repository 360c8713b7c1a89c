import type { AskConnector, OpenApiOperation, RemoteAnswer } from "../host.ts";

/** Sends the request of an OpenAPI operation, and reads its answer. */
export async function callOpenApi(
  { connector, method, path }: OpenApiOperation,
  args: Readonly<Record<string, unknown>>,
  ask: AskConnector,
): Promise<unknown> {
  const target = path.replaceAll(/\{([^{}]*)\}/g, (_all, name: string) => encodeURIComponent(String(args[name])));
  const answer = (await ask("request", { connector, method, target, headers: [], body: null })) as RemoteAnswer;
  if (answer.status >= 400) throw new Error(`the server answered ${answer.status}: ${answer.body.slice(0, 1_000)}`);
  return JSON.parse(answer.body) as unknown;
}
