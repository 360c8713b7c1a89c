import { expect, test } from "vitest";
import { codeMode } from "../../../src/code-mode/index.ts";
import type { EngineOptions } from "../../../src/glovebox/index.ts";
import { byHand } from "../tool/mcp/programs/by-hand.ts";
import { serve } from "../tool/mcp/programs/http.ts";
import { openConnected } from "./mcp-by-hand.ts";

const optionsOf = (connectors: NonNullable<EngineOptions["connectors"]>, more: EngineOptions): EngineOptions => ({
  workers: 1,
  executor: "threads",
  connectors,
  policy: { rules: [{ allow: { connector: ["c"] } }] },
  ...more,
});

test("the value of a secret is in no output, log line, event and error, though the server echoes it", async () => {
  const value = "s3cr3t-value-of-the-connector";
  const { url } = await serve(
    byHand((method, params, headers) => {
      const token = String(headers["authorization"]);
      if (method === "tools/list")
        return {
          tools: [
            { name: "echo", description: token, inputSchema: { type: "object", description: token } },
            { name: "fail", inputSchema: { type: "object" } },
          ],
        };
      return { isError: params["name"] === "fail", content: [{ type: "text", text: token }] };
    }),
  );
  const secrets = { T: { value, bind: [{ origin: new URL(url).origin }] } };
  const told: unknown[] = [];
  const log = (fields: object, message: string): void => void told.push([fields, message]);
  const headers = { authorization: "Bearer {secret:T}" };
  await using engine = await openConnected(
    optionsOf({ c: { mcp: { url, headers } } }, { secrets, logger: { trace: log, debug: log, info: log, warn: log } }),
  );
  for (const name of ["tool:post", "tool:error", "connector:up"] as const)
    engine.on(name, (event) => void told.push(event));
  const code = `const said = await tools.c.echo({}); console.log(said); await tools.c.fail({}).catch((error) => console.log(error.message)); return said;`;
  const recorded = await engine.execute({ name: "c.echo", arguments: {} }, { record: true });
  const ran = await codeMode(engine).execute({ name: "run_code", arguments: { code } });
  expect(ran).toMatchObject({ output: { result: "Bearer glovebox.secret.T." } });
  const failed = await engine.execute({ name: "c.fail", arguments: {} });
  const all = JSON.stringify([
    recorded,
    ran,
    failed,
    told,
    engine.list(),
    engine.connectors(),
    engine.explain("c.echo"),
  ]);
  expect(all).toContain("glovebox.secret.T.");
  expect(all).not.toContain(value);
  expect(all).not.toContain(value.slice(0, 10));
});
