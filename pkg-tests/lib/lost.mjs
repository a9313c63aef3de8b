// Workspaces whose storage is lost, in pages of any browser.

/** A page uses a workspace and closes it, when its marker is there. */
export async function used(page, { name = "shop", host = "page" } = {}) {
  await page.evaluate(async ([name, host]) => {
    const ws = await lodger.openWorkspace(name, { host });
    const before = await T.markers();
    await ws.pages.create({ title: "Old" });
    while (!(await T.markers()).some((marker) => !before.includes(marker))) await T.turn();
    await ws.close();
  }, [name, host]);
}

/**
 * What a page sees that opens a workspace and listens from that moment on. It stays open there as `ws`; what was open
 * before is closed.
 */
export const opened = (page, { name = "shop", ...options } = {}) => page.evaluate(async ([name, options]) => {
  await globalThis.ws?.close();
  const onTarget = T.record();
  globalThis.ws = await lodger.openWorkspace(name, options);
  const own = T.record(ws);
  const pages = (await ws.pages.tree()).length;
  const { lost } = await ws.storage();
  // What the opening tells comes a task after it.
  if (lost) await own.seen(({ type }) => type === "agent:notice");
  await T.turn();
  const notices = ({ events }) => events.filter(({ type, detail }) => type === "agent:notice" && detail.kind !== "holder").map(({ detail }) => detail);
  return { pages, lost: lost ? T.plain(lost) : null, notices: notices(own), onTarget: notices(onTarget), history: (await ws.history()).map(T.textOf) };
}, [name, options]);

/** Whether no workspace has a marker. */
export const noMarkers = (page) => page.evaluate(async () => !(await T.markers()).length);
