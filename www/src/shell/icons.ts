// Icons: one hidden sprite made of the lucide icons that are used, referred to by `<use>`.
//
// Promises: every icon is decoration (`aria-hidden`). A word or an accessible name always stands with it.
import {
  Archive, ArrowDown, ArrowRightLeft, ArrowUp, Ban, Bot, Braces, Brain, BookOpen, Check, ChevronLeft, ChevronRight, CircleAlert, CircleCheck, CircleDashed, CircleHelp,
  CircleX, Clock, Copy, CornerDownRight, Download, Eraser, FilePlus, FileText, FoldVertical, FolderInput, FolderTree, GitFork, History, Import, KeyRound, Keyboard, Link,
  LoaderCircle, MessageSquare, MessagesSquare, ListEnd, Monitor, Moon, Paperclip, Pause, Pencil, Play, Plus, Power, RefreshCw, RotateCcw, ScrollText, Search, Settings, ShieldAlert, ShieldCheck, ShieldOff, ShieldQuestionMark, ShipWheel, Sparkles, Square, Sun, Trash2,
  TextCursorInput, TriangleAlert, Undo2, UserRound, Wrench, X,
} from "lucide";
import { svg, html, type TemplateResult } from "lit";

const ICONS = {
  archive: Archive, "arrow-down": ArrowDown, "arrow-up": ArrowUp, takeover: ArrowRightLeft, denied: Ban, bot: Bot, book: BookOpen, braces: Braces, brain: Brain, check: Check,
  chevron: ChevronRight, alert: CircleAlert, done: CircleCheck, preparing: CircleDashed, help: CircleHelp, waiting: Clock, failed: CircleX, copy: Copy,
  child: CornerDownRight, download: Download, eraser: Eraser, "file-plus": FilePlus, file: FileText, move: FolderInput, tree: FolderTree, rename: TextCursorInput,
  history: History, key: KeyRound, keyboard: Keyboard, link: Link, running: LoaderCircle, chat: MessageSquare,
  attach: Paperclip, monitor: Monitor, moon: Moon, pause: Pause, pencil: Pencil, play: Play, power: Power, continue: RotateCcw, search: Search, settings: Settings,
  permission: ShieldQuestionMark, sparkles: Sparkles, stop: Square, sun: Sun, trash: Trash2, warning: TriangleAlert, undo: Undo2, person: UserRound,
  tools: Wrench, x: X, queue: ListEnd, steer: ShipWheel, shorten: FoldVertical,
  sessions: MessagesSquare, plus: Plus, import: Import, journal: ScrollText, fork: GitFork, replay: RefreshCw, verified: ShieldCheck, tampered: ShieldAlert,
  unsigned: ShieldOff, "chevron-left": ChevronLeft, "chevron-right": ChevronRight,
} as const;

/** The name of an icon. */
export type IconName = keyof typeof ICONS;

const SVG = "http://www.w3.org/2000/svg";

/** Puts the sprite into the document; once, before anything is drawn. */
export function installIcons(): void {
  const sprite = document.createElementNS(SVG, "svg");
  sprite.setAttribute("class", "sprite");
  sprite.setAttribute("aria-hidden", "true");
  for (const [name, shapes] of Object.entries(ICONS)) {
    const symbol = document.createElementNS(SVG, "symbol");
    symbol.id = `i-${name}`;
    symbol.setAttribute("viewBox", "0 0 24 24");
    for (const [tag, attributes] of shapes) {
      const shape = document.createElementNS(SVG, tag);
      for (const [key, value] of Object.entries(attributes)) shape.setAttribute(key, String(value));
      symbol.append(shape);
    }
    sprite.append(symbol);
  }
  document.body.prepend(sprite);
}

/** For lit templates. */
export function icon(name: IconName): TemplateResult {
  return html`<svg class="icon" data-icon=${name} aria-hidden="true" focusable="false">${svg`<use href="#i-${name}"></use>`}</svg>`;
}

/** For DOM made by hand. */
export function iconNode(name: IconName): SVGElement {
  const element = document.createElementNS(SVG, "svg");
  element.setAttribute("class", "icon");
  element.setAttribute("data-icon", name);
  element.setAttribute("aria-hidden", "true");
  element.setAttribute("focusable", "false");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#i-${name}`);
  element.append(use);
  return element;
}
