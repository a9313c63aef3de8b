// The two halves of the shell's data flow: a store tells that it changed, a component draws itself again.
import { LitElement, type PropertyValues } from "lit";

/** Something that changes and says so. */
export class Changing extends EventTarget {
  /** Tells every watcher. */
  protected changed(): void {
    this.dispatchEvent(new Event("change"));
  }
}

/** A component in light DOM: one stylesheet, and ids that cross its border (labels, anchors). */
export class Component extends LitElement {
  #watched: Changing[] = [];
  readonly #again = (): void => this.requestUpdate();

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  /** Draws again whenever one of these changes, as long as the component is in the page. */
  protected watch(...stores: Changing[]): void {
    this.#watched = stores;
    if (this.isConnected) this.#follow();
  }

  /** Drawing has taken away what had the focus. */
  protected refocus(): void {}

  protected override update(changed: PropertyValues): void {
    const had = this.contains(document.activeElement);
    super.update(changed);
    if (had && !this.contains(document.activeElement)) this.refocus();
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#follow();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    for (const store of this.#watched) store.removeEventListener("change", this.#again);
  }

  #follow(): void {
    for (const store of this.#watched) store.addEventListener("change", this.#again);
  }
}
