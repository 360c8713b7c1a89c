import { attack } from "./harness.ts";
import { SCENES } from "./scenes/retries.ts";

attack("runs that are run again", { scenes: { file: "retries", names: SCENES.map(({ name }) => name) } });
