import { Timeline } from "../timeline/timeline";
import type { Density, Grouping, Orientation } from "../timeline/layout";
import { type Address, numbers, readChosen, writeChosen } from "./address";
import { openCalls } from "./calls";
import { openEvidence } from "./evidence";
import { Finds, SEARCHED } from "./finds";
import { ALL_GROUPS, type GroupedBy, groupingOf } from "./groups";
import { NoteBook } from "./notes";
import type { OpenTrace } from "./opened";
import type { CallSource } from "../timeline/calls";
import type { Evidence } from "../timeline/evidence";
import type { Track } from "../timeline/tracks";
import { MOST_TRACKS, readTracks, sameTrack, trackSource, writeTracks } from "./tracks";
import type { Workspace } from "./panel";
import { Selection } from "./selection";
import type { Extent } from "./shared-axis";
import { reveal } from "./views/actors";
import { columns, questionOf } from "./views/answer";
import { make } from "./views/elements";
import { showNote } from "./views/notes";

/** Rows come and go when the view has come to rest, not while it moves. */
const SETTLE_MS = 250;
const ALL = "all";

/** One trace in the workspace: its timeline, what is chosen in it, and what views get of it. */
export class TraceView {
  readonly element: HTMLElement;
  readonly selection: Selection;
  readonly timeline: Timeline;
  readonly workspace: Workspace;
  /** What the workspaces of two traces beside each other are told of each other. */
  sides: readonly [Workspace, Workspace] | null = null;
  private readonly notes: NoteBook;
  private readonly finds: Finds;
  private calls: CallSource | null = null;
  private readonly controller = new AbortController();
  private restoring = false;
  private wanted = "";
  private here = false;
  /** The rows that are shown, as text. */
  private filtered = ALL;
  private settling: ReturnType<typeof setTimeout> | undefined;

  /** `suffix` stands behind its words of the address; `extent` is what may be looked at. */
  constructor(
    host: HTMLElement,
    readonly trace: OpenTrace,
    private readonly address: Address,
    private readonly suffix: string,
    extent: Extent,
    density: Density,
    orientation: Orientation,
    turned: (density: Density, orientation: Orientation) => void,
    title: string,
    private readonly groupedBy: GroupedBy,
  ) {
    const line = make("div", { class: "ws-line" });
    this.element = make("section", { class: "ws-trace", "aria-label": trace.info.name });
    if (title !== "") this.element.append(make("h2", {}, title));
    this.element.append(line);
    // In the page before it is drawn: only there has it a size and colours.
    host.append(this.element);
    this.selection = new Selection(extent.duration, this.fromAddress(), extent.earliest);
    this.timeline = new Timeline(line, trace.source, this.selection, {
      density, orientation, turned,
      grouping: this.grouping(),
      tracks: this.tracks(),
      askTrack: trackSource(trace.api, trace.info.tag),
      pinned: (row) => { this.pin(row); },
      grouped: (group) => { this.toggle(group); },
      noted: (about) => { this.workspace.note(about); },
      flagged: ({ id }) => {
        const note = this.notes.notes.find((each) => each.id === id);
        if (note === undefined) return;
        showNote(this.workspace, note);
        this.workspace.openPanel("notes", {});
      },
    });
    this.finds = new Finds(this.selection, (text, signal) =>
      columns(questionOf(trace.api, "found", { text }, this.selection.value.range), ["time", "cpu"], signal));
    this.finds.subscribe(() => { this.timeline.showFound(this.finds.times); });
    this.notes = new NoteBook(trace.api.replace("/api/", "/") + "/notes", trace.source.rows);
    this.selection.subscribe((now, changed) => {
      if (changed.view && this.here) {
        clearTimeout(this.settling);
        this.settling = setTimeout(() => { this.applyFilter(); }, SETTLE_MS);
      }
      if (this.restoring) return;
      // Looking elsewhere is no step; choosing is one.
      address.set(writeChosen(now, suffix), changed.range || changed.area || changed.place || changed.actor);
    });
    this.follow();
    this.revealChosen();
    this.workspace = {
      key: trace.key,
      api: trace.api,
      info: trace.info,
      rows: trace.source.rows,
      losses: trace.source.losses,
      selection: this.selection,
      sides: () => this.sides,
      rowOf: trace.rowOf,
      actorName: (actor) => fullName(trace, actor),
      parameter: (name) => address.get(name),
      setParameter: (name, value) => {
        address.set({ [name]: value }, true);
      },
      tracks: () => this.tracks(),
      toggleTrack: (track) => {
        const shown = this.tracks();
        const others = shown.filter((each) => !sameTrack(each, track));
        this.regroup({ tracks: writeTracks(others.length < shown.length ? others : [...shown, track].slice(-MOST_TRACKS)) });
      },
      finds: this.finds,
      findNext: (by) => {
        const found = this.finds.step(by);
        if (found !== null) reveal(this.workspace, null, found.time, found.time, found.cpu);
        return found !== null;
      },
      notes: this.notes,
      note: (about) => {
        this.notes.write(about);
        this.workspace.openPanel("notes", {});
      },
      noteAnything: () => { this.timeline.note(); },
      flagsChanged: () => { this.timeline.showFlags(this.notes.flags(address.get("note"))); },
      showArrows: (arrows) => { this.timeline.showArrows(arrows); },
      openPanel: (id, parameters) => {
        address.go({ ...parameters, tab: id });
      },
    };
    this.notes.subscribe(() => { this.workspace.flagsChanged(); });
    void this.openNotes();
    this.searchAsAsked();
    if (trace.info.call_kinds.length > 0) void this.openCalls();
    void this.openEvidence();
  }

