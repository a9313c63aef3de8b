/** `lodger/esbuild`: for `plugins` of esbuild. */

/**
 * A plugin by which esbuild emits the module, its parts and the worker, named and placed as by `assetNames` and `publicPath`. Pages
 * load it with `format: "esm"` or `"iife"`.
 */
export default function lodger(): { name: "lodger"; setup(build: any): void };
