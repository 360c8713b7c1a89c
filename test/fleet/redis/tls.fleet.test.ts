import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort, type RedisServer, startRedis } from "../../redis-server.ts";
import { linesOf, WATCHER } from "./watch.ts";

const run = promisify(execFile);
const LONG_MS = 120_000;

/** A server with TLS whose certificate an authority signed that nobody else knows. */
let redis: RedisServer;
let tlsPort: number;
let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "glovebox-tls-"));
  await writeFile(join(dir, "names"), "subjectAltName=IP:127.0.0.1\n");
  const openssl = (...args: readonly string[]): Promise<unknown> => run("openssl", args, { cwd: dir });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  await openssl(
    "req",
    "-x509",
    ...key,
    "-keyout",
    "ca.key",
    "-out",
    "ca.pem",
    "-subj",
    "/CN=An authority",
    "-days",
    "2",
  );
  await openssl("req", ...key, "-keyout", "redis.key", "-out", "redis.csr", "-subj", "/CN=redis");
  const signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names"];
  await openssl("x509", "-req", "-in", "redis.csr", ...signed, "-out", "redis.pem");
  tlsPort = await freePort();
  const files = ["--tls-cert-file", join(dir, "redis.pem"), "--tls-key-file", join(dir, "redis.key")];
  const authority = ["--tls-ca-cert-file", join(dir, "ca.pem"), "--tls-auth-clients", "no"];
  redis = await startRedis({ args: ["--tls-port", `${tlsPort}`, ...files, ...authority] });
});

afterAll(async () => {
  await redis[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

describe("a connection with TLS", () => {
  test("trusts an authority that NODE_EXTRA_CA_CERTS names", async () => {
    expect(await firstLine(`rediss://127.0.0.1:${tlsPort}`, join(dir, "ca.pem"))).toBe("ready");
  });

  test("trusts nobody whom it does not know, and says so", async () => {
    expect(await firstLine(`rediss://127.0.0.1:${tlsPort}`)).toMatch(/^lost [A-Z_]*(?:SELF_SIGNED|UNABLE_TO)[A-Z_]*$/);
  });

  test("holds a certificate to the host that it asked for", async () => {
    const line = await firstLine(`rediss://localhost:${tlsPort}`, join(dir, "ca.pem"));
    expect(line).toBe("lost ERR_TLS_CERT_ALTNAME_INVALID");
  });

  test("says nothing in the clear to a server without TLS", async () => {
    expect(await firstLine(`rediss://127.0.0.1:${redis.port}`)).toMatch(/^lost E[A-Z_]+$/);
  });
});

/** A program of its own, because Node.js reads whom it trusts when it starts. */
async function firstLine(url: string, authority = ""): Promise<string | undefined> {
  const env = { PATH: process.env["PATH"], ...(authority === "" ? {} : { NODE_EXTRA_CA_CERTS: authority }) };
  const child: ChildProcess = spawn(process.execPath, ["--no-warnings", WATCHER, url], {
    env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  try {
    const lines = linesOf(child);
    await expect.poll(() => lines.length, { timeout: LONG_MS }).toBeGreaterThan(0);
    return lines[0];
  } finally {
    child.kill("SIGKILL");
  }
}