  /** Of a trace that was recorded with a run; why it cannot be had is told in its place. */
  private async openEvidence(): Promise<void> {
    const answer = await openEvidence(this.trace, this.controller.signal);
    if (this.controller.signal.aborted) return;
    const nothing = { begin: [], end: [], low: [], high: [] };
    const fault = (reason: string): Evidence => ({ title: "Evidence", tracks: [{ name: "evidence", unit: "", reason, ...nothing }] });
    const evidence = answer.ok ? answer.value : fault(answer.error);
    if (evidence !== null) this.timeline.showEvidence(evidence);
  }

  private async openCalls(): Promise<void> {
    const { api, info } = this.trace;
    const answer = await openCalls(api, info.tag, this.controller.signal);
    if (!answer.ok || this.controller.signal.aborted) return;
    this.calls = answer.value;
    this.showCalls();
  }

  /** Marks what the address says is searched for. */
  private searchAsAsked(): void {
    void this.finds.search(this.address.get(SEARCHED) ?? "");
  }

  /** Shows calls of functions, or not, as the address says. */
  showCalls(): void {
    this.timeline.showCalls(this.address.get("calls") === "0" ? null : this.calls);
    this.revealChosen();
  }

  /** Brings the row of what is chosen into sight. */
  revealChosen(): void {
    const { place } = this.selection.value;
    if (place !== null) this.timeline.reveal(place.row);
  }

  /** Asks for the notes; a link to one of them leads to it. */
  private async openNotes(): Promise<void> {
    const { address, suffix } = this;
    const isLink = address.get(`view${suffix}`) === null && address.get("note") !== null;
    await this.notes.load(this.controller.signal);
    const note = isLink ? this.notes.notes.find(({ id }) => id === address.get("note")) : undefined;
    if (note === undefined || this.controller.signal.aborted) return;
    showNote(this.workspace, note);
    if (address.get("tab") === null) this.workspace.openPanel("notes", {});
  }

  /** Takes what is chosen from the address: the back button was used. */
  restore(): void {
    this.restoring = true;
    this.workspace.flagsChanged();
    if (this.calls !== null) this.showCalls();
    this.timeline.group(this.grouping(), this.tracks());
    this.selection.restore(this.fromAddress());
    this.searchAsAsked();
    this.restoring = false;
  }

