// Colours for closed code blocks. highlight.js is a chunk of its own, loaded at the first block that names a language.
//
// Promises: a block is coloured once, after it is closed, in idle time. Above 500 lines it stays plain (colouring
// 2,000 lines takes half a second). The text of a block never changes by it.
const MOST_LINES = 500;
let library: Promise<typeof import("./highlight-languages.ts")> | null = null;
const idle: (work: () => void) => void = typeof requestIdleCallback === "function" ? (work) => requestIdleCallback(work) : (work) => setTimeout(work, 16);

/** Colours every code block in `root`, or `root` itself, some time soon. */
export function colour(root: HTMLElement): void {
  for (const code of root.querySelectorAll<HTMLElement>("code[data-language]")) void paint(code);
}

async function paint(code: HTMLElement): Promise<void> {
  const language = code.dataset["language"] ?? "";
  const text = code.textContent ?? "";
  if (!language || code.dataset["coloured"] || text.split("\n", MOST_LINES + 1).length > MOST_LINES || text.length > 40_000) return;
  library ??= import("./highlight-languages.ts");
  const { highlighter } = await library;
  if (!highlighter.getLanguage(language)) return;
  idle(() => {
    if (!code.isConnected || code.textContent !== text || selectionIn(code)) return;
    const { value } = highlighter.highlight(text, { language, ignoreIllegals: true });
    code.replaceChildren(spans(value));
    code.dataset["coloured"] = "yes";
  });
}

function selectionIn(node: Node): boolean {
  const selection = document.getSelection();
  return Boolean(selection && !selection.isCollapsed && selection.containsNode(node, true));
}

const ENTITIES: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'" };

/** The highlighter's output, which is text and nested spans and nothing else, as DOM: no string becomes HTML. */
function spans(coloured: string): DocumentFragment {
  const root = document.createDocumentFragment();
  let at: Node = root;
  for (const [piece, className] of coloured.matchAll(/<span class="([\w \-.]+)">|<\/span>|[^<]+/g)) {
    if (className) {
      const span = document.createElement("span");
      span.className = className;
      at.appendChild(span);
      at = span;
    } else if (piece === "</span>") at = at.parentNode ?? root;
    else at.appendChild(document.createTextNode(piece.replace(/&(?:amp|lt|gt|quot|#x27);/g, (e) => ENTITIES[e] ?? e)));
  }
  return root;
}
