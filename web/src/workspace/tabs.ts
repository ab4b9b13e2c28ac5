import type { Address } from "./address";
import type { Panel, Workspace } from "./panel";
import { make } from "./views/elements";

/** The views beneath the timeline, one shown at a time; which, stands in the address as `tab=`. */
export class Tabs {
  private readonly list = make("div", { class: "ws-tabs", role: "tablist", "aria-label": "Views" });
  private readonly host = make("div", {
    class: "ws-panel", role: "tabpanel", id: "ws-panel", tabindex: "0",
  });
  private readonly buttons = new Map<string, HTMLButtonElement>();
  private shown: string | null = null;
  private unmount: (() => void) | null = null;

  constructor(
    parent: HTMLElement,
    private readonly panels: readonly Panel[],
    private readonly address: Address,
    /** Whose views they are: of two traces, the one that was used last. */
    private workspace: Workspace,
  ) {
    for (const { id, title } of panels) {
      const tab = make("button", {
        type: "button", role: "tab", id: `ws-tab-${id}`, "aria-controls": "ws-panel",
      }, title);
      tab.addEventListener("click", () => {
        address.set({ tab: id }, true);
        this.show();
      });
      this.buttons.set(id, tab);
      this.list.append(tab);
    }
    this.list.addEventListener("keydown", (event) => {
      if (event.key === "ArrowRight") this.step(1);
      else if (event.key === "ArrowLeft") this.step(-1);
      else return;
      event.preventDefault();
    });
    parent.append(this.list, this.host);
    this.show();
  }

  use(workspace: Workspace): void {
    if (workspace === this.workspace) return;
    this.workspace = workspace;
    this.shown = null;
    this.show();
  }

  /** Shows what the address says; a view anew whose own words in the address have changed. */
  show(anew = false): void {
    // Of samples and of events alone there are no threads that ran, which the first view is about.
    const { actors, format } = this.workspace.info;
    const usual = actors > 0 ? null : format === "perf.data" ? "flame" : "log";
    const wanted = this.address.get("tab") ?? usual;
    const suiting = this.suiting();
    for (const [id, tab] of this.buttons) tab.hidden = !suiting.some((panel) => panel.id === id);
    const panel = suiting.find(({ id }) => id === wanted) ?? suiting[0];
    if (panel === undefined || (panel.id === this.shown && !anew)) return;
    this.unmount?.();
    this.shown = panel.id;
    for (const [id, tab] of this.buttons) {
      tab.setAttribute("aria-selected", String(id === panel.id));
      tab.tabIndex = id === panel.id ? 0 : -1;
    }
    this.host.setAttribute("aria-labelledby", `ws-tab-${panel.id}`);
    this.host.replaceChildren();
    this.unmount = panel.mount(this.host, this.workspace);
  }

  close(): void {
    this.unmount?.();
    this.unmount = null;
  }

  /** The views that the trace has something for. */
  private suiting(): readonly Panel[] {
    const { info } = this.workspace;
    return this.panels.filter((panel) => panel.suits?.(info) ?? true);
  }

  private step(by: number): void {
    const panels = this.suiting();
    const at = panels.findIndex(({ id }) => id === this.shown);
    const next = panels[(at + by + panels.length) % panels.length];
    if (next === undefined) return;
    this.address.set({ tab: next.id }, true);
    this.show();
    this.buttons.get(next.id)?.focus();
  }
}
