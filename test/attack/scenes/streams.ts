import { setTimeout as delay } from "node:timers/promises";
import { PATIENT_MS } from "../plan.ts";
import { settled, type Stage, wordsOf } from "../stage.ts";
import type { Scene } from "./scene.ts";

interface Line {
  readonly level: string;
  readonly message: string;
}

/** Streams the lines of a call, and counts what comes, and what comes after its end. */
async function stream(stage: Stage, body: string, onLine: (line: Line) => void = () => undefined) {
  const source = `export default async (input, context) => { const { host } = context; ${body} };`;
  const name = await stage.put(source, { limits: { cpuMs: 1_000, wallMs: PATIENT_MS } });
  let lines = 0;
  let length = 0;
  let late = 0;
  let isOver = false;
  const onLog = (line: Line) => {
    lines++;
    length += line.message.length;
    if (isOver) late++;
    onLine(line);
  };
  const result = await settled(stage.engine.execute({ name, arguments: {} }, { onLog }));
  isOver = true;
  await delay(100);
  return { result, lines, length, late };
}

const LOG_BYTES = 64 * 1_024;
const LINES_MAX = 1_000;

/** Lines go to a listener while the call runs: the tool writes them, and the listener is the embedder's. */
export const SCENES: readonly Scene[] = [
  {
    name: "a stream of lines without end",
    act: async (stage, harm) => {
      const { lines, length, late } = await stream(stage, "for (let i = 0; ; i++) console.log('x'.repeat(i % 100));");
      if (lines > LINES_MAX || length > LOG_BYTES || late > 0)
        harm.push(`${lines} lines, ${length} long, ${late} late`);
    },
  },
  {
    name: "a stream of giant lines",
    act: async (stage, harm) => {
      const seen = await stream(stage, "for (let i = 0; i < 50; i++) console.log('x'.repeat(1e7)); return 1;");
      if (seen.length > LOG_BYTES || seen.late > 0) harm.push(`${seen.lines} lines, ${seen.length} long`);
    },
  },
  {
    name: "a stream to a listener that throws",
    act: async (stage, harm) => {
      const { result, lines } = await stream(stage, "for (let i = 0; i < 100; i++) console.log(i); return 1;", () => {
        throw new Error("the listener's own");
      });
      if (result?.output !== 1 || lines !== 100) harm.push(`${lines} lines, ${wordsOf(result)}`);
    },
  },
  {
    name: "a stream to a listener that calls and cancels from within",
    act: async (stage, harm) => {
      const inner: Promise<unknown>[] = [];
      const { result } = await stream(stage, "for (let i = 0; i < 50; i++) console.log(i); return 1;", () => {
        inner.push(stage.engine.execute({ name: "innocent", arguments: { n: 3 } }));
      });
      if (result?.output !== 1) harm.push(wordsOf(result));
      const answers = (await Promise.all(inner)) as { success: boolean }[];
      if (!answers.every(({ success }) => success)) harm.push("a call from within a listener failed");
    },
  },
  {
    name: "a stream of a call that has ended and goes on",
    act: async (stage, harm) => {
      const body =
        "setInterval(() => console.log('late'), 1); host.vault.slow(1).then(() => console.log('late')); return 1;";
      const { result, late } = await stream(stage, body);
      if (result?.output !== 1 || late > 0) harm.push(`${late} late lines, ${wordsOf(result)}`);
    },
  },
  {
    name: "lines that look like messages, levels or other calls' lines",
    act: async (stage, harm) => {
      const seen: Line[] = [];
      const forged = ["\n", "d\t1\t1", "\u2028", "\ud800", "\u0000", "\t\t", '"]'];
      const body = `for (const text of ${JSON.stringify(forged)}) { console.log(text); console.error('%s %j %o %c', text, text, text, text); } return 'said';`;
      const { result } = await stream(stage, body, (line) => void seen.push(line));
      if (result?.output !== "said") harm.push(wordsOf(result));
      if (seen.length !== 2 * forged.length) harm.push(`${seen.length} lines`);
      if (!seen.every(({ level }) => level === "log" || level === "error")) harm.push("an unknown level");
    },
  },
];
