import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine, type ToolResult } from "../../src/glovebox/index.ts";
import { serve, type TestServer } from "../kernel/broker/capabilities/fetch/server.ts";

const KEY = "a value that nobody may see";
const PLACES = ["header:authorization", "header:x-key", "basic:password", "body"] as const;
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
/** The interpreter's image is made with its first use. */
const FIRST_MS = 300_000;

/** What the server answers, by path; anything else is told what was sent. */
const ANSWERS: ReadonlyMap<
  string,
  readonly [status: number, headers: Record<string, string | string[]>, body: string]
> = new Map([
  ["/busy", [503, {}, ""]],
  ["/missing", [404, {}, "nothing here"]],
  ["/latin", [200, { "content-type": "text/plain; charset=iso-8859-1" }, "\u00e4\nb"]],
  ["/odd", [200, { "content-type": "text/plain; charset=no-such-charset" }, "odd"]],
  ["/rot13", [200, { "content-type": "text/plain; charset=rot13" }, "plain"]],
  ["/html", [200, { "content-type": "application/json" }, "<html>"]],
  ["/huge", [200, {}, "x".repeat(200_000)]],
  ["/badly", [200, { "content-encoding": "gzip" }, "this is no gzip"]],
  ["/lines", [200, { "content-type": "text/plain; charset=utf-8" }, "one\ntwo\r\nthree"]],
  [
    "/login",
    [302, { location: "/echo?from=login", "set-cookie": ["sid=1; Path=/; HttpOnly", "gone=; Max-Age=0"] }, ""],
  ],
  ["/loop", [302, { location: "/loop" }, ""]],
  ["/moved", [307, { location: "/echo" }, ""]],
  ["/named", [302, { location: "/echo?k=glovebox.secret.OTHER." }, ""]],
]);

let server: TestServer;
let other: TestServer & { readonly name: string };
let engine: Engine;
let tools = 0;

beforeAll(async () => {
  const waiting: (() => void)[] = [];
  server = await serve((request, response, body) => {
    const { pathname } = new URL(request.url ?? "", "http://server");
    if (pathname === "/never") return;
    if (pathname === "/together") {
      // Nobody is answered before all three have asked.
      waiting.push(() => response.end("together"));
      if (waiting.length === 3) for (const answer of waiting.splice(0)) answer();
      return;
    }
    if (pathname === "/away") {
      response.writeHead(302, { location: `${other.name}/echo` }).end();
      return;
    }
    const [status, headers, text] = ANSWERS.get(pathname) ?? [
      200,
      { "content-type": "application/json" },
      JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body }),
    ];
    response.writeHead(status, headers);
    response.end(Buffer.from(text, pathname === "/latin" ? "latin1" : "utf8"));
  });
  const second = await serve((request, response) => response.end(JSON.stringify(request.headers)));
  other = Object.assign(second, { name: `http://other.test:${second.port}` });
  const privateOrigins = [server.origin, other.name];
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    policy: { rules: [{ allow: { fetch: { origins: [], privateOrigins, maxRequests: 200 }, secrets: ["KEY"] } }] },
    secrets: { KEY: { value: KEY, bind: PLACES.map((place) => ({ origin: server.origin, in: place })) } },
    fetch: { lookup: async () => ["127.0.0.1"] },
  });
});

