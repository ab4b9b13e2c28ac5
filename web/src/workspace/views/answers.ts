/** What the server answers to the views; `benchvise.web.workspace` writes it. Times in ns. */

export interface Head {
  readonly begin: number;
  readonly end: number;
  readonly cautions: readonly string[];
}

export interface Distribution {
  readonly count: number;
  readonly mean: number;
  readonly minimum: number;
  readonly median: number;
  readonly interval: { readonly low: number; readonly high: number } | null;
  readonly p95: number;
  readonly p99: number;
  readonly p999: number;
  readonly maximum: number;
}

export interface ActorRow {
  readonly actor: string;
  readonly ids: readonly number[];
  readonly kind: string;
  readonly actors: number;
  readonly busy: number;
  readonly share: number;
  readonly switches: number;
  readonly wakeups: number;
  readonly cpus: readonly number[];
  readonly instances: number;
  readonly unsure: number;
  readonly execution: Distribution | null;
  readonly response: Distribution | null;
  readonly latency: Distribution | null;
  readonly period: Distribution | null;
  readonly worst: {
    readonly actor: number;
    readonly begin: number;
    readonly end: number;
    readonly response: number;
  } | null;
}

/** `GET area`: CPUs, and actors (handlers on each CPU), over the selected time. */
export interface AreaSums extends Head {
  readonly cpus: readonly {
    readonly cpu: number;
    readonly ran: number;
    readonly activations: number;
    readonly foremost: readonly { readonly actor: number; readonly ran: number }[];
    readonly others: number;
  }[];
  readonly actors: readonly {
    readonly actor: number;
    readonly cpu: number | null;
    readonly ran: number;
    readonly activations: number;
    readonly longest: number;
    readonly longest_at: number | null;
    readonly runnable: number | null;
    readonly preempted: number | null;
    readonly uninterruptible: number | null;
    readonly sleeping: number | null;
  }[];
  readonly more: number;
}

/** `GET counters`: moments in ns since the first event. */
export interface CounterRow {
  readonly name: string;
  readonly cpu: number | null;
  readonly changes: number;
  readonly minimum: number;
  readonly mean: number;
  readonly maximum: number;
  readonly minimum_at: number;
  readonly maximum_at: number;
  readonly known: number;
}

export interface CounterTable extends Head {
  readonly counters: readonly CounterRow[];
  /** All that the trace has. */
  readonly names: readonly string[];
}

/** `GET delays`: times in ns. */
export interface DelayRow {
  readonly thread: string;
  readonly thread_ids: readonly number[];
  readonly by: string;
  readonly waits: number;
  readonly time: number;
  readonly after_preemption: number;
  readonly share: number;
  readonly longest: number;
  readonly longest_at: number;
}

export interface PreemptionRow {
  readonly thread: string;
  readonly thread_ids: readonly number[];
  readonly by: string;
  readonly count: number;
  readonly wait: (Distribution & { readonly total: number }) | null;
  readonly longest_at: number;
}

export interface Delays extends Head {
  readonly delays: readonly DelayRow[];
  readonly preemptions: readonly PreemptionRow[];
  readonly more_delays: number;
  readonly more_preemptions: number;
  readonly waited: number;
  readonly waits: number;
  readonly unsure: number;
}

/** `GET modes`: activations of one actor that take about equally long, the shortest first. */
export interface Modes extends Head {
  readonly of: {
    readonly actor: string;
    readonly ids: readonly number[];
    readonly metric: string;
    readonly count: number;
    readonly unsure: number;
    readonly modes: readonly ActivationMode[];
  };
}

export interface ActivationMode {
  readonly count: number;
  readonly share: number;
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly execution: number;
  readonly latency: number | null;
  readonly suspended: number;
  readonly typical_at: number;
  readonly longest_at: number;
  readonly traits: readonly {
    readonly kind: string;
    readonly what: string;
    readonly share: number;
    readonly elsewhere: number;
  }[];
}

/** `GET functions`: of kernel functions and slices, most self time first. */
export interface Functions extends Head {
  readonly functions: readonly FunctionRow[];
  readonly more: number;
}

export interface FunctionRow {
  readonly name: string;
  readonly calls: number;
  readonly incomplete: number;
  readonly total: (Distribution & { readonly total: number }) | null;
  readonly self_time: number | null;
  readonly self_share: number | null;
  readonly worst_at: number | null;
  readonly worst_cpu: number | null;
}