  /** Shows rows whose name, kind or number has a text (all for none), or those that do something here. */
  filter(text: string, here: boolean): void {
    this.wanted = text.trim().toLowerCase();
    this.here = here;
    this.applyFilter();
  }

  close(): void {
    clearTimeout(this.settling);
    this.controller.abort();
    this.finds.close();
    this.timeline.close();
    this.element.remove();
  }

  /** Pins a row on top, or lets it go. */
  pin(row: number): void {
    const pinned = this.pinned();
    const rows = pinned.includes(row) ? pinned.filter((each) => each !== row) : [...pinned, row];
    this.regroup({ pin: rows.length === 0 ? null : rows.join(",") });
  }

  private pinned(): number[] {
    return numbers(this.address.get(`pin${this.suffix}`), ",");
  }

  /** Opens a group that is closed, closes one that is open; all of them where any is closed. */
  private toggle(group: number | typeof ALL_GROUPS): void {
    const { groups } = this.grouping();
    const open = groups.filter((each) => each.open).map(({ id }) => id);
    const some = group === ALL_GROUPS
      ? (open.length < groups.length ? groups.map(({ id }) => id) : [])
      : (open.includes(group) ? open.filter((each) => each !== group) : [...open, group]);
    const all = some.length === groups.length ? ALL_GROUPS : some.join(",");
    this.regroup({ open: some.length === 0 ? null : all });
  }

  private regroup(changes: Readonly<Record<string, string | null>>): void {
    const named = Object.entries(changes).map(([name, value]) => [`${name}${this.suffix}`, value]);
    this.address.set(Object.fromEntries(named) as Record<string, string | null>, true);
    this.timeline.group(this.grouping(), this.tracks());
  }

  private tracks(): readonly Track[] {
    return readTracks(this.address.get(`tracks${this.suffix}`));
  }

  private grouping(): Grouping {
    const open = this.address.get(`open${this.suffix}`);
    return groupingOf(
      this.trace.source.rows, this.groupedBy, this.pinned(),
      open === ALL_GROUPS ? ALL_GROUPS : numbers(open, ","), this.tracks(),
    );
  }

  private applyFilter(): void {
    const { wanted, here } = this;
    const { view } = this.selection.value;
    const rows = this.trace.source.rows.flatMap(({ name, kind, detail, seen }, order) => {
      if (here && seen !== undefined && !(seen.begin <= view.end && seen.end >= view.begin)) return [];
      return `${kind} ${name} ${detail}`.toLowerCase().includes(wanted) ? [order] : [];
    });
    const all = rows.length === this.trace.source.rows.length;
    const text = all ? ALL : rows.join(",");
    if (text === this.filtered) return;
    this.filtered = text;
    this.timeline.filter(all ? null : rows);
  }

  /** A link from another page: `actor`, and the `begin` and `end` of what it did. */
  private follow(): void {
    const { address, suffix, selection, trace } = this;
    const names = [`begin${suffix}`, `end${suffix}`] as const;
    const [begin, end] = names.map((name) => Number(address.get(name) ?? NaN));
    if (begin === undefined || end === undefined || !(begin < end)) return;
    const { actor } = selection.value;
    const row = actor === null ? null : trace.rowOf(actor);
    const place = row === null ? null : { row: row.id, time: begin + (end - begin) / 2 };
    address.set(Object.fromEntries(names.map((name) => [name, null])), false);
    selection.reveal({ begin, end }, place, actor);
  }

  private fromAddress(): ReturnType<typeof readChosen> {
    return readChosen((name) => this.address.get(name), this.suffix);
  }
}

/** The name of an actor; of a thread with its number, as many have one name. */
export function fullName({ source, rowOf }: Pick<OpenTrace, "source" | "rowOf">, actor: number): string {
  const name = source.look.actorName(actor);
  const row = rowOf(actor);
  return row?.kind === "thread" && row.detail !== "" ? `${name} ${row.detail}` : name;
}
