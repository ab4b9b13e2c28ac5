import type { LogEvent } from "./views/answers";

/** What the server tells of one item, `GET item`. Times and lengths in ns; null is not known. */
export interface ItemAnswer {
  readonly item: Item | null;
  /** The events of that very time on its CPU. */
  readonly here: readonly LogEvent[];
  readonly instance?: Instance | null;
  readonly events?: { readonly count: number; readonly listed: readonly ItemEvent[] } | null;
}

interface Item {
  readonly begin: number;
  readonly end: number;
  readonly state: string;
  readonly cpu: number | null;
  readonly actor: {
    readonly id: number;
    readonly kind: string;
    readonly name: string;
    readonly label: string;
    readonly tid: number | null;
    readonly process: number | null;
    readonly priority: number | null;
  };
}

/** One activation: from what made it ready to its end. */
export interface Instance {
  /** Its number in the analysis. */
  readonly instance: number;
  readonly begin: number | null;
  readonly end: number | null;
  readonly ready: number | null;
  readonly execution?: number | null;
  readonly response?: number | null;
  readonly period?: number | null;
  readonly latency?: number | null;
  readonly preemptions?: number | null;
  /** Why its times may be wrong. */
  readonly unsure: readonly string[];
  readonly waker: {
    readonly actor: number;
    readonly cpu: number;
    readonly name: string;
    readonly label: string;
    readonly time: number | null;
  } | null;
  /** The first that it woke or raised itself, of so many. */
  readonly woke: readonly Woken[];
  readonly woke_count: number;
}

/** An activation that another woke: when, where it is known, and since when it was on a CPU. */
export interface Woken {
  readonly actor: number;
  readonly cpu: number;
  readonly name: string;
  readonly time: number | null;
  readonly begin: number;
}

interface ItemEvent {
  readonly time: number;
  readonly event: string;
  readonly index: number;
}