/** `GET noise`: moments in ns since the first event. */
export interface NoiseAnswer extends Head {
  readonly cpus: readonly CpuNoise[];
  readonly sources: readonly {
    readonly kind: string;
    readonly name: string;
    readonly duration: Distribution & { readonly total: number };
    readonly share: number;
    readonly worst_at: number;
    readonly worst_cpu: number;
  }[];
  readonly more: number;
  readonly latencies: readonly {
    readonly context: string;
    readonly cpu: number | null;
    readonly latency: Distribution;
    readonly worst_at: number;
    readonly worst_cpu: number;
  }[];
  readonly worst: readonly WorstActivation[];
  readonly has_noises: boolean;
}

/** What osnoise measured on a CPU; null where the trace does not tell it. */
export interface CpuNoise {
  readonly cpu: number;
  readonly periods: number;
  readonly runtime: number | null;
  readonly noise: number;
  readonly available: number | null;
  readonly most: number;
  readonly most_at: number;
  readonly longest: number;
  readonly longest_at: number;
  readonly hardware: number;
  readonly nmi: number;
  readonly irq: number;
  readonly softirq: number;
  readonly thread: number;
}

/** One of the longest latencies of timerlat, and the parts that add up to it. */
export interface WorstActivation {
  readonly cpu: number;
  readonly activation: number;
  readonly context: string;
  readonly latency: number;
  readonly due: number;
  readonly at: number;
  readonly running: string;
  readonly parts: readonly {
    readonly what: string;
    readonly who: string;
    readonly count: number;
    readonly time: number;
    readonly share: number;
  }[];
  readonly stack: readonly string[];
  readonly incomplete: boolean;
}

export interface Statistics extends Head {
  readonly duration: number;
  readonly actors: readonly ActorRow[];
  readonly more: number;
}

export interface Series {
  readonly name: string;
  readonly ids: readonly number[];
  readonly whole: number;
  readonly values: readonly number[];
}

export interface OverTime extends Head {
  readonly unit: string;
  readonly first: number;
  readonly width: number;
  readonly everything: Series;
  readonly cpus: readonly Series[];
  readonly actors: readonly Series[];
  readonly others: Series | null;
}

export interface Hop {
  readonly start: string;
  readonly end: string;
  readonly method: "cause" | "next" | "fields";
  readonly starts: number;
  readonly starts_matched: number;
  readonly ends: number;
  readonly ends_matched: number;
  /** Pairs by cause, where these were too few to measure them alone. */
  readonly few_by_cause: number;
}

export interface Stage {
  readonly name: string;
  readonly time: Distribution;
  readonly share: number;
}

export interface Latency extends Head {
  readonly hops: readonly Hop[];
  readonly occurrences: number;
  readonly unsure: number;
  readonly unsure_kept: boolean;
  readonly total: Distribution | null;
  readonly ways: readonly { readonly count: number; readonly stages: readonly Stage[] }[];
  readonly more_ways: number;
  readonly steps: readonly { readonly low: number; readonly high: number; readonly share: number }[];
  readonly worst: readonly {
    readonly begin: number;
    readonly end: number;
    readonly latency: number;
    readonly begin_cpu: number | null;
    readonly end_cpu: number | null;
    readonly end_actor: string;
    readonly actor: number | null;
    readonly stages: readonly { readonly name: string; readonly time: number }[];
  }[];
}

export interface LogEvent {
  readonly index: number;
  readonly time: number;
  readonly cpu: number | null;
  readonly event: string;
  readonly actor: number | null;
  readonly actor_name: string | null;
  readonly fields: readonly (readonly [string, string])[];
}

export interface Log extends Head {
  readonly total: number;
  readonly offset: number;
  readonly limit: number;
  readonly events: readonly LogEvent[];
}

export interface Found extends Head {
  readonly actors: readonly {
    readonly actor: number;
    readonly name: string;
    readonly kind: string;
    readonly busy: number;
    readonly first: number;
  }[];
  readonly events: readonly { readonly name: string; readonly count: number }[];
  readonly hits: readonly {
    readonly time: number;
    readonly event: string;
    readonly cpu: number | null;
    readonly says: string;
  }[];
  readonly found: number;
  readonly complete: boolean;
}

export interface Names {
  readonly actors: readonly string[];
  readonly events: readonly {
    readonly name: string;
    readonly count: number;
    readonly fields: readonly string[];
  }[];
}

export interface QueryAnswer extends Head {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly (string | number | boolean | null)[])[];
  /** When each row was, where a column of the answer says so. */
  readonly times: readonly (number | null)[] | null;
  readonly more: boolean;
  readonly seconds: number;
}

export interface TableList {
  readonly tables: readonly {
    readonly name: string;
    readonly kind: string;
    readonly rows: number | null;
    readonly columns: string;
  }[];
}
