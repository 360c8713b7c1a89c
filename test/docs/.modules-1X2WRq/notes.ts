import { defineTool } from "glovebox/tool";

export default defineTool({
  name: "notes",
  description: "Reads the notes and counts the calls.",
  capabilities: { kv: true, fs: { data: { mode: "ro" } }, secrets: ["API_KEY"] },
  config: { file: "notes.txt" },
  async run(_input, { host, config }) {
    const calls = Number((await host.kv.get("calls")) ?? 0) + 1;
    await host.kv.set("calls", calls);
    return { calls, text: await host.fs.readFile(`/data/${config.file}`, "utf8") };
  },
});
