import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";
import { newTree } from "../kernel/tool/package/opening.ts";
import { wheelFiles } from "./build-wheel.ts";

const REAL = process.env["GLOVEBOX_PYTHON_HTTP_WHEELS"];
const HOW =
  "of GLOVEBOX_PYTHON_HTTP_WHEELS, a folder with wheels of requests, urllib3, httpx, httpcore, anyio, h11, idna, certifi, charset-normalizer and typing-extensions,";
const PYTHON_MS = 120_000;

/**
 * Packages of our own with the seams that the real ones have: urllib3 asks `urllib3.contrib.emscripten` for its
 * connections, httpx the module `httpx._transports.default` for its transports.
 */
const SHAPES = wheelFiles(
  {
    name: "urllib3",
    version: "2.9",
    files: {
      "urllib3/__init__.py":
        "__version__ = '2.9'\nfrom .contrib.emscripten import inject_into_urllib3\ninject_into_urllib3()\nfrom .connectionpool import get\n",
      "urllib3/contrib/__init__.py": "",
      "urllib3/connection.py":
        "import http.client\nclass HTTPConnection(http.client.HTTPConnection):\n    proxy = None\n    @property\n    def _dns_host(self):\n        return self.host\n    def connect(self):\n        self.sock = self._new_conn()\nclass HTTPSConnection(HTTPConnection):\n    pass\n",
      "urllib3/connectionpool.py":
        "class HTTPConnectionPool:\n    ConnectionCls = None\nclass HTTPSConnectionPool(HTTPConnectionPool):\n    pass\ndef get(host, port, path):\n    connection = HTTPConnectionPool.ConnectionCls(host, port)\n    connection.request('GET', path)\n    return connection.getresponse().read().decode()\n",
    },
  },
  { name: "requests", version: "2.99", files: { "requests/__init__.py": "import urllib3\n__version__ = '2.99'\n" } },
);

let server: Server;
let origin: string;

function answer(request: IncomingMessage, response: ServerResponse): void {
  const body: Buffer[] = [];
  request
    .on("data", (chunk: Buffer) => body.push(chunk))
    .on("end", () => {
      const { url, method, headers } = request;
      if (url === "/slow") return;
      if (url === "/redirect") return void response.writeHead(302, { location: "/landed" }).end();
      if (url === "/away") return void response.writeHead(302, { location: "https://evil.example/" }).end();
      if (url === "/404") return void response.writeHead(404).end();
      if (url === "/big") return void response.end("x".repeat(100_000));
      if (url === "/gzip") return void response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("zipped"));
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ url, method, key: headers["x-key"], bytes: Buffer.concat(body).length }));
    });
}

beforeAll(async () => {
  server = createServer(answer);
  await once(server.listen(0, "127.0.0.1"), "listening");
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

interface Opened extends AsyncDisposable {
  /** What comes of an expression; `B` is the server's address. */
  readonly run: (expression: string) => Promise<unknown>;
  readonly codeOf: (expression: string) => Promise<string | undefined>;
}

async function open(wheels: string, requirements: string, imports: string): Promise<Opened> {
  const fetch = { origins: [origin], methods: ["GET", "HEAD", "POST"] };
  const engine: Engine = await createEngine({
    workers: 1,
    executor: "threads",
    limits: { cpuMs: 20_000, wallMs: 60_000 },
    packages: { wheels },
    policy: { rules: [{ tools: ["*"], allow: { fetch: { ...fetch, origins: [], privateOrigins: [origin] } } }] },
  });
  const source = `${imports}
spec = {"name": "client", "description": "Asks."}

def raised(work):
    try:
        return work()
    except Exception as error:
        return type(error).__name__

def execute(data):
    return eval(data["expression"], {**globals(), "B": data["origin"]})
`;
  const folder = await temporaryTree({ "code/function.py": source, "code/requirements.txt": requirements });
  await engine.register({ path: folder, capabilities: { fetch } });
  const call = async (expression: string) => engine.execute({ name: "client", arguments: { expression, origin } });
  return {
    run: async (expression) => {
      const { output, error } = await call(expression);
      expect(error).toBeNull();
      return output;
    },
    codeOf: async (expression) => (await call(expression)).error?.code,
    [Symbol.asyncDispose]: async () => {
      await engine.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** A folder that is there until it is removed, as hooks need it. */
async function temporaryTree(files: Readonly<Record<string, string | Buffer>>): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "glovebox-http-"));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), content);
  }
  return folder;
}

