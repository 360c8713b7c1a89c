/** Hostile OpenAPI documents: the same for the same seed. */

type Json = unknown;
type Random = () => number;

const NAMES = [
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "prototype",
  "$ref",
  "then",
  "valueOf",
  "",
  "\0",
];
const TEXTS = [
  "*/ evil(); /*",
  "\u202Etxt.exe",
  "\u200B\uFEFF",
  "`${process.env}`",
  "\uD800",
  "]]>",
  "{secret:KEY}",
  "\r\nx: y",
];
const MIB = 1024 * 1024;
const [SEED_STEP, SEED_MULTIPLIER, UINT] = [0x6d2b79f5, 61, 2 ** 32];

/** Mulberry32. */
function randomOf(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + SEED_STEP) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), SEED_MULTIPLIER | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / UINT;
  };
}

const upTo = (random: Random, max: number): number => Math.floor(random() * max);
const oneOf = <Value>(random: Random, values: readonly Value[]): Value => values[upTo(random, values.length)] as Value;
const times = <Value>(count: number, value: (at: number) => Value): Value[] =>
  Array.from({ length: count }, (_, at) => value(at));
const record = (count: number, entry: (at: number) => readonly [string, Json]): Json =>
  Object.fromEntries(times(count, entry));

function json(schema: Json): Json {
  return { content: { "application/json": { schema } } };
}

function post(schema: Json): Json {
  return { requestBody: json(schema), responses: { "200": json(schema) } };
}

function documentOf(paths: Json, schemas: Json = {}, more: object = {}): string {
  const head = { openapi: "3.0.3", servers: [{ url: "https://crm.example" }] };
  return JSON.stringify({ ...head, paths, components: { schemas }, ...more });
}

const ref = (name: string | number): Json => ({ $ref: `#/components/schemas/${name}` });

/** How a schema may hold others. */
const HOLDERS: readonly ((inner: readonly Json[]) => Json)[] = [
  (inner) => ({ allOf: inner }),
  (inner) => ({ anyOf: inner }),
  (inner) => ({ oneOf: inner, nullable: true }),
  (inner) => ({ properties: record(inner.length, (at) => [`p${at}`, inner[at]]) }),
  ([inner]) => ({ items: inner }),
  ([inner]) => ({ additionalProperties: inner }),
  ([inner]) => ({ not: inner }),
  ([inner]) => inner,
];

