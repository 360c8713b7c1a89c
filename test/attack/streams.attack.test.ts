import { attack } from "./harness.ts";
import { SCENES } from "./scenes/streams.ts";

attack("lines that are streamed", { scenes: { file: "streams", names: SCENES.map(({ name }) => name) } });