test(
  "a wheel of urllib3 is used in place of the stand-in, over the connections that it asks for",
  async () => {
    const wheels = await newTree(SHAPES);
    await using opened = await open(wheels, "requests\nurllib3\n", "import json, requests, urllib3");
    expect(await opened.run("[requests.__version__, urllib3.__version__]")).toEqual(["2.99", "2.9"]);
    const [host, port] = [`"127.0.0.1"`, origin.split(":").at(-1)];
    expect(await opened.run(`json.loads(urllib3.get(${host}, ${port}, "/a"))["url"]`)).toBe("/a");
    expect(await opened.codeOf('urllib3.get("evil.example", 80, "/")')).toBe("capability_denied");
  },
  PYTHON_MS,
);

test(
  "requests among the wheels without urllib3 is refused: the stand-in is no part of it",
  async () => {
    const wheels = await newTree(SHAPES);
    await rm(path.join(wheels, "urllib3-2.9-py3-none-any.whl"));
    await expect(open(wheels, "requests\nurllib3\n", "")).rejects.toThrow('asks for "urllib3", which is not there');
  },
  PYTHON_MS,
);

describe.skipIf(REAL === undefined)(`the packages ${HOW} are used unchanged`, () => {
  const IMPORTS = "import asyncio, httpx, requests, urllib3";
  let opened: Opened;

  beforeAll(async () => {
    opened = await open(REAL ?? "", "requests\nhttpx\nurllib3\n", IMPORTS);
  }, PYTHON_MS);

  afterAll(() => opened[Symbol.asyncDispose]());

  test("they are the real ones", async () => {
    const files = await opened.run("[one.__file__ for one in (requests, urllib3, httpx)]");
    expect(files).toEqual(["requests", "urllib3", "httpx"].map((name) => `/tool-packages/${name}/__init__.py`));
  });

  test.each<[string, unknown]>([
    [`requests.get(B + "/a", params={"q": "x y"}, headers={"x-key": "k"}).json()["key"]`, "k"],
    [`requests.get(B + "/a", params={"q": "x y"}).json()["url"]`, "/a?q=x+y"],
    [`requests.post(B + "/b", json={"a": 1}).json()["bytes"]`, 8],
    [`requests.post(B + "/b", data=iter([b"one", b"two"])).json()["bytes"]`, 6],
    [`requests.get(B + "/redirect").json()["url"]`, "/landed"],
    [`requests.get(B + "/gzip").text`, "zipped"],
    [`sum(len(one) for one in requests.get(B + "/big", stream=True).iter_content(40000))`, 100_000],
    [`raised(lambda: requests.get(B + "/404").raise_for_status())`, "HTTPError"],
    [`raised(lambda: requests.get(B + "/slow", timeout=0.2))`, "ReadTimeout"],
    [`raised(lambda: requests.get("https://evil.example/"))`, "ConnectionError"],
    [`urllib3.request("GET", B + "/c", fields={"z": "1"}).json()["url"]`, "/c?z=1"],
    [`urllib3.PoolManager().request("GET", B + "/gzip").data.decode()`, "zipped"],
    [`httpx.get(B + "/d").json()["url"]`, "/d"],
    [`httpx.post(B + "/e", json={"a": 1}).json()["bytes"]`, 7],
    [`httpx.get(B + "/redirect", follow_redirects=True).json()["url"]`, "/landed"],
    [`httpx.get(B + "/gzip").text`, "zipped"],
    [`raised(lambda: httpx.get(B + "/404").raise_for_status())`, "HTTPStatusError"],
    [`raised(lambda: httpx.get(B + "/slow", timeout=0.2))`, "ReadTimeout"],
    [`raised(lambda: httpx.get("https://evil.example/"))`, "ConnectError"],
  ])("%s", async (expression, expected) => {
    expect(await opened.run(expression)).toEqual(expected);
  });

  test("an asynchronous client of httpx waits for several answers at once", async () => {
    const wheels = REAL ?? "";
    const later = `${IMPORTS}
async def later(origin):
    async with httpx.AsyncClient() as client:
        return [one.json()["url"] for one in await asyncio.gather(client.get(origin + "/1"), client.get(origin + "/2"))]
`;
    await using other = await open(wheels, "httpx\n", later.replace(IMPORTS, "import asyncio, httpx"));
    expect(await other.run("asyncio.get_event_loop().run_until_complete(later(B))")).toEqual(["/1", "/2"]);
  });

  test.each([
    `requests.get("https://evil.example/")`,
    `requests.get(B + "/away")`,
    `urllib3.PoolManager(retries=False).request("GET", "http://10.0.0.1/")`,
    `httpx.get("https://evil.example/")`,
    `httpx.get(B + "/away", follow_redirects=True)`,
  ])("no origin outside of the grant is asked, and the call ends with that: %s", async (expression) => {
    expect(await opened.codeOf(expression)).toBe("capability_denied");
  });
});