/** One family for each way to be hostile. */
const FAMILIES: { readonly [name: string]: (random: Random, seed: number) => string } = {
  cycles: (random) => {
    const count = 2 + upTo(random, 400);
    const schemas = record(count, (at) => {
      return [String(at), oneOf(random, HOLDERS)(times(1 + upTo(random, 4), () => ref(upTo(random, count))))];
    });
    return documentOf(
      record(20, (at) => [`/p${at}`, { post: post(ref(at % count)) }]),
      schemas,
    );
  },
  "references that lead to references": (random) => {
    const count = 1 + upTo(random, 50);
    const components = {
      parameters: record(count, (at) => [`p${at}`, { $ref: `#/components/parameters/p${(at + 1) % count}` }]),
      responses: record(count, (at) => [`r${at}`, { $ref: `#/components/responses/r${(at + 1) % count}` }]),
    };
    const operation = {
      parameters: [{ $ref: "#/components/parameters/p0" }],
      responses: { 200: { $ref: "#/components/responses/r0" } },
    };
    return documentOf(
      { "/a": { get: operation }, "/b": { $ref: "#/paths/~1c" }, "/c": { $ref: "#/paths/~1b" } },
      {},
      { components },
    );
  },
  "external references": (random) => {
    const targets = [
      "https://evil.example/a.json",
      "file:///etc/passwd",
      "../../secrets.yaml#/A",
      "data:,{}",
      "//x",
      "#anchor",
      "#/%zz",
      "#",
    ];
    return documentOf(
      record(50, (at) => [`/p${at}`, { post: post(oneOf(random, HOLDERS)([{ $ref: oneOf(random, targets) }])) }]),
    );
  },
  "2^20 paths of references": (random) => {
    const holder = oneOf(random, HOLDERS.slice(0, 4));
    const schemas = record(21, (at) => [
      String(at),
      at === 20 ? { type: "string" } : holder([ref(at + 1), ref(at + 1)]),
    ]);
    return documentOf(
      record(50, (at) => [`/p${at}`, { post: post(ref(at % 20)) }]),
      schemas,
    );
  },
  "a billion laughs": (random) => {
    const [levels, width] = [3 + upTo(random, 30), 2 + upTo(random, 9)];
    const laughs = times(levels, (at) => `l${at + 1}: &l${at + 1} [${times(width, () => `*l${at}`).join(", ")}]`);
    return `openapi: 3.1.0\nl0: &l0 [ha]\n${laughs.join("\n")}\npaths: {}\n`;
  },
  "aliases of one large schema": (random) => {
    const large = `&large {type: object, properties: {${times(2_000, (at) => `p${at}: {type: string}`).join(", ")}}}`;
    const paths = times(10 + upTo(random, 100), (at) => {
      return `  /p${at}: {post: {requestBody: {content: {application/json: {schema: *large}}}, responses: {}}}`;
    });
    return `openapi: 3.1.0\nservers: [{url: "https://crm.example"}]\nlarge: ${large}\npaths:\n${paths.join("\n")}\n`;
  },
  "deep nesting": (random) => {
    const [open, close] = oneOf(random, [
      ['{"items":', "}"],
      ['{"allOf":[', "]}"],
      ['{"properties":{"a":', "}}"],
      ["[", "]"],
    ] as const);
    const depth = oneOf(random, [60, 300, 450, 5_000, 200_000]);
    return documentOf({ "/a": { post: post("DEEP") } }).replaceAll(
      '"DEEP"',
      open.repeat(depth) + (open === "[" ? "" : "{}") + close.repeat(depth),
    );
  },
  "deep nesting of YAML": (random) => {
    const depth = oneOf(random, [100, 1_000, 30_000]);
    return `openapi: 3.1.0\npaths:\n  /a: ${oneOf(random, ["[", "{a: ", "- ", "? "]).repeat(depth)}`;
  },
  "names of prototypes": (random) => {
    const name = (): string => oneOf(random, NAMES);
    const schema = `{"type":"object","${name()}":1,"properties":{${times(5, () => `${JSON.stringify(name())}:{"$ref":${JSON.stringify(`#/components/schemas/${name()}`)}}`).join(",")}}}`;
    const schemas = `{${NAMES.map((one) => `${JSON.stringify(one)}:${schema}`).join(",")}}`;
    const operation = {
      operationId: name(),
      parameters: times(3, () => ({ name: name(), in: oneOf(random, ["query", "header", "path"]) })),
      ...(post("S") as object),
    };
    const paths = record(20, (at) => [`/{${name()}}/${at}`, { post: operation, [name()]: operation }]);
    return documentOf(paths, "ALL").replace('"ALL"', schemas).replaceAll('"S"', schema);
  },
  "huge enums": (random) => {
    const values = times(oneOf(random, [1_001, 50_000, 300_000]), (at) => (random() < 0.001 ? { at } : `v${at}`));
    return documentOf({
      "/a": {
        post: post({ enum: values }),
        get: { parameters: [{ name: "e", in: "query", schema: { enum: values } }] },
      },
    });
  },
  "long texts": (random) => {
    const long = oneOf(random, [...TEXTS, " ", "a"]).repeat(oneOf(random, [1_000, 100_000]));
    const schema = {
      type: "object",
      description: long,
      default: long,
      pattern: long,
      enum: [long],
      properties: { [long]: { title: long } },
      $ref: `#/${long}`,
    };
    const operation = {
      ...(post(schema) as object),
      operationId: long,
      summary: long,
      description: long,
      parameters: [{ name: long, in: "query", description: long, style: long }],
    };
    return documentOf(
      { [`/${long}`]: { post: operation }, "/a": { post: operation, put: post({ ...schema, $ref: undefined }) } },
      {},
      { servers: [{ url: `https://${long}` }, { url: long }] },
    );
  },
  "hostile descriptions": (random) => {
    const said = (): string => times(20, () => oneOf(random, TEXTS)).join("");
    const properties = record(20, (at) => [`p${at}${said()}`, { description: said(), title: said(), default: said() }]);
    const operation = {
      ...(post({ type: "object", properties }) as object),
      summary: said(),
      description: said(),
      operationId: said(),
    };
    return documentOf(record(20, (at) => [`/p${at}`, { post: operation }]));
  },
  "wrong types everywhere": (random) => {
    const wrong = (): Json =>
      oneOf<Json>(random, [null, 0, -1, "", "x", [], {}, [[]], [null], { $ref: 1 }, { $ref: [] }, true, false, 1e308]);
    const spoilt = (value: Json): Json => {
      if (random() < 0.08) return wrong();
      if (Array.isArray(value)) return value.map(spoilt);
      if (typeof value !== "object" || value === null) return value;
      return Object.fromEntries(
        Object.entries(value).map(([key, one]) => [key, key === "openapi" ? one : spoilt(one)]),
      );
    };
    const schema = {
      type: "object",
      required: ["a"],
      properties: { a: { type: "string", enum: ["x"], minLength: 1 }, b: { items: ref("S"), nullable: true } },
      oneOf: [ref("S")],
      minimum: 1,
      exclusiveMinimum: true,
    };
    const parameters = [
      { name: "a", in: "query", style: "form", explode: true, schema },
      { name: "id", in: "path", required: true, schema },
      { name: "j", in: "query", content: { "application/json": { schema } } },
    ];
    const form = {
      "application/x-www-form-urlencoded": { schema, encoding: { a: { style: "form", explode: false } } },
    };
    const operations = {
      parameters,
      get: { parameters, responses: { 200: json(schema) } },
      put: { requestBody: { content: form } },
      post: post(schema),
    };
    return JSON.stringify(
      spoilt(
        JSON.parse(
          documentOf(
            record(20, (at) => [`/p${at}/{id}`, operations]),
            { S: schema },
          ),
        ),
      ),
    );
  },
  "as many characters as are read": (random) =>
    documentOf({ "/a": { get: {} } }, {}, { "x-long": oneOf(random, ["aa", "é", "\\", "ééé"]).repeat(23 * MIB) }),
  "as many small values as are read": (random) => {
    const value = oneOf<Json>(random, [0, "", [], {}, { a: 0 }]);
    const place = oneOf(random, ["properties", "x-a", "allOf", "enum", "required"]);
    const values = times(950_000, () => value);
    const held = place === "properties" ? record(200_000, (at) => [`p${at}`, value]) : values;
    return documentOf({ "/a": { post: post({ [place]: held }) } });
  },
  "many operations that reach many schemas": (random) => {
    const count = oneOf(random, [300, 900, 2_000]);
    const schemas = record(count, (at) => [
      String(at),
      { type: "object", properties: record(3, (each) => [`p${each}`, ref((at * 7 + each) % count)]) },
    ]);
    return documentOf(
      record(3_000, (at) => [`/p${at}`, { post: post(ref(at % count)) }]),
      schemas,
    );
  },
  "many schemas to compile": (random) => {
    const small = oneOf<Json>(random, [
      {},
      { type: "string", pattern: "^(a+)+$", minLength: 1 },
      { const: 1 },
      { required: ["a", "b"] },
      { properties: { a: {} } },
    ]);
    const held = oneOf(random, HOLDERS.slice(0, 4));
    return documentOf(
      record(60, (at) => [`/p${at}`, { post: post(held(times(oneOf(random, [150, 900, 1_200]), () => small))) }]),
    );
  },
  "many parameters": (random) => {
    const parameters = times(oneOf(random, [250, 5_000]), (at) => ({
      name: random() < 0.01 ? "a" : `p${at}`,
      in: oneOf(random, ["query", "header", "path", "cookie"]),
      schema: { type: "string", default: at },
    }));
    return documentOf(record(100, (at) => [`/p${at}`, { parameters, get: {}, put: { parameters } }]));
  },
  "patterns that take long": (random) => {
    const pattern = oneOf(random, [
      "(a*)*b",
      "(".repeat(900),
      "[a-z]{1,1000}{1,1000}",
      "(?<a>x)\\k<b>",
      "\\p{Script=None}",
      `(${"a|".repeat(450)}a)*`,
    ]);
    const patternProperties = record(300, (at) => [`${pattern}${at}`, { pattern }]);
    return documentOf(
      record(10, (at) => [
        `/p${at}`,
        { post: post({ type: "object", patternProperties, properties: { a: { pattern } } }) },
      ]),
    );
  },
  "media types and statuses": (random) => {
    const types = record(200, (at) => [
      oneOf(random, [
        `application/${"a+".repeat(at)}json`,
        `text/x${at}`,
        `a/b;${" ".repeat(at)}`,
        "multipart/form-data",
      ]),
      { schema: {} },
    ]);
    const responses = record(3_000, (at) => [
      oneOf(random, [`2${at % 100}`, "2XX", "default", `${at}`]),
      { $ref: "#/components/responses/r" },
    ]);
    const components = { responses: { r: { content: types } } };
    const operation = { requestBody: { content: types }, responses };
    return documentOf(
      record(20, (at) => [`/p${at}`, { post: operation }]),
      {},
      { components },
    );
  },
  "servers and paths": (random) => {
    const url = oneOf(random, [
      "javascript:alert(1)",
      "http://[::1",
      "https://u:p@x",
      "/",
      "",
      "{a}".repeat(600),
      "https://{a}",
      "file:///",
    ]);
    const path = (at: number): string =>
      oneOf(random, [
        "/../admin",
        "//evil.example",
        "/%2e%2e/a",
        "/a?b=c",
        "/a#b",
        "\\\\evil",
        "/{{{{",
        `/${"{".repeat(at)}`,
      ]);
    const paths = record(100, (at) => [`${path(at)}${at}`, { get: { servers: [{ url }] }, post: { responses: {} } }]);
    return documentOf(
      paths,
      {},
      { servers: [{ url: random() < 0.5 ? "https://crm.example" : url, variables: { a: { default: url } } }] },
    );
  },
  "YAML that is slow to read": (random) => {
    const line = oneOf(random, [
      "- \n",
      "- - - - - a\n",
      "- !a b\n",
      "- |\n a\n",
      '- "a\\n"\n',
      "#\n",
      "[]\n",
      "a: &a x\n",
      "? \n",
      "{a: 1}\n",
    ]);
    return line.repeat(oneOf(random, [20_000, 200_000]));
  },
  "text that is cut or changed": (random) => {
    const whole = documentOf(
      record(100, (at) => [`/p${at}`, { post: post(ref("S")) }]),
      { S: { type: "object" } },
    );
    const at = upTo(random, whole.length);
    return random() < 0.5
      ? whole.slice(0, at)
      : whole.slice(0, at) + oneOf(random, ["\0", "}", "{", '"', "\uD800", "]"]) + whole.slice(at + 1);
  },
  "hidden properties": (random) => {
    const target = oneOf<Json>(random, [{ readOnly: true }, {}, ref("T")]);
    const properties = record(100_000, (at) => [`p${at}`, ref("T")]);
    return documentOf(
      record(20, (at) => [`/p${at}`, { post: post(ref("S")) }]),
      { S: { properties }, T: target },
    );
  },
};

export interface HostileDocument {
  readonly family: string;
  readonly seed: number;
  readonly text: string;
}

/** As many documents, of all families in turn. */
export function* hostileDocuments(count: number): Generator<HostileDocument> {
  const families = Object.entries(FAMILIES);
  for (let seed = 0; seed < count; seed++) {
    const [family, make] = families[seed % families.length] ?? ["", () => ""];
    yield { family, seed, text: make(randomOf(seed), seed) };
  }
}
