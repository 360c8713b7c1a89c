import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { PATIENT_MS } from "../plan.ts";
import type { Stage } from "../stage.ts";
import type { Scene } from "./scene.ts";

const BODY_BYTES = 1_000_000;
const CALL = '{"name":"innocent","arguments":{"n":4}}';
/** No stack, no path of the host, nothing of the framework. */
const TALE = /\bat .*:\d+:\d+|node_modules|\/src\/|FST_|fastify|file:\/\//i;

let open: Promise<Server> | undefined;

/** One server for all scenes, which the stage closes. */
function serve(stage: Stage): Promise<Server> {
  open ??= createServer(stage.engine, { port: 0, bodyBytes: BODY_BYTES }).then((server) =>
    stage.props.adopt(server, () => server.close()),
  );
  return open;
}

interface Writing {
  /** Between two parts. */
  readonly pauseMs?: number;
  readonly waitMs?: number;
  /** What ends the wait. */
  readonly until?: RegExp;
}

/**
 * Writes raw bytes to the server, closes this side when it has said what is waited for, or after a while, and answers
 * what it said.
 */
async function write(
  stage: Stage,
  parts: readonly string[],
  { pauseMs = 0, waitMs = 300, until }: Writing = {},
): Promise<string> {
  const { port } = await serve(stage);
  const socket = connect(port, "127.0.0.1");
  let said = "";
  const heard = Promise.withResolvers<void>();
  socket.setEncoding("latin1").on("data", (text: string) => {
    said += text;
    if (until?.test(said) === true) heard.resolve();
  });
  // A server may well cut such a connection.
  socket.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  for (const part of parts) {
    socket.write(part);
    if (pauseMs > 0) await delay(pauseMs);
  }
  await Promise.race([closed, heard.promise, delay(waitMs, undefined, { ref: false })]);
  socket.destroy();
  await closed;
  return said;
}

/** Posts a body, and gives the status and the code of the answer, having looked for what no answer may tell. */
async function post(stage: Stage, harm: string[], body: string, type = "application/json"): Promise<string> {
  const { url } = await serve(stage);
  const headers = { "content-type": type };
  const response = await fetch(`${url}/v1/execute`, { method: "POST", body, headers });
  const text = await response.text();
  if (TALE.test(text)) harm.push(`an answer tells of the host: ${text.slice(0, 200)}`);
  const said = JSON.parse(text) as { success?: boolean; error?: { code?: string } | string | null };
  const error = typeof said.error === "object" ? said.error?.code : said.error;
  return `${response.status} ${said.success === true ? "ok" : error}`;
}

async function expectAll(
  stage: Stage,
  harm: string[],
  bodies: readonly string[],
  wanted: RegExp,
  type?: string,
): Promise<void> {
  for (const body of bodies) {
    const got = await post(stage, harm, body, type);
    if (!wanted.test(got)) harm.push(`${body.slice(0, 80)}: ${got}`);
  }
  const good = await post(stage, harm, CALL);
  if (good !== "200 ok") harm.push(`the next good call: ${good}`);
}

const call = (fields: string) => `{"name":"innocent",${fields}}`;
const request = (body: string, length = body.length) =>
  `POST /v1/execute HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n${body}`;

