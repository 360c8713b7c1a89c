/**
 * Floods a server with bad requests: `PORT SEED COUNT CONCURRENCY`. Says in the end, as JSON, what it was answered. With
 * count 0 it goes on until its input ends.
 */
import { connect } from "node:net";
import { drawBadRequest, type BadRequest, REFUSED } from "../bad-requests.ts";
import { Dice } from "../dice.ts";

const DEADLINE_MS = 10_000;
/** No stack, no path of the host, nothing of the framework. */
const TALE = /\bat .*:\d+:\d+|node_modules|\/src\/|FST_|HPE_|fastify|file:\/\//i;

const [port = 0, seed = 0, count = 0, concurrency = 1] = process.argv.slice(2).map(Number);
const dice = new Dice(seed);
const statuses = new Map<string, number>();
/** The first of each kind. */
const wrong = new Map<string, string>();
let sent = 0;
let unanswered = 0;
let isStopped = false;

/** Writes a request, ends this side, and answers all that the server said until it closed the connection. */
function ask({ parts }: BadRequest): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    let said = "";
    let isLate = false;
    socket.setEncoding("latin1").on("data", (text: string) => (said += text));
    socket.on("error", () => undefined);
    socket.setTimeout(DEADLINE_MS, () => {
      isLate = true;
      socket.destroy();
    });
    socket.once("close", () => resolve(isLate ? null : said));
    for (const [at, part] of parts.entries()) {
      if (at === 0) socket.write(part);
      else setImmediate(() => socket.write(part));
    }
    setImmediate(() => socket.end());
  });
}

/** Defects in a server's output: heads and bodies of answers, one after the other. */
function judge(said: string): string | null {
  let rest = said;
  while (rest !== "") {
    const [, status = "", headers = ""] = /^HTTP\/1\.1 (\d{3}) [^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n/.exec(rest) ?? [];
    if (status === "") return "a malformed answer";
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (!REFUSED.test(status)) return `status ${status}`;
    const headLength = rest.indexOf("\r\n\r\n") + 4;
    const length = Number(/content-length: (\d+)/i.exec(headers)?.[1] ?? Number.NaN);
    const body = Buffer.from(rest.slice(headLength, headLength + length), "latin1").toString();
    if (!isRefusal(body)) return `no refusal of ours: ${body}`;
    rest = rest.slice(headLength + length);
  }
  return TALE.test(said) ? "a tale of the host" : null;
}

function isRefusal(body: string): boolean {
  try {
    const { success, error } = JSON.parse(body) as { readonly success?: boolean; readonly error?: unknown };
    return typeof error === "string" || (success === false && typeof error === "object" && error !== null);
  } catch {
    return false;
  }
}

async function flood(): Promise<void> {
  while (!isStopped && (count === 0 || sent < count)) {
    sent++;
    const request = drawBadRequest(dice);
    const said = await ask(request);
    if (said === "") unanswered++;
    const harm = said === null ? "the connection stayed open" : judge(said);
    if (harm !== null && !wrong.has(request.kind)) wrong.set(request.kind, harm.slice(0, 300));
  }
}

process.stdin.once("end", () => (isStopped = true)).resume();
await Promise.all(Array.from({ length: concurrency }, flood));
process.stdout.write(
  `${JSON.stringify({ sent, unanswered, statuses: Object.fromEntries(statuses), wrong: Object.fromEntries(wrong) })}\n`,
);
process.exit();
