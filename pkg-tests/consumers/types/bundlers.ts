// The plugins, in the bundlers' own configurations, checked and never run.
import type { BuildOptions } from "esbuild";
import esbuild from "lodger/esbuild";
import rollup from "lodger/rollup";
import type { RollupOptions } from "rollup";
import type { UserConfig } from "vite";
import type { UserConfig as UserConfig7 } from "vite7";

export const inEsbuild: BuildOptions = { plugins: [esbuild()] };
export const inRollup: RollupOptions = { plugins: [rollup()] };
export const inVite: UserConfig = { plugins: [rollup()] };
export const inVite7: UserConfig7 = { plugins: [rollup()] };
// @ts-expect-error there are no options
esbuild({ worker: false });
// @ts-expect-error there are no options
rollup({ worker: false });
