import { expect } from "vitest";

/** What the tool of a package in `fixtures/packages` is given, and what has to come of it. */
export interface Job {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** May hold the matchers of `expect`, where randomness has a say. */
  readonly output: unknown;
}

const ABC = "abc".repeat(300);

export const JOBS: readonly Job[] = [
  {
    name: "acorn",
    input: { code: "function a() {} async function* b() {}\nlet x = 1n" },
    output: { functions: ["a", "b"], tokens: 18 },
  },
  {
    name: "ajv",
    input: {
      schema: {
        type: "object",
        properties: { at: { type: "string", format: "date" }, n: { type: "integer" } },
        required: ["at"],
      },
      data: { at: "soon", n: 1.5 },
    },
    output: { valid: false, errors: ["/at format", "/n type"] },
  },
  { name: "big.js", input: { amount: "10.00", parts: 3 }, output: { share: "3.33", rest: "0.01" } },
  {
    name: "bignumber.js",
    input: { n: 25 },
    output: {
      factorial: "15511210043330985984000000",
      grouped: "15'511'210'043'330'985'984'000'000",
      half: "7.755605021665492992e+24",
    },
  },
  {
    name: "cheerio",
    input: {
      html: "<body><h1>x</h1><a href='/a'> A </a><a>no</a><table><tr><td>1</td><td>2</td></tr></table><script>1</script></body>",
    },
    output: {
      links: [{ text: "A", href: "/a" }],
      cells: ["2"],
      html: '<h1 class="title">Changed</h1><a href="/a"> A </a><a>no</a><table><tr><td>1</td><td>2</td></tr></table>',
    },
  },
  {
    name: "chess.js",
    input: { moves: ["f3", "e5", "g4", "Qh4#"] },
    output: {
      fen: "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3",
      mate: true,
      pgn: '[Event "?"]\n[Site "?"]\n[Date "????.??.??"]\n[Round "?"]\n[White "?"]\n[Black "?"]\n[Result "*"]\n\n1. f3 e5 2. g4 Qh4# *',
      legal: 0,
    },
  },
  {
    name: "csv-parse",
    input: { csv: 'a,b\n1,"x, ""y"""\n2, z \n' },
    output: {
      rows: [
        { a: 1, b: 'x, "y"' },
        { a: 2, b: "z" },
      ],
    },
  },
  {
    name: "date-fns",
    input: { from: "2026-01-02", to: "2026-01-13" },
    output: { days: 7, words: "11 days", later: "Montag, 2. Februar 2026" },
  },
  {
    name: "dayjs",
    input: { at: "2026-07-01T12:00:00Z", zone: "Asia/Tokyo" },
    output: { there: "2026-07-01 21:00 +09:00", french: "mercredi 1 juillet 2026", minutes: 90 },
  },
  {
    name: "decimal.js",
    input: { digits: 30 },
    output: { root: "1.41421356237309504880168872421", sum: "0.3", power: "1.0001000050", hex: "0xff" },
  },
  {
    name: "diff",
    input: { before: "a b\nc\n", after: "a x\nc\n" },
    output: {
      patch:
        "Index: a.txt\n===================================================================\n--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n-a b\n+a x\n c\n",
      applied: true,
      words: ["=a ", "-b", "+x", "=\nc\n"],
    },
  },
  {
    name: "fast-xml-parser",
    input: { xml: '<a x="1"><b>2</b><b>t&amp;</b></a>' },
    output: { valid: true, data: { a: { b: [2, "t&"], "@_x": "1" } }, xml: '<a x="1"><b>2</b><b>t&amp;</b></a>' },
  },
  {
    name: "fflate",
    input: { files: { "a.txt": "A", "d/b.txt": "é" } },
    output: { magic: "PK", files: { "a.txt": "A", "d/b.txt": "é" } },
  },
  {
    name: "fuse.js",
    input: { books: [{ title: "Old Man's War" }, { title: "The Lock Artist" }], query: "lck artst" },
    output: { titles: ["The Lock Artist"] },
  },
  {
    name: "handlebars",
    input: { items: [{ name: "a<", new: true }, { name: "b" }] },
    output: { html: "<ul><li>A&lt;!</li><li>B</li></ul>" },
  },
  { name: "iconv-lite", input: { bytes: [207, 240, 232, 226, 229, 242] }, output: { text: "Привет" } },
  {
    name: "immer",
    input: { todos: [{ text: "a", done: false }] },
    output: {
      todos: [{ text: "a", done: false }],
      next: [
        { text: "a", done: true },
        { text: "rest", done: false },
      ],
      patches: ["replace 0/done", "add 1"],
      frozen: true,
    },
  },
  {
    name: "jmespath",
    input: {
      query: "people[?age > `30`].name | sort(@)",
      data: {
        people: [
          { name: "b", age: 31 },
          { name: "a", age: 40 },
          { name: "c", age: 2 },
        ],
      },
    },
    output: { found: ["a", "b"] },
  },
  {
    name: "jose",
    input: { subject: "ada" },
    output: { claims: { admin: true, sub: "ada", iat: 1700000000 }, bytes: 3, header: { alg: "HS256" } },
  },
  {
    name: "js-yaml",
    input: { yaml: "a: &x [1, 2.5]\nb: *x\nd: 2026-01-01\n" },
    output: {
      data: { a: [1, 2.5], b: [1, 2.5], d: "2026-01-01" },
      yaml: "a: &ref_0\n  - 1\n  - 2.5\nb: *ref_0\nd: '2026-01-01'\n",
    },
  },
  {
    name: "jsonpath-plus",
    input: {
      path: "$.books[?(@.price<10)].title",
      json: {
        books: [
          { title: "a", price: 5 },
          { title: "b", price: 15 },
        ],
      },
    },
    output: { found: ["a"], paths: ["/books/0/title"] },
  },
  {
    name: "jszip",
    input: { name: "a.txt", text: ABC },
    output: { names: ["a.txt", "empty/"], text: ABC, smaller: true },
  },
  {
    name: "lodash",
    input: {
      orders: [
        { customer: "ada", amount: 2 },
        { customer: "grace hopper", amount: 5 },
        { customer: "ada", amount: 3 },
      ],
    },
    output: {
      totals: { ada: 5, "grace hopper": 5 },
      lines: ["Ada: 5", "Grace Hopper: 5"],
      deep: { a: { b: 1, c: [2] } },
      copy: { at: [1, { x: 2 }] },
    },
  },
  {
    name: "markdown-it",
    input: { markdown: "See https://example.com (c)\n\n| a |\n|---|\n| 1 |" },
    output: {
      html: '<p>See <a href="https://example.com">https://example.com</a> ©</p>\n<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n</tr>\n</tbody>\n</table>\n',
      tokens: 19,
    },
  },
  {
    name: "marked",
    input: { markdown: "# Hi\n\n* a **b**\n" },
    output: { html: '<h1 id="hi">Hi</h1>\n<ul>\n<li>a <strong>b</strong></li>\n</ul>\n' },
  },
  {
    name: "mathjs",
    input: { formula: "sqrt(x^2 + 5 cm^2 / cm^2) * 2", scope: { x: 2 } },
    output: { value: "6", derivative: "3 * x ^ 2 + 2", determinant: 5, speed: "10 m / s" },
  },
  {
    name: "mustache",
    input: { people: [{ name: "A&B" }, { name: "C" }] },
    output: { text: "<b>A&amp;B</b> <b>C</b> " },
  },
  {
    name: "nanoid",
    input: { length: 8 },
    output: { id: expect.stringMatching(/^[\w-]{8}$/), digits: expect.stringMatching(/^\d{8}$/), distinct: 100 },
  },
  {
    name: "noble-hashes",
    input: { text: "abc" },
    output: {
      sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      hmac: "9c196e32dc0175f86f4b1cb89289d6619de6bee699e4c378e68309ed97a1a6ab",
      blake3: "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85",
      key: "3946ee16f8ffc4e4186e10755f07bc04",
    },
  },
  {
    name: "papaparse",
    input: { csv: 'a,b\n1,"x, y"\n2,true\n' },
    output: {
      data: [
        { a: 1, b: "x, y" },
        { a: 2, b: true },
      ],
      errors: [],
      delimiter: ",",
      csv: "a;b\r\n1;x, y\r\n2;true",
    },
  },
  {
    name: "qs",
    input: { query: "a[b]=1&c[]=2&c[]=3" },
    output: { data: { a: { b: "1" }, c: ["2", "3"] }, query: "a[b]=1&c[]=2&c[]=3" },
  },
  {
    name: "ramda",
    input: { text: "b a A b c" },
    output: {
      words: [
        ["a", 2],
        ["b", 2],
      ],
      lens: { a: { b: 2 } },
      equal: true,
    },
  },
  {
    name: "sanitize-html",
    input: { html: "<p style='color:red;top:0' onclick=x>a<script>b</script><a href='javascript:1'>c</a></p>" },
    output: { html: '<p style="color:red">a<a>c</a></p>' },
  },
  {
    name: "semver",
    input: { versions: ["1.2.0", "1.10.0", "2.0.0"], range: "^1.2" },
    output: { best: "1.10.0", sorted: ["1.2.0", "1.10.0", "2.0.0"], next: "1.2.3-beta.2", coerced: "3.4.0" },
  },
  { name: "slugify", input: { title: "Über Größe & Co!" }, output: { slug: "ueber-groesse-und-co" } },
  {
    name: "tweetnacl",
    input: { text: "hi" },
    output: { valid: true, forged: false, opened: "hi", hash: [21, 10, 20, 237] },
  },
  {
    name: "uuid",
    input: { name: "example.com" },
    output: { named: "cfbff0d1-9375-5685-968c-48ce8b15ae17", versions: [4, 7], same: true, distinct: 100 },
  },
  {
    name: "validator",
    input: { email: "Ada.L@gmail.com", iban: "DE89370400440532013000", card: "4111111111111111" },
    output: { email: true, iban: true, card: true, normal: "adal@gmail.com", escaped: "&lt;b&gt;", phone: true },
  },
  {
    name: "xmldom",
    input: { xml: '<list><item name="x"/></list>' },
    output: { names: ["x"], xml: '<list><item name="x"/><item name="a &amp; b"/></list>' },
  },
  {
    name: "yaml",
    input: { yaml: "# Ours\nserver:\n  port: 1 # low\n", port: 8080 },
    output: { data: { server: { port: 8080 } }, yaml: "# Ours\nserver:\n  port: 8080 # low\n" },
  },
  {
    name: "zod",
    input: { user: { name: "Ada", email: "ada@example.com", age: "36" } },
    output: {
      user: { name: "Ada", email: "ada@example.com", age: 36, roles: ["guest"], label: "Ada <ada@example.com>" },
    },
  },
];
