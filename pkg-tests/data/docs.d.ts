// What the pages of the documents take for granted: a workspace, and what is the reader's own.
import type { Message, Provider, Workspace } from "lodger";

declare global {
  const ws: Workspace;
  const provider: Provider;
  const message: Message;
  const cart: { add(id: string): string };
  const shop: { total(cart: string): string; order(cart: string): Promise<string>; mail(id: string): Promise<string>; send(to: string, text: string): Promise<void> };
  const log: HTMLElement;
  const [goOn, fetchIt]: HTMLButtonElement[];
  const box: HTMLInputElement;
  const form: HTMLFormElement;
  const bar: HTMLProgressElement;
  const bubble: (message: Message) => Node;
}
