import { attack } from "./harness.ts";
import { SCENES } from "./scenes/http.ts";

attack("requests over HTTP", { scenes: { file: "http", names: SCENES.map(({ name }) => name) } });