afterAll(async () => {
  await engine.close();
  await server[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});

interface RunOptions {
  readonly args?: Record<string, unknown>;
  readonly maxBytes?: number;
}

/** Runs the body of a tool's function, in which `origin` is the server's. */
async function run(body: string, { args = {}, maxBytes = 5_000_000 }: RunOptions = {}): Promise<ToolResult> {
  const name = `tool${++tools}`;
  const lines = body.split("\n").map((line) => `    ${line}`);
  const source = ["async def execute(input):", "    import asyncio", "    origin = input['origin']", ...lines].join(
    "\n",
  );
  const fetch = { origins: [server.origin, other.name], methods: METHODS, maxBytes, maxRequests: 200 };
  await engine.register({
    name,
    description: "Asks.",
    runtime: "python",
    source,
    capabilities: { fetch, secrets: ["KEY"] },
    limits: { cpuMs: 30_000, wallMs: 60_000 },
  });
  return engine.execute({ name, arguments: { origin: server.origin, ...args } });
}

async function outputOf(body: string, options?: RunOptions): Promise<unknown> {
  const { output, error } = await run(body, options);
  expect(error).toBeNull();
  return output;
}

/** The names of the exceptions that statements raise, with a base class that each is to have. */
function raised(statements: readonly string[], imports: string, options?: RunOptions): Promise<unknown> {
  const lines = statements.flatMap((statement) => [
    "try:",
    `    ${statement}`,
    "    found.append('none')",
    "except Exception as error:",
    "    found.append(type(error).__name__)",
  ]);
  return outputOf([`import ${imports}`, "found = []", ...lines, "return found"].join("\n"), options);
}

describe("requests in Python", { timeout: FIRST_MS }, () => {
  test("sends what it is given, and reads what comes", async () => {
    const body = `
import requests
session = requests.Session()
session.headers["X-Session"] = "s"
session.params = {"common": "c"}
seen = [
    session.get(origin + "/echo", params={"q": "a b&\u00e4", "list": [1, 2], "none": None}, headers={"x-own": "o"}),
    session.post(origin + "/echo", json={"a": [1, None]}),
    session.put(origin + "/echo", data={"a": "1 2", "b": ["x", "y"]}),
    session.patch(origin + "/echo", data=b"\\x01raw", auth=("ann", "pw")),
    session.delete(origin + "/echo", cookies={"c": "1"}),
]
head = session.head(origin + "/echo")
return {"seen": [one.json() for one in seen], "head": [head.status_code, head.text], "ok": all(seen),
        "type": seen[0].headers["CONTENT-TYPE"], "reason": seen[0].reason, "url": seen[0].url}`;
    const { seen, ...rest } = (await outputOf(body)) as { readonly seen: readonly Record<string, unknown>[] };
    expect(rest).toEqual({
      head: [200, ""],
      ok: true,
      type: "application/json",
      reason: "OK",
      url: `${server.origin}/echo?common=c&q=a+b%26%C3%A4&list=1&list=2`,
    });
    expect(seen).toMatchObject([
      { method: "GET", headers: { "x-session": "s", "x-own": "o" } },
      { method: "POST", body: '{"a": [1, null]}', headers: { "content-type": "application/json" } },
      { method: "PUT", body: "a=1+2&b=x&b=y", headers: { "content-type": "application/x-www-form-urlencoded" } },
      { method: "PATCH", body: "\u0001raw", headers: { authorization: `Basic ${btoa("ann:pw")}` } },
      { method: "DELETE", headers: { cookie: "c=1" } },
    ]);
  });

  test("sends files and fields in parts", async () => {
    const body = `
import io, requests
file = io.BytesIO(b"content")
answer = requests.post(origin + "/echo", data={"field": "f"}, files={"one": ("a\\"b.txt", file, "text/plain"), "two": b"2"})
return answer.json()`;
    const sent = (await outputOf(body)) as { readonly headers: Record<string, string>; readonly body: string };
    const boundary = /^multipart\/form-data; boundary=(\w+)$/.exec(sent.headers["content-type"] ?? "")?.[1];
    expect(sent.body.split(`--${boundary}`)).toEqual([
      "",
      '\r\nContent-Disposition: form-data; name="field"\r\n\r\nf\r\n',
      '\r\nContent-Disposition: form-data; name="one"; filename="a%22b.txt"\r\nContent-Type: text/plain\r\n\r\ncontent\r\n',
      '\r\nContent-Disposition: form-data; name="two"; filename="two"\r\n\r\n2\r\n',
      "--\r\n",
    ]);
  });

  test("keeps cookies in a session, and tells of redirects", async () => {
    const body = `
import requests
session = requests.Session()
answer = session.get(origin + "/login")
again = requests.post(origin + "/moved", data="kept")
plain = requests.get(origin + "/login", allow_redirects=False)
return [answer.url, [one.status_code for one in answer.history], session.cookies.get_dict(),
        answer.json()["headers"]["cookie"], again.json()["method"], again.json()["body"], plain.status_code, plain.is_redirect]`;
    expect(await outputOf(body)).toEqual([
      `${server.origin}/echo?from=login`,
      [302],
      { sid: "1" },
      "sid=1",
      "POST",
      "kept",
      302,
      true,
    ]);
  });

  test("takes what says who asks to no other origin", async () => {
    const body = `
import requests
headers = {"authorization": "Bearer glovebox.secret.KEY.", "x-key": "glovebox.secret.KEY.", "x-plain": "p"}
return requests.get(origin + "/away", headers=headers, cookies={"c": "1"}).json()`;
    const seen = await outputOf(body);
    expect(seen).toMatchObject({ "x-plain": "p" });
    for (const name of ["authorization", "x-key", "cookie"]) expect(seen).not.toHaveProperty(name);
  });

  test("sends secrets that the tool never sees, also with a user's name, and none that a server names", async () => {
    const before = server.seen.length;
    const body = `
import requests
from glovebox import host
session = requests.Session()
one = session.get(origin + "/echo", headers={"x-key": host.secrets.KEY})
two = session.post(origin + "/echo", auth=("ann", host.secrets.KEY), json={"key": host.secrets.KEY})
three = session.get(origin + "/named")
return [one.json()["headers"]["x-key"], two.json()["body"], three.json()["url"]]`;
    expect(await outputOf(body)).toEqual([
      "glovebox.secret.KEY.",
      '{"key": "glovebox.secret.KEY."}',
      "/echo?k=glovebox%2Esecret%2EOTHER.",
    ]);
    const seen = server.seen.slice(before);
    expect(seen[0]?.headers["x-key"]).toBe(KEY);
    expect(seen[1]?.headers["authorization"]).toBe(`Basic ${btoa(`ann:${KEY}`)}`);
    expect(seen[1]?.body).toBe(JSON.stringify({ key: KEY }).replace(":", ": "));
  });

  test("reads a body in pieces, by lines, and in its charset", async () => {
    const body = `
import requests
with requests.get(origin + "/lines", stream=True) as answer:
    lines = list(answer.iter_lines(decode_unicode=True))
sizes = [len(piece) for piece in requests.get(origin + "/lines", stream=True).iter_content(4)]
texts = [requests.get(origin + path).text for path in ("/latin", "/odd", "/rot13")]
return [lines, sizes, texts, requests.get(origin + "/latin").encoding]`;
    expect(await outputOf(body)).toEqual([
      ["one", "two", "three"],
      [4, 4, 4, 2],
      ["\u00e4\nb", "odd", "plain"],
      "iso-8859-1",
    ]);
  });

  test("makes requests again as its adapter says", async () => {
    const before = server.seen.length;
    const body = `
import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry
session = requests.Session()
session.mount("http://", HTTPAdapter(max_retries=Retry(total=2, status_forcelist=[503], backoff_factor=0.001)))
try:
    session.get(origin + "/busy")
except requests.exceptions.RetryError as error:
    return [session.post(origin + "/busy").status_code, str(error)]`;
    expect(await outputOf(body)).toEqual([503, "too many 503 error responses"]);
    expect(server.seen.slice(before).map(({ method }) => method)).toEqual(["GET", "GET", "GET", "POST"]);
  });

  test("raises its own exceptions, whatever a server does", async () => {
    const get = (path: string, more = ""): string => `requests.get(origin + "${path}"${more})`;
    const statements = [
      `${get("/missing")}.raise_for_status()`,
      `${get("/html")}.json()`,
      get("/loop"),
      get("/never", ", timeout=0.1"),
      get("/never", ", timeout=(0.05, 0.05)"),
      get("/badly"),
      'requests.get("http://no.example/")',
      'requests.get("no.example")',
      'requests.get("ftp://no.example")',
      'requests.get("http://")',
      'requests.get(origin, headers={"a": "b\\r\\nc: d"})',
    ];
    expect(await raised(statements, "requests")).toEqual([
      "HTTPError",
      "JSONDecodeError",
      "TooManyRedirects",
      "ReadTimeout",
      "ReadTimeout",
      "ContentDecodingError",
      "ConnectionError",
      "MissingSchema",
      "InvalidSchema",
      "InvalidURL",
      "InvalidHeader",
    ]);
    expect(await raised([get("/huge")], "requests", { maxBytes: 100_000 })).toEqual(["ConnectionError"]);
  });

  test("ends a call that catches nothing as the capability would, and else with the exception's own name", async () => {
    const codeOf = async (body: string, options?: RunOptions) => {
      const { error } = await run(`import requests\n${body}`, options);
      return [error?.code, error?.type];
    };
    expect(await codeOf('requests.get("http://no.example/")')).toEqual(["capability_denied", "CapabilityDeniedError"]);
    expect(await codeOf('requests.get(origin + "/huge")', { maxBytes: 100_000 })).toEqual([
      "capability_limit",
      "CapabilityLimitError",
    ]);
    expect(await codeOf('requests.get(origin + "/missing").raise_for_status()')).toEqual(["tool_error", "HTTPError"]);
    expect(await codeOf('requests.get(origin + "/never", timeout=0.1)')).toEqual(["tool_error", "ReadTimeout"]);
    expect(await codeOf("requests.get(\"http://no.example/\")\nraise ValueError('another')")).toEqual([
      "capability_denied",
      "CapabilityDeniedError",
    ]);
  });

  test("sends parameters, forms and headers as they are meant, however odd they are", async () => {
    const text = fc.string({ unit: "grapheme", maxLength: 20 });
    const pairs = fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), text, { maxKeys: 4, noNullPrototype: true });
    const value = fc.stringMatching(/^[!-~](?:[ -~]{0,20}[!-~])?$/).filter((one) => !one.includes("glovebox.secret"));
    const cases = fc.sample(fc.record({ params: pairs, form: pairs, header: value }), { numRuns: 40, seed: 7 });
    const body = `
import requests
answers = []
for case in input["cases"]:
    answer = requests.post(origin + "/echo", params=case["params"], data=case["form"], headers={"x-odd": case["header"]})
    answers.append(answer.json())
return answers`;
    const answers = (await outputOf(body, { args: { cases } })) as readonly {
      readonly url: string;
      readonly body: string;
      readonly headers: Record<string, string>;
    }[];
    const told = answers.map(({ url, body, headers }) => ({
      params: Object.fromEntries(new URL(url, server.origin).searchParams),
      form: Object.fromEntries(new URLSearchParams(body)),
      header: headers["x-odd"],
    }));
    expect(told).toEqual(cases);
  });
});

