/** The last engine that closes ends the build processes: here all engines of a test process use the same ones. */
import { builds } from "../src/kernel/tool/build/builds.ts";

process.once("exit", builds.stop.bind(builds));
builds.stop = () => undefined;
