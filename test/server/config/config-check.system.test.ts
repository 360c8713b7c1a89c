import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../kernel/tool/temporary.ts";
import { glovebox } from "../../cli/command.ts";

/** Twelve mistakes, each of another kind, with comments around them. */
const WRONG = `# the service
workers: many # not a number
limts: { cpuMs: 5 } # a misspelt name
port: "8080" # a number in quotes
logLevel: wran # a misspelt word
bodyBytes: -1 # out of range
nonsense: 1
host: 0.0.0.0
admin: open # not on this host
tools: [./nowhere]
keys:
  - { name: a, tenant: t, env: NO_SUCH_KEY, roles: [execute] }
secrets:
  A: { env: HOME } # bound to nothing
policy:
  # who may do what
  rules:
    - allow: { env: 5 }
    - allow: { ftech: true }
host: 0.0.0.0 # again
`;
const PLACES = [
  "2:10 config/value",
  "3:1 config/unknown-key",
  "4:7 config/value",
  "5:11 config/value",
  "6:12 config/value",
  "7:1 config/unknown-key",
  "9:8 config/meaning",
  "10:9 config/missing-file",
  "12:32 config/meaning",
  "14:6 config/value",
  "18:21 config/meaning",
  "19:23 policy/unknown-capability",
  "20:1 config/syntax",
];

interface Finding {
  readonly severity: string;
  readonly rule: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly isRepairable: boolean;
}

const findingsOf = (stdout: string): readonly Finding[] =>
  (JSON.parse(stdout) as { readonly findings: readonly Finding[] }).findings;
const check = (folder: string, ...args: string[]) => glovebox(folder, ["config", "check", ...args]);

