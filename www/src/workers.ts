// From which addresses this page makes workers, where its policy wants that said.
//
// A page has one policy that is asked for addresses of scripts (`default`), so everybody who needs a worker says here what lets it pass.
// Where nobody does, there is none.

interface Policies {
  createPolicy(name: "default", rules: { createScriptURL(url: string): string | null }): unknown;
}

const beginnings: string[] = [];

/** Addresses that begin so pass from now on. */
export function letPass(beginning: string): void {
  if (beginnings.push(beginning) > 1) return;
  const { trustedTypes } = globalThis as { trustedTypes?: Policies };
  trustedTypes?.createPolicy("default", { createScriptURL: (url) => (beginnings.some((beginning) => url.startsWith(beginning)) ? url : null) });
}
