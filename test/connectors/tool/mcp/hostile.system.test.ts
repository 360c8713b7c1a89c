import { describe, expect, test } from "vitest";
import { MCP_LIMITS } from "../../../../src/connectors/tool/mcp/limits.ts";
import { threadMs, usualMs } from "../../../turns.ts";
import { processesWith } from "../../../processes.ts";
import { failureOf, noJail, opened, program, resultOf, textOf } from "./opened.ts";

const MIB = 1024 * 1024;
/** Limits that are reached soon. */
const LOW = { backoffMinMs: 60_000, messageBytes: 4 * MIB, discardedBytes: 16 * MIB, inflowBytes: 64 * MIB };

const hostile = (mode: string, ...rest: readonly string[]) => program("hostile", { args: [mode, ...rest] });

describe.skipIf(noJail !== undefined)(`a hostile MCP server (${noJail ?? "in bubblewrap"})`, () => {
  test("that answers with a line that never ends loses its connection", async () => {
    const { session, call } = opened(hostile("endless-line"), { limits: LOW });
    await session.list();
    const before = threadMs();
    expect(failureOf(await call("t"))).toEqual({
      message: `it sent a message of more than ${20 * MIB} bytes`,
      isTransient: true,
      isSent: true,
    });
    expect(session.state.kind).toBe("down");
    expect(usualMs(threadMs() - before)).toBeLessThan(500);
  });

  test("that answers with too much fails that call, and goes on", async () => {
    const { session, call } = opened(hostile("large-answer", "6"), { limits: LOW });
    expect(failureOf(await call("t"))).toMatchObject({
      message: expect.stringMatching(/an answer of 6291\d+ bytes, the limit is 4194304 bytes/) as string,
      isTransient: false,
    });
    expect(session.state.kind).toBe("up");
    const smaller = opened(hostile("large-answer", "2"));
    expect(failureOf(await smaller.call("t", {}, { maxBytes: MIB })).message).toMatch(
      /^its answer has 2097\d+ bytes, the limit is 1048576 bytes$/,
    );
    expect(textOf(await smaller.call("t"))).toHaveLength(2 * MIB);
  });

  test("that sends notifications without end loses its connection", async () => {
    const { session, call } = opened(hostile("flood"), { limits: { ...LOW, inflowMessages: 2_000 } });
    expect(failureOf(await call("t")).message).toMatch(/^it sent more than 2000 messages within 10000 ms$/);
    expect(session.state.kind).toBe("down");
  });

  test("that answers with nonsense fails that call at its deadline, and answers the next", async () => {
    const { session, call } = opened(hostile("nonsense"));
    await session.list();
    expect(failureOf(await call("t", {}, { timeoutMs: 500 })).message).toMatch(/^it did not answer within/);
    expect(session.state.kind).toBe("up");
  });

  test("that answers with something that is no result of a tool fails that call", async () => {
    const { call } = opened(hostile("wrong-result"));
    expect(failureOf(await call("t"))).toMatchObject({
      message: "its answer is not a result of a tool",
      isTransient: false,
    });
  });

  test("that nests its answer deeply fails that call, and never ends the host", async () => {
    const { session, call } = opened(hostile("deep"), { limits: LOW });
    const answer = await call("t");
    expect(failureOf(answer).message).toMatch(/more than 500000 values/);
    await session.close();
  });

  test("that answers with an error has its words cut, on one line", async () => {
    const { call } = opened(hostile("error", "x\u001b[31m"));
    const { message } = failureOf(await call("t"));
    expect(message).toMatch(/^it answered with error -32000: bad x \[31m x+…$/);
    expect(message.length).toBeLessThan(600);
  });

  test("whose cursors are a cycle gives the tools of each page once, with a finding", async () => {
    const listed = await opened(hostile("cycle")).session.list();
    expect(listed).toMatchObject({ list: { findings: [{ tool: null, reason: "its list comes back to a page" }] } });
    expect(
      listed.kind === "listed" && listed.list.tools.map((json) => (JSON.parse(json) as { name: string }).name),
    ).toEqual(["t0", "t1", "t2"]);
  });

  test("whose list has no end gives the tools of as many pages as are read", async () => {
    const listed = await opened(hostile("endless")).session.list();
    expect(listed).toMatchObject({ list: { findings: [{ tool: null, reason: "its list has more than 100 pages" }] } });
    expect(listed.kind === "listed" && listed.list.tools.length).toBe(MCP_LIMITS.listPages);
  });

  test("that has more tools than are taken gives the first ones", async () => {
    const listed = await opened(hostile("many")).session.list();
    expect(listed).toMatchObject({
      list: { findings: [{ tool: null, reason: "its list has more than 1000 tools; the rest is left out" }] },
    });
    expect(listed.kind === "listed" && listed.list.tools.length).toBe(MCP_LIMITS.listTools);
  });

  test("gives only the tools that can be read, and a reason for each of the others", async () => {
    const { session, tools } = opened(hostile("names"));
    const names = (await tools()).map(({ name }) => name);
    expect(names.slice(0, 2)).toEqual(["fine", "twice"]);
    expect(names).toContain("\u0000\u001b[31m*/ alert(1) //");
    expect(names).toEqual(expect.arrayContaining(["__proto__", "schemaless", "odd", "typed"]));
    const listed = await session.list();
    expect(
      listed.kind === "listed" && listed.list.findings.map(({ tool, reason }) => `${tool?.slice(0, 10)}: ${reason}`),
    ).toEqual([
      "undefined: a tool has no name",
      "undefined: a tool has no name",
      "xxxxxxxxxx: its name is longer than 256 characters",
      "twice: two tools have this name; the first of them is taken",
      "undefined: a tool is not an object",
      "undefined: a tool is not an object",
      "schemaless: its input schema is not an object, so that arguments are not checked",
      "odd: its input schema is not an object, so that arguments are not checked",
      "typed: its output schema is not an object, so that answers are not checked",
      "later: it answers with a task of the server, which calls do not wait for",
      "large: it is longer than 65536 bytes",
    ]);
  });

  test("whose list has more faults than are told is left there", async () => {
    const listed = await opened(hostile("alike")).session.list();
    const { tools = [], findings = [] } = listed.kind === "listed" ? listed.list : {};
    expect(tools).toHaveLength(1);
    expect(findings).toHaveLength(MCP_LIMITS.listTools + 2);
    expect(findings.at(-1)?.reason).toBe("more than 1000 of its tools have a fault; the rest is left out");
  });

  test("whose list is no list has none", async () => {
    const listed = await opened(hostile("no-list")).session.list();
    expect(listed).toMatchObject({
      kind: "failed",
      failure: { message: "its list of tools is not one", isTransient: false },
    });
  });

  test("that says all the time that its list has changed is heard a few times a second at most", async () => {
    const { session, changes } = opened(hostile("changing"), { limits: { inflowMessages: 1_000_000 } });
    const startMs = performance.now();
    await session.list();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    // On a busy machine more time passes.
    expect((changes() * 1_000) / (performance.now() - startMs)).toBeLessThan(7);
  });

  test("calls itself what it likes, in a name that is cut and has no invisible characters", async () => {
    const { session } = opened(hostile("ok"));
    await session.list();
    expect(session.state).toMatchObject({ peer: { name: "hostile", version: `${"x".repeat(100)}…` } });
  });

  test("that starts processes without end is ended with all of them", async () => {
    const { session, call } = opened(hostile("bomb"), { limits: LOW });
    expect(failureOf(await call("t", {}, { timeoutMs: 60_000 })).message).toMatch(
      /it had more than 256 processes|it ended with/,
    );
    await session.close();
    expect(await processesWith("setInterval(() => {}, 1000)")).toBe(0);
  });

  test("that takes memory without end is ended", async () => {
    const { session, call } = opened(hostile("memory"), { limits: { ...LOW, memoryBytes: 256 * MIB } });
    expect(failureOf(await call("t")).message).toBe(`it was ended: it used more than ${256 * MIB} bytes of memory`);
    expect(session.state.kind).toBe("down");
  });

  test("that never says anything to a call, nor to a sign of life, loses its connection", async () => {
    const { session, call } = opened(hostile("silent"), { limits: { ...LOW, aliveMs: 200 } });
    expect(failureOf(await call("t", {}, { timeoutMs: 200 })).message).toMatch(/it did not answer|it was not ready/);
    if (session.state.kind === "connecting") await session.list();
    await call("t", {}, { timeoutMs: 200 });
    await expect.poll(() => session.state.kind, { timeout: 60_000 }).toBe("down");
    expect(session.state).toMatchObject({
      failure: { message: expect.stringMatching(/^it gives no sign of life/) as string },
    });
  });

  test("that never begins fails its calls at their deadlines, and is given up", async () => {
    const { session, call } = opened(hostile("slow-start"), { limits: { ...LOW, connectMs: 3_000 } });
    expect(failureOf(await call("t", {}, { timeoutMs: 300 }))).toEqual({
      message: "it was not ready within 300 ms",
      isTransient: true,
      isSent: false,
    });
    await expect.poll(() => session.state.kind, { timeout: 60_000 }).toBe("down");
  });

  test("whose answer would take much memory fails that call before it is parsed, and goes on", async () => {
    const { session, call } = opened(hostile("expands"), { limits: LOW });
    expect(failureOf(await call("t"))).toMatchObject({
      message: expect.stringContaining("an answer of more than 500000 values") as string,
    });
    expect(session.state.kind).toBe("up");
  });
});

describe.skipIf(noJail !== undefined)("a secret of a server's environment", () => {
  const VALUE = "s3cr3t-value-of-the-server";
  const secrets = { T: { value: VALUE, bind: [{ origin: "https://example.com" }] } };
  const env = { TOKEN: "glovebox.secret.T." };
  const shown = JSON.stringify;

  test("reaches the server, and comes back from it as its placeholder, in every place of an answer", async () => {
    const { session, call } = opened(program("hostile", { args: ["secret"], env }), { secrets });
    const result = resultOf(await call("t"));
    expect(result).toMatchObject({ structuredContent: { "glovebox.secret.T.": "glovebox.secret.T." } });
    // Of the form in Base64 its last characters stay, which depend on what follows.
    expect(shown(result)).toMatch(/"text":"glovebox\.secret\.T\. glovebox\.secret\.T\.[\w=]{0,4}"/);
    expect(shown([session.state])).not.toContain(VALUE);
  });

  test("is in no error and in no words of a server that ends", async () => {
    const first = opened(program("hostile", { args: ["secret", "error"], env }), { secrets });
    expect(failureOf(await first.call("t")).message).toBe("it answered with error 1: token glovebox.secret.T.");
    const second = opened(program("hostile", { args: ["secret", "exit"], env }), {
      secrets,
      limits: { backoffMinMs: 60_000 },
    });
    const answer = await second.call("t");
    expect(answer).toMatchObject({ failure: { detail: expect.stringContaining("glovebox.secret.T.") as string } });
    expect(shown([answer, second.states])).not.toContain(VALUE);
  });

  test("is not cut in half where a text is cut", async () => {
    const { session, call } = opened(program("hostile", { args: ["secret", "cut"], env }), { secrets });
    const listed = await session.list();
    const answer = await call("t");
    expect(listed).toMatchObject({
      kind: "listed",
      list: { findings: [{ reason: expect.stringContaining("its name is longer") as string }] },
    });
    expect(shown([listed, answer])).not.toContain(VALUE.slice(0, 4));
  });

  test("that the engine does not have keeps the server from starting", async () => {
    const { session } = opened(program("hostile", { args: ["secret"], env }), { limits: { backoffMinMs: 60_000 } });
    expect(await session.list()).toMatchObject({ failure: { message: 'the engine has no secret "T"', isSent: false } });
  });
});