describe("glovebox config check", () => {
  test("finds every mistake in one run, each with its line and column, as text and as JSON", async () => {
    const folder = await temporaryFolder({ "glovebox.config.yaml": WRONG });
    const [text, json] = await Promise.all([check(folder), check(folder, "--json")]);
    expect([text.code, text.stdout, json.code, json.stderr]).toEqual([2, "", 2, ""]);
    const lines = text.stderr.trimEnd().split("\n");
    const places = lines.map((line) => /^glovebox\.config\.yaml:(\d+:\d+) +(?:error|warn ) {2}(\S+)/.exec(line));
    expect(places.slice(0, -1).map((found) => found?.slice(1).join(" "))).toEqual(PLACES);
    expect(lines.at(-1)).toBe("12 errors, 1 warning; glovebox config check --fix repairs 3 of them");
    const findings = findingsOf(json.stdout);
    expect(findings.map(({ line, column, rule }) => `${line}:${column} ${rule}`)).toEqual(PLACES);
    expect(findings.filter(({ severity }) => severity === "warning").map(({ message }) => message)).toEqual([
      'there is no capability "ftech" here; is fetch meant?',
    ]);
  });

  test("finds what serve refuses, and writes nothing", async () => {
    const folder = await temporaryFolder({
      "glovebox.config.yaml":
        'host: 0.0.0.0\npublicUrl: tools.example.com\nhosts: [a.example, "http://x"]\norigins: [app]\n' +
        "audit: ./nowhere/audit.log\nassets: { path: ./a-file }\n",
      "a-file": "",
    });
    const { code, stdout } = await check(folder, "--json");
    expect(code).toBe(2);
    expect(findingsOf(stdout).map(({ line, message }) => `${line} ${message}`)).toEqual([
      expect.stringMatching(/^1 0\.0\.0\.0 is reachable from other machines, and no keys are configured/),
      "2 publicUrl is not an address that begins with https:// or http://",
      '3 hosts are names without ports, such as "tools.example.com"',
      '4 origins are written as browsers do, such as "https://app.example.com", and one by one',
      "5 the audit file cannot be opened: its folder is not there",
      "6 assets.path is a file, not a folder",
    ]);
    expect(await readdir(folder)).toEqual(["a-file", "glovebox.config.yaml"]);
  });

  test("repairs what follows from the text, and leaves all else in the file as it is", async () => {
    const folder = await temporaryFolder({ "glovebox.config.yaml": WRONG });
    const before = findingsOf((await check(folder, "--json")).stdout);
    const fixed = await check(folder, "--fix", "--json");
    expect(fixed.stderr).toBe("glovebox.config.yaml: repaired 3\n");
    const left = findingsOf(fixed.stdout).map(({ line, rule }) => `${line} ${rule}`);
    expect(left).toEqual(before.filter(({ isRepairable }) => !isRepairable).map(({ line, rule }) => `${line} ${rule}`));
    expect(await readFile(join(folder, "glovebox.config.yaml"), "utf8")).toBe(
      WRONG.replace("limts", "limits").replace('"8080"', "8080").replace("wran", "warn"),
    );
  });

  test("repairs JSON as JSON, and gives no setting a name that it has already", async () => {
    const text = '{\n  "limts": { "cpuMs": "50" },\n  "wrokers": 1,\n  "workers": 2\n}\n';
    const folder = await temporaryFolder({ "glovebox.config.json": text });
    expect((await check(folder, "--fix")).stderr).toContain("repaired 1\n");
    const fixed = await readFile(join(folder, "glovebox.config.json"), "utf8");
    expect(fixed).toBe(text.replace("limts", "limits"));
    // The value was not looked at before its setting had its name.
    expect((await check(folder, "--fix")).stderr).toContain("repaired 1\n");
    expect(JSON.parse(await readFile(join(folder, "glovebox.config.json"), "utf8"))).toMatchObject({
      limits: { cpuMs: 50 },
      wrokers: 1,
    });
  });

  test("loads the tools: those that are broken are mistakes, and a rule for none of them is a warning", async () => {
    const right = 'export const spec = { name: "weather", description: "Weather." }; export default () => 1;';
    const folder = await temporaryFolder({
      "glovebox.config.yaml":
        'tools: [./tools]\npolicy:\n  rules:\n    - tools: ["wether*"]\n      allow: { kv: true }\n',
      "tools/one.js": "export default () => 1;",
      "tools/two.js": "export default (",
      "tools/weather.js": right,
    });
    const broken = findingsOf((await check(folder, "--json")).stdout);
    expect(broken.map(({ line, rule }) => `${line} ${rule}`)).toEqual(["1 tools/load", "1 tools/load"]);
    await writeFile(join(folder, "tools/one.js"), right.replace("weather", "one"));
    await writeFile(join(folder, "tools/two.js"), right.replace("weather", "two"));
    const { code, stderr } = await check(folder);
    expect([code, stderr]).toEqual([
      0,
      'glovebox.config.yaml:4:15 warn   policy/matches-nothing  no tool is named "wether*"; there is "weather"\n0 errors, 1 warning\n',
    ]);
  });

  test("warns of a limit that a tool declares above maxLimits", async () => {
    const folder = await temporaryFolder({
      "glovebox.config.yaml": "tools: [./tools]\nmaxLimits: { cpuMs: 100 }\n",
      "tools/slow.js":
        'export const spec = { name: "slow", description: "Slow.", limits: { cpuMs: 500 } };\nexport default () => 1;',
    });
    const { code, stderr } = await check(folder);
    const said = 'tools/limits  "slow" declares cpuMs 500 and has 100: raise maxLimits.cpuMs to allow more';
    expect([code, stderr]).toEqual([0, expect.stringContaining(said)]);
  });

  test("writes SARIF, and annotations for GitHub in which no text of the file adds a command", async () => {
    const text = 'policy: { rules: [{ allow: { "a%\\n::error::b": true } }] }\nlogLevel: loud\n';
    const folder = await temporaryFolder({ "c:d.yaml": text, "empty/keep": "" });
    const [sarif, github] = await Promise.all([
      check(folder, "--config", "c:d.yaml", "--format", "sarif"),
      check(folder, "--config", "c:d.yaml", "--format", "github"),
    ]);
    const { version, runs } = JSON.parse(sarif.stdout) as { version: string; runs: { results: object[] }[] };
    expect(version).toBe("2.1.0");
    expect(runs[0]?.results).toMatchObject([
      {
        ruleId: "policy/unknown-capability",
        level: "warning",
        locations: [{ physicalLocation: { region: { startLine: 1 } } }],
      },
      {
        ruleId: "config/value",
        level: "error",
        locations: [{ physicalLocation: { region: { startLine: 2, startColumn: 11 } } }],
      },
    ]);
    const lines = github.stdout.trimEnd().split("\n");
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(
      /^::warning file=c%3Ad\.yaml,line=1,col=\d+,title=policy\/unknown-capability::there is no capability/,
    );
    expect(lines[0]).not.toContain("\n::error::b");
    expect(lines[1]).toMatch(/^::error file=c%3Ad\.yaml,line=2,col=11,title=config\/value::/);
  });

  test("shows no secret, and repairs none", async () => {
    const text =
      'secrets: { A: { valeu: "hush-hush-1", origins: ["https://a.example"] } }\nkeys: [{ name: a, tenant: t, roles: [exeute] }]\n';
    const folder = await temporaryFolder({ "glovebox.config.yaml": text });
    const [json, github] = await Promise.all([check(folder, "--json", "--fix"), check(folder, "--format", "github")]);
    expect(json.stdout + json.stderr + github.stdout).not.toMatch(/hush/);
    expect(await readFile(join(folder, "glovebox.config.yaml"), "utf8")).toBe(text);
  });
});
