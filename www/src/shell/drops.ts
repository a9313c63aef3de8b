// Files that are dropped on a part of the page.
//
// Promises: the part is marked while a file is over it (`drop-target`). What is no file is left to the browser. The
// inner one of parts inside each other takes it.

/** Takes the files that are dropped on this element. */
export function takeDrops(element: HTMLElement, take: (files: File[]) => void): void {
  let inside = 0;
  const brings = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
  const mark = (change: number): void => {
    inside = Math.max(0, inside + change);
    element.classList.toggle("drop-target", inside > 0);
  };
  element.addEventListener("dragenter", (event) => brings(event) && mark(1));
  element.addEventListener("dragleave", (event) => brings(event) && mark(-1));
  element.addEventListener("dragover", (event) => brings(event) && event.preventDefault());
  element.addEventListener("drop", (event) => {
    if (!brings(event)) return;
    event.preventDefault();
    event.stopPropagation();
    mark(-inside);
    take([...(event.dataTransfer?.files ?? [])]);
  });
}
