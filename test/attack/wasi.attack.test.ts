import { attack } from "./harness.ts";
import { SCENES } from "./scenes/wasi.ts";

attack("commands of WebAssembly", { scenes: { file: "wasi", names: SCENES.map(({ name }) => name) } });
