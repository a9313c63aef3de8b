/** `lodger/rollup`: for `plugins` of Rollup, and of Vite. */

/**
 * A plugin by which Rollup emits the module, its parts and the worker. The output is of modules (`format: "es"`). In Vite it says
 * what an older Vite has to know: `optimizeDeps: { exclude: ["lodger"] }, worker: { format: "es" }`.
 */
export default function lodger(): {
  name: "lodger";
  config(): { optimizeDeps: { exclude: string[] }; worker: { format: "es" } };
  transform(this: any, code: string, id: string): Promise<{ code: string; map: null } | null>;
};
