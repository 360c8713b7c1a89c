import { Agent, fetch as bareFetch } from "undici";
import { openEngine } from "../engines.ts";
import { startServer } from "../server-process.ts";
import { AT_ONCE, IN_A_ROW, type PathFamily, toolSubject } from "./path.ts";

const BODY_BYTES = 1_024;
const REQUESTS = 100;

/** Requests of a tool for 1 KiB of text, against undici's fetch in the host; the server has a process of its own. */
export const fetches: PathFamily = async (opened) => {
  const { url } = opened.use(await startServer("kilobyte"));
  const agent = opened.adopt(new Agent({ connections: AT_ONCE }), (each) => each.destroy());
  const policy = { rules: [{ allow: { fetch: { origins: [], privateOrigins: [url], maxRequests: REQUESTS } } }] };
  const engine = opened.use(await openEngine("process", { policy }));
  const granted = { fetch: { origins: [url], maxRequests: REQUESTS } };
  const bare = async (): Promise<number> => {
    const response = await bareFetch(`${url}/`, { dispatcher: agent });
    return (await response.text()).length / BODY_BYTES;
  };
  const one = `(await (await fetch("${url}/")).text()).length / ${BODY_BYTES}`;
  const inRow = `async ({ index }) => {
    let sum = index;
    for (let nth = 0; nth < ${IN_A_ROW}; nth++) sum += ${one};
    return { sum };
  }`;
  const atOnce = `async ({ index }) => {
    const all = await Promise.all(Array.from({ length: ${AT_ONCE} }, async () => ${one}));
    return { sum: all.reduce((sum, each) => sum + each, index) };
  }`;
  return [
    {
      name: "fetch of 1 KiB, one after the other",
      operations: IN_A_ROW,
      concurrency: null,
      expected: (index) => index + IN_A_ROW,
      subjects: [
        await toolSubject(engine, "process", "row", inRow, granted),
        {
          name: "undici's fetch",
          run: async (index) => {
            let sum = index;
            for (let nth = 0; nth < IN_A_ROW; nth++) sum += await bare();
            return sum;
          },
        },
      ],
    },
    {
      name: `fetch of 1 KiB, ${AT_ONCE} at once`,
      operations: AT_ONCE,
      concurrency: null,
      expected: (index) => index + AT_ONCE,
      subjects: [
        await toolSubject(engine, "process", "together", atOnce, granted),
        {
          name: "undici's fetch",
          run: async (index) => {
            const all = await Promise.all(Array.from({ length: AT_ONCE }, bare));
            return all.reduce((sum, each) => sum + each, index);
          },
        },
      ],
    },
  ];
};