describe("urllib in Python", { timeout: FIRST_MS }, () => {
  test("opens URLs, and reads them as files", async () => {
    const body = `
import json, urllib.parse, urllib.request
with urllib.request.urlopen(origin + "/echo?a=1", timeout=10) as answer:
    first = [answer.status, answer.getheader("Content-Type"), answer.headers.get_content_charset("none"), json.load(answer)["url"]]
request = urllib.request.Request(origin + "/echo", data=urllib.parse.urlencode({"a": "b c"}).encode(), headers={"X-Own": "o"})
sent = json.loads(urllib.request.urlopen(request).read())
with urllib.request.urlopen(origin + "/lines") as answer:
    lines = list(answer)
path, headers = urllib.request.urlretrieve(origin + "/lines")
opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
opener.addheaders = [("User-Agent", "mine")]
kept = json.loads(opener.open(origin + "/login").read())["headers"]
return [first, sent["method"], sent["body"], sent["headers"]["x-own"], [len(line) for line in lines], len(open(path).read()),
        kept["cookie"], kept["user-agent"]]`;
    expect(await outputOf(body)).toEqual([
      [200, "application/json", "none", "/echo?a=1"],
      "POST",
      "a=b+c",
      "o",
      [4, 5, 5],
      13,
      "sid=1",
      "mine",
    ]);
  });

  test("raises what the standard library does", async () => {
    const open = (url: string, more = ""): string => `urllib.request.urlopen(${url}${more})`;
    const statements = [
      open('origin + "/missing"'),
      open('origin + "/loop"'),
      open('origin + "/never"', ", timeout=0.1"),
      open('"http://no.example/"'),
      open('"file:///etc/passwd"'),
      open('"nothing"'),
    ];
    const names = ["HTTPError", "HTTPError", "TimeoutError", "URLError", "URLError", "ValueError"];
    expect(await raised(statements, "urllib.request")).toEqual(names);
    const { error } = await run('import urllib.request\nurllib.request.urlopen("http://no.example/")');
    expect(error?.code).toBe("capability_denied");
  });

  test("takes what says who asks to no other origin, and names no secrets that only a server names", async () => {
    const body = `
import json, urllib.request
headers = {"Authorization": "Bearer glovebox.secret.KEY.", "X-Key": "glovebox.secret.KEY.", "X-Plain": "p"}
away = json.load(urllib.request.urlopen(urllib.request.Request(origin + "/away", headers=headers)))
named = json.load(urllib.request.urlopen(origin + "/named"))
return [away, named["url"]]`;
    const [seen, url] = (await outputOf(body)) as [object, string];
    expect(seen).toMatchObject({ "x-plain": "p" });
    for (const name of ["authorization", "x-key"]) expect(seen).not.toHaveProperty(name);
    expect(url).not.toContain("glovebox.secret");
  });

  test("has the handlers of the standard library, also a tool's own", async () => {
    const body = `
import json, pathlib, urllib.error, urllib.request
class Stays(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args):
        return None
found = []
try:
    urllib.request.build_opener(Stays).open(origin + "/login")
except urllib.error.HTTPError as error:
    found.append([error.code, error.headers["Location"], error.headers.get_all("Set-Cookie")[0]])
try:
    urllib.request.urlopen(origin + "/missing")
except urllib.error.HTTPError as error:
    found.append([error.code, error.reason, error.read().decode(), error.url == origin + "/missing"])
proxied = urllib.request.build_opener(urllib.request.ProxyHandler({"http": "http://proxy.example:3128"}))
found.append(json.load(proxied.open(origin + "/echo"))["url"])
pathlib.Path("/tmp/a").write_text("text")
found += [urllib.request.urlopen(url).read().decode() for url in ("file:///tmp/a", "data:,a%20b")]
return found`;
    expect(await outputOf(body)).toEqual([
      [302, "/echo?from=login", "sid=1; Path=/; HttpOnly"],
      [404, "Not Found", "nothing here", true],
      "/echo",
      "text",
      "a b",
    ]);
  });

  test("sends requests one after the other by one connection, with bodies in pieces", async () => {
    const body = `
import http.client, json
connection = http.client.HTTPConnection(origin.removeprefix("http://"), timeout=10)
found = []
for sent in (b"bytes", iter([b"in ", b"pieces"]), None):
    connection.request("POST", "/echo", sent)
    found.append(json.load(connection.getresponse())["body"])
connection.close()
tunnel = http.client.HTTPConnection("proxy.example", 3128)
host, _, port = origin.removeprefix("http://").partition(":")
tunnel.set_tunnel(host, int(port))
tunnel.request("GET", "/echo?t")
return [*found, json.load(tunnel.getresponse())["url"]]`;
    expect(await outputOf(body)).toEqual(["bytes", "in pieces", "", "/echo?t"]);
  });

  test("has a client of HTTP below it", async () => {
    const body = `
import http.client, json
connection = http.client.HTTPConnection(origin.removeprefix("http://"), timeout=10)
connection.request("PUT", "/echo", "text", {"X-Own": "o"})
answer = connection.getresponse()
sent = json.loads(answer.read())
return [answer.status, answer.reason, sent["method"], sent["body"], sent["headers"]["x-own"]]`;
    expect(await outputOf(body)).toEqual([200, "OK", "PUT", "text", "o"]);
  });
});

