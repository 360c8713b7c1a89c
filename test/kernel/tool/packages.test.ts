import { symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { resolvePackageOptions } from "../../../src/kernel/tool/package/options.ts";
import { stopBundler } from "../../../src/kernel/tool/bundle/bundle.ts";
import { Packages } from "../../../src/kernel/tool/packages.ts";
import { buildZip } from "./package/build-zip.ts";
import { newFolder, newTree, watchTemporary } from "./package/opening.ts";
import { refusalOf, temporaryFolder } from "./temporary.ts";

afterAll(stopBundler);

const KEPT_MAX = 100;

async function open() {
  const unpacked: string[] = [];
  const packages = new Packages(resolvePackageOptions({}), new Map(), {}, (event) => {
    if (event.step === "extract") unpacked.push(event.package);
  });
  const folder = await newFolder();
  const load = async (name: string) => {
    const file = path.join(folder, `${name}.zip`);
    await writeFile(file, buildZip([{ name: "code/function.js", data: `export default () => "${name}";` }]));
    return packages.load(file);
  };
  return { packages, load, unpacked };
}

test("only so many packages are kept, and those longest that were asked for last [C49]", async () => {
  const { packages, load, unpacked } = await open();
  const names = Array.from({ length: KEPT_MAX }, (_, at) => `p${at}`);
  for (const name of names) await load(name);
  expect(unpacked.splice(0)).toEqual(names);
  expect((await load("p0")).bundle.text).toContain('"p0"');
  expect(unpacked).toEqual([]);
  await load("another");
  await load("p0");
  await load("p1");
  expect(unpacked).toEqual(["another", "p1"]);
  await packages.close();
});

test("what is closed while a package is opened waits until nothing of it is left [C50]", async () => {
  const left = await watchTemporary();
  const folder = await newTree({ "a.zip": buildZip([{ name: "code/function.js", data: "export default () => 1;" }]) });
  const { promise: fetched, resolve } = Promise.withResolvers<void>();
  const packages = new Packages(resolvePackageOptions({}), new Map(), {}, () => resolve());
  let isOpened = false;
  const loading = packages.load(path.join(folder, "a.zip")).finally(() => (isOpened = true));
  await fetched;
  await packages.close();
  expect(isOpened).toBe(true);
  expect(await left()).toEqual([]);
  await loading;
});

test("what is closed opens nothing any more", async () => {
  const { packages, load } = await open();
  await packages.close();
  expect((await refusalOf(load("late"))).code).toBe("engine_closed");
});

test.each<[string, string, Record<string, string>]>([
  ["by its path", "../../../node_modules/secret/index.js", {}],
  ["by a link", "./link/index.js", {}],
  ["by a manifest's browser field", "./a.js", { "a.js": "", "package.json": '{ "browser": { "./a.js": "secret" } }' }],
  ["in the place of a module of Node's", "fs", { "package.json": '{ "browser": { "fs": "secret" } }' }],
  ["by a folder's main", "./sub", { "sub/package.json": '{ "main": "../../../../node_modules/secret/index.js" }' }],
])("a package has no npm package that it does not list, also not %s", async (_how, specifier, files) => {
  const text = 'export default "not yours";';
  const folder = await temporaryFolder({
    "node_modules/secret/package.json": '{ "version": "1.0.0", "main": "index.js" }',
    "node_modules/secret/index.js": text,
    "node_modules/listed/package.json": '{ "version": "1.0.0", "main": "index.js" }',
    "node_modules/listed/index.js": text,
    "tools/t/code/requirements.txt": "listed",
    "tools/t/code/function.js": `import x from ${JSON.stringify(specifier)}; export default () => x;`,
    ...Object.fromEntries(Object.entries(files).map(([name, content]) => [`tools/t/code/${name}`, content])),
  });
  await symlink(path.join(folder, "node_modules/secret"), path.join(folder, "tools/t/code/link"));
  const packages = new Packages(
    resolvePackageOptions({ modules: folder, allow: ["listed"] }),
    new Map(),
    {},
    () => undefined,
  );
  const error = await refusalOf(packages.load(path.join(folder, "tools/t")));
  expect(error.message).toMatch(/leads out of the tool's folder|which the package does not list/);
  await packages.close();
});