export const SCENES: readonly Scene[] = [
  {
    name: "bodies that are too large",
    act: (stage, harm) => expectAll(stage, harm, ["x".repeat(BODY_BYTES + 1), `"${"x".repeat(3e6)}"`], /^413 /),
  },
  {
    name: "bodies that are nested ever so deep",
    act: (stage, harm) => {
      const deep = (open: string, inner: string, close: string, n: number) => open.repeat(n) + inner + close.repeat(n);
      const bodies = [deep("[", "", "]", 4e5), deep('{"a":', "1", "}", 1.5e5), "[".repeat(9e5)];
      const args = [deep("[", "", "]", 4e5), deep('{"a":', "1", "}", 1.5e5)].map((each) =>
        call(`"arguments":{"n":${each}}`),
      );
      return expectAll(stage, harm, [...bodies, ...args], /^(?:400|413|200) /);
    },
  },
  {
    name: "keys that are names of Object.prototype",
    act: async (stage, harm) => {
      const keys = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "then", "toJSON"];
      const nested = keys.map((key) => `"${key}":{"polluted":1,"prototype":{"polluted":1}}`).join();
      const bodies = [`{${nested}}`, ...keys.map((key) => call(`"arguments":{"n":4,"${key}":{"polluted":1}}`))];
      bodies.push(...keys.map((key) => call(`"arguments":{"n":4},"options":{"${key}":{"polluted":1}}`)));
      bodies.push(...keys.map((key) => call(`"arguments":{"n":4},"options":{"limits":{"${key}":1}}`)));
      bodies.push(...keys.map((key) => `{"name":"${key}","arguments":{}}`), call(`"arguments":{"n":4},${nested}`));
      await expectAll(stage, harm, bodies, /^(?:200 ok|400 invalid_arguments|404 tool_not_found)$/);
      if ("polluted" in {} || "polluted" in Object) harm.push("the host's own prototype was changed");
    },
  },
  {
    name: "values that are of the wrong kind or out of all measure",
    act: (stage, harm) => {
      const odd = ["null", "1", '"x"', "[]", "true", "1e999", '{"then":1}'];
      const bodies = odd.flatMap((value) => [
        value,
        `{"name":${value}}`,
        call(`"arguments":{"n":4},"id":${value}`),
        call(`"arguments":${value}`),
        call(`"arguments":{"n":4},"options":${value}`),
        ...["tenant", "priority", "limits", "capabilities", "signal", "onLog"].map((key) =>
          call(`"arguments":{"n":4},"options":{"${key}":${value}}`),
        ),
      ]);
      const limits = ["1e-300", "-1", "0", "1e308", "0.5", '"9"'].flatMap((value) =>
        ["queueMs", "wallMs", "outputBytes", "logBytes", "inputBytes", "capabilityCalls", "memoryMb", "none"].map(
          (limit) => call(`"arguments":{"n":4},"options":{"limits":{"${limit}":${value}}}`),
        ),
      );
      const ids = ["", "x".repeat(257), "\\u0000", "\\n\\td\\t1", "\\ud800"].map((id) =>
        call(`"arguments":{"n":4},"id":"${id}"`),
      );
      return expectAll(stage, harm, [...bodies, ...limits, ...ids], /^(?:200|400|404|413|429|503|504) /);
    },
  },
  {
    name: "bodies of another content type, or of none that is known",
    act: async (stage, harm) => {
      for (const type of [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "x",
        "application/jsonp",
      ]) {
        await expectAll(stage, harm, [CALL], /^(?:400|415) /, type);
      }
      await expectAll(stage, harm, ["", "{", "\u0000", "\ufeff{", "NaN", CALL.slice(0, -1)], /^400 /);
    },
  },
  {
    name: "bodies that come slowly, half, or never",
    act: async (stage, harm) => {
      const half = Array.from({ length: 50 }, () => write(stage, [request(CALL, 1_000)]));
      const slow = await write(stage, request(CALL).split(""), {
        pauseMs: 2,
        waitMs: PATIENT_MS,
        until: /"success":/,
      });
      if (!slow.includes('"success":true')) harm.push(`a slow body: ${slow.slice(0, 200)}`);
      const none = await write(stage, [request("", 900_000)]);
      const said = [...(await Promise.all(half)), none].filter((text) => /" 200|"success":true/.test(text));
      if (said.length > 0) harm.push(`half a body was taken for a call: ${said[0]?.slice(0, 200)}`);
      await expectAll(stage, harm, [CALL], /^200 ok$/);
    },
  },
  {
    name: "many requests written at once to one connection",
    act: async (stage, harm) => {
      const last = request(CALL).replace("host: localhost", "host: localhost\r\nconnection: close");
      const said = await write(stage, [request(CALL).repeat(199) + last], { waitMs: PATIENT_MS });
      const answered = said.split('"success":true').length - 1;
      if (answered !== 200) harm.push(`${answered} of 200 were answered`);
    },
  },
  {
    name: "clients that go away while their calls run",
    act: async (stage, harm) => {
      const tool = await stage.put("export default () => new Promise(() => {});", { limits: { wallMs: PATIENT_MS } });
      const body = `{"name":"${tool}","arguments":{}}`;
      await Promise.all(Array.from({ length: 50 }, () => write(stage, [request(body)], { waitMs: 100 })));
      for (let tries = 0; stage.engine.stats().running > 10 && tries < 400; tries++) await delay(50);
      const { running } = stage.engine.stats();
      if (running > 10) harm.push(`${running} calls run for nobody`);
      await expectAll(stage, harm, [CALL], /^200 ok$/);
    },
  },
  {
    name: "requests that are malformed, smuggled or split",
    act: async (stage, harm) => {
      const requests = [
        "GET\r\n\r\n",
        "POST /v1/execute HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\nGET /v1/tools HTTP/1.1\r\nhost: localhost\r\n\r\n",
        "POST /v1/execute HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        `GET /${"x".repeat(100_000)} HTTP/1.1\r\nhost: localhost\r\n\r\n`,
        `GET /healthz HTTP/1.1\r\nhost: localhost\r\n${"x: y\r\n".repeat(20_000)}\r\n`,
        "GET /v1/tools/%00%ff%2e%2e%2f HTTP/1.1\r\nhost: localhost\r\n\r\n",
        "GET /v1/tools/..%2f..%2fetc%2fpasswd HTTP/1.1\r\nhost: localhost\r\n\r\n",
        "\u0000\u0001\u0002".repeat(1_000),
      ];
      for (const each of requests) {
        const said = await write(stage, [each]);
        if (TALE.test(said)) harm.push(`an answer tells of the host: ${said.slice(0, 200)}`);
        if (/"success":true|root:/.test(said)) harm.push(`${each.slice(0, 60)}: ${said.slice(0, 200)}`);
      }
      await expectAll(stage, harm, [CALL], /^200 ok$/);
    },
  },
  {
    name: "tools that fail tell no stack or path of the host",
    act: async (stage, harm) => {
      const bodies = [
        "throw new Error(new Error().stack)",
        "return host.vault.fails(1)",
        "null.x",
        "return new Error('x').stack",
      ];
      for (const body of bodies) {
        const tool = await stage.put(`export default (input, { host }) => { ${body}; };`);
        const { url } = await serve(stage);
        const sent = { method: "POST", body: `{"name":"${tool}"}`, headers: { "content-type": "application/json" } };
        const text = await (await fetch(`${url}/v1/execute`, sent)).text();
        if (/node_modules|file:|\/src\/|node:internal|\/attack\//.test(text)) harm.push(text.slice(0, 300));
      }
    },
  },
];