describe("clients of asyncio in Python", { timeout: FIRST_MS }, () => {
  test("have their requests under way side by side", async () => {
    const body = `
import aiohttp, httpx
async with httpx.AsyncClient(base_url=origin, timeout=30) as client:
    first = await asyncio.gather(*(client.get("/together") for _ in range(3)))
async with aiohttp.ClientSession() as session:
    async def get():
        async with session.get(origin + "/together") as answer:
            return await answer.text()
    second = await asyncio.gather(*(get() for _ in range(3)))
return [one.text for one in first] + list(second)`;
    expect(await outputOf(body)).toEqual(Array(6).fill("together"));
  });

  test("send and read as their documents say", async () => {
    const body = `
import aiohttp, httpx
one = httpx.get(origin + "/echo", params={"q": "a b", "yes": True}, headers={"X-Own": "o"})
async with httpx.AsyncClient() as client:
    two = await client.post(origin + "/echo", json={"a": 1})
    three = await client.get(origin + "/login", follow_redirects=True)
    async with client.stream("GET", origin + "/lines") as answer:
        lines = [line async for line in answer.aiter_lines()]
async with aiohttp.ClientSession() as session:
    async with session.post(origin + "/echo", data={"f": "1 2"}, params={"p": "q"}) as answer:
        four = [answer.status, await answer.json()]
return [one.json()["url"], one.url.host, two.json()["body"], str(three.url), len(three.history), lines,
        four[0], four[1]["url"], four[1]["body"]]`;
    expect(await outputOf(body)).toEqual([
      "/echo?q=a+b&yes=true",
      "127.0.0.1",
      '{"a":1}',
      `${server.origin}/echo?from=login`,
      1,
      ["one", "two", "three"],
      200,
      "/echo?p=q",
      "f=1+2",
    ]);
  });

  test("raise their own exceptions, also where nobody waits for a request any more", async () => {
    const statements = [
      'httpx.get(origin + "/missing").raise_for_status()',
      'httpx.get(origin + "/never", timeout=0.1)',
      'httpx.get("http://no.example/")',
      'httpx.get(origin + "/loop", follow_redirects=True)',
      'await asyncio.wait_for(httpx.AsyncClient().get(origin + "/never", timeout=None), 0.1)',
      'await aiohttp.ClientSession().get("http://no.example/")',
      'await aiohttp.ClientSession(raise_for_status=True).get(origin + "/missing")',
    ];
    expect(await raised(statements, "aiohttp, httpx")).toEqual([
      "HTTPStatusError",
      "ReadTimeout",
      "ConnectError",
      "TooManyRedirects",
      "TimeoutError",
      "ClientConnectorError",
      "ClientResponseError",
    ]);
  });
});
