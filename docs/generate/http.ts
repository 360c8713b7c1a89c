import { fastify } from "fastify";
import { Registry } from "prom-client";
import { addAssets } from "../../src/server/http/assets.ts";
import { addRoutes } from "../../src/server/http/routes.ts";
import { code, page, sentence, table } from "./markdown.ts";

interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly description: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
  readonly "x-role": string;
  readonly "x-events"?: Readonly<Record<string, unknown>>;
}

interface Media {
  readonly schema: unknown;
  readonly example?: unknown;
}

interface Route {
  readonly name: string;
  readonly operation: Operation;
}

/** Routes of the console: pages for people, which the API's description leaves out. */
const CONSOLE = [
  ["`GET /`", "anybody", "Shows the console, a page for people."],
  ["`GET /console/{file}`", "anybody", "Serves the console's scripts and styles."],
];

export async function httpPage(): Promise<string> {
  const routes = await readRoutes();
  const rows = routes.map(({ name, operation }) => [code(name), operation["x-role"], sentence(operation.summary)]);
  return page("HTTP", [
    "`GET /openapi.json` of a running server has all of this as OpenAPI 3.1, with every schema. A role is what a key needs; a server without keys asks for none. Refused requests are answered in the form of a failed result: see [errors](errors/index.md). Errors that are not results are problem details of RFC 9457 (`application/problem+json`).",
    table(["route", "role", "what it does"], [...rows, ...CONSOLE]),
    ...routes.flatMap(describe),
  ]);
}

/** The routes of a server with a folder for assets, from its own description. */
async function readRoutes(): Promise<readonly Route[]> {
  await using app = fastify();
  // Routes are only described, so of the engine no more is there than what adding them touches.
  const engine = { on: () => undefined, off: () => undefined, registry: new Registry(), codeMode: {} };
  const surface = { engine, gate: {}, registry: {}, isDraining: () => false, onDrain: () => undefined };
  addRoutes(app, surface as unknown as Parameters<typeof addRoutes>[1]);
  await addAssets(app, { maxBytes: 0 } as Parameters<typeof addAssets>[1], null);
  await app.ready();
  const { paths } = (await app.inject("/openapi.json")).json<{ paths: Record<string, Record<string, Operation>> }>();
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
  );
}

function describe({ name, operation }: Route): readonly string[] {
  const { summary, description, parameters, requestBody, responses } = operation;
  const [[type, media] = []] = Object.entries(requestBody?.content ?? {});
  return [
    `## ${code(name)}`,
    sentence(summary),
    ...(description === undefined ? [] : [description]),
    ...(parameters.length === 0
      ? []
      : [
          table(
            ["parameter", "in", "meaning"],
            parameters.map((one) => [code(one.name), one.in, sentence(one.description)]),
          ),
        ]),
    ...(type === undefined ? [] : [`Body: ${code(type)}${bodyOf(media)}`]),
    ...(media?.example === undefined ? [] : [`\`\`\`json\n${JSON.stringify(media.example, null, 2)}\n\`\`\``]),
    ...(operation["x-events"] === undefined
      ? []
      : [`Events of the stream: ${Object.keys(operation["x-events"]).map(code).join(", ")}.`]),
    table(
      ["status", "meaning"],
      Object.entries(responses).map(([status, answer]) => [status, sentence(answer.description)]),
    ),
  ];
}

/** The name of a body's schema, where it has one. */
function bodyOf(media: Media | undefined): string {
  const reference = (media?.schema as { readonly $ref?: string } | undefined)?.$ref;
  return reference === undefined ? "." : `, a ${code(reference.split("/").at(-1) ?? "")}.`;
}
