import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** A public suite that comes in a folder of its own, not as an npm package. */
export interface Suite {
  /** The environment variable that names the folder. */
  readonly variable: string;
  /** The state that the outcomes in this repository are of. */
  readonly pinned: string;
  /** How to get that state, in one line. */
  readonly get: string;
  /** A path inside the folder: a folder without it is not the suite. */
  readonly marker: string;
  /** The folder of `fixtures/suites` with the sample. Default: that of the suite's name. */
  readonly sample?: string;
}

export const SUITES = {
  cpython: {
    variable: "GLOVEBOX_SUITE_CPYTHON",
    pinned: "libpython3.14-testsuite and libpython3.14-stdlib 3.14.10-1 of Debian",
    get: "apt-get download libpython3.14-testsuite libpython3.14-stdlib, dpkg-deb -x each to DIR, and name DIR/usr/lib/python3.14",
    marker: "test/support/__init__.py",
  },
  h1spec: {
    variable: "GLOVEBOX_SUITE_H1SPEC",
    pinned: "f0a5650a20c575fbea0f7179a3a9cfa50f20ba6e",
    get: "git clone https://github.com/uNetworking/h1spec",
    marker: "http_test.ts",
  },
  node: {
    variable: "GLOVEBOX_SUITE_NODE",
    pinned: "nodejs 24.21.0 of Debian",
    get: "apt-get source nodejs=24.21.0+dfsg+~cs24.13.4-1, and name its folder test",
    marker: "parallel/test-path.js",
  },
  test262: {
    variable: "GLOVEBOX_SUITE_TEST262",
    pinned: "be13516fb6441b950ba8a3df97eb34062c186972",
    get: "git clone https://github.com/tc39/test262",
    marker: "harness/assert.js",
  },
  wasi: {
    variable: "GLOVEBOX_SUITE_WASI",
    pinned: "9f80ca35444cfd9e63100725615140a346652e6c",
    get: "git clone --branch prod/testsuite-base https://github.com/WebAssembly/wasi-testsuite",
    marker: "tests/rust/testsuite/wasm32-wasip1/manifest.json",
  },
  wpt: {
    variable: "GLOVEBOX_SUITE_WPT",
    pinned: "the areas in test/fixtures/wpt of Node.js 22.22.2; fetch/api and xhr/formdata of May 2024",
    get: "copy test/fixtures/wpt of Node.js 22.22.2's source, and into it fetch/api and xhr/formdata of https://github.com/web-platform-tests/wpt",
    marker: "resources/testharness.js",
  },
  "wpt-webcrypto": {
    variable: "GLOVEBOX_SUITE_WPT_WEBCRYPTO",
    pinned: "test/fixtures/wpt/WebCryptoAPI of Node.js 24.21.0",
    get: "apt-get source nodejs=24.21.0+dfsg+~cs24.13.4-1, and name its folder test/fixtures/wpt",
    marker: "WebCryptoAPI/sign_verify/mldsa.tentative.https.any.js",
    sample: "wpt",
  },
} as const satisfies Readonly<Record<string, Suite>>;

export type SuiteName = keyof typeof SUITES;

/** Where the cases of a suite are: the whole suite if its variable names a folder, else the sample in `fixtures/suites`. */
export interface SuiteFolder {
  readonly folder: string;
  readonly isWhole: boolean;
}

export function suiteFolder(name: SuiteName): SuiteFolder {
  const { variable, marker, pinned, get, sample = name }: Suite = SUITES[name];
  const folder = process.env[variable];
  if (folder === undefined) {
    return { folder: fileURLToPath(new URL(`../../fixtures/suites/${sample}`, import.meta.url)), isWhole: false };
  }
  if (!existsSync(join(folder, marker))) {
    throw new Error(`${variable}=${folder} has no ${marker}. To get the suite, at ${pinned}: ${get}`);
  }
  return { folder, isWhole: true };
}
