// Small helpers for DOM that the workbench owns by hand (the conversation). The shell around it is lit.

type Child = Node | string | null | undefined | false;

/** Makes an element: attributes as they are written in HTML, `on…` as listeners, then children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | boolean | number | EventListener | null | undefined> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child) element.append(child);
  return element;
}

/** Changes text only where it differs, so that selections and layout stay. */
export function setText(node: Node, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}

/** The element that the person scrolls or types in decides; a click on `data-action` inside `root` calls `act`. */
export function onAction(root: HTMLElement, act: (action: string, element: HTMLElement) => void): void {
  root.addEventListener("click", (event) => {
    const target = (event.target as Element | null)?.closest<HTMLElement>("[data-action]");
    if (target && root.contains(target)) act(target.dataset["action"] ?? "", target);
  });
}
