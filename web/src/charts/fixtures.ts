import type {
  BarFigure,
  ChangeRow,
  CurveFigure,
  CurveLine,
  EvidenceFigure,
  GridFigure,
  HistoryFigure,
  HistoryPoint,
  LatencyFigure,
  LatencyLine,
  SampleFigure,
} from "../base/document";

/** A text that must come out as text, wherever it stands. */
export const HOSTILE = '<img src=x onerror="document.body.remove()">&amp;';

export function line(changes: Partial<CurveLine> = {}): CurveLine {
  const points = [4096, 65536, 1048576].map((x, index) => ({
    x,
    median: (3 - index) * 1e10,
    low: (3 - index) * 0.99e10,
    high: (3 - index) * 1.01e10,
    stable: true,
    n: 63,
  }));
  return { name: "copy", style: 0, caveat: false, points, ...changes };
}

export function curveFigure(changes: Partial<CurveFigure> = {}): CurveFigure {
  return {
    id: "curve0",
    title: "Memory bandwidth over buffer size",
    unit: "B/s",
    x_name: "buffer size",
    x_kind: "size",
    y_scale: "linear",
    name_lines: true,
    caches: [
      { name: "L1d", size: 32768 },
      { name: "L3", size: 1 << 30 },
    ],
    lines: [line()],
    ...changes,
  };
}

export function latencyLine(changes: Partial<LatencyLine> = {}): LatencyLine {
  return {
    name: "policy=fifo",
    style: 0,
    latencies: {
      count: 1000,
      minimum: 9100,
      maximum: 70100,
      steps: [
        { low: 8192, high: 9216, share: 0.25 },
        { low: 9216, high: 10240, share: 0.749 },
        { low: 65536, high: 73728, share: 0.001 },
      ],
    },
    ...changes,
  };
}

export function latencyFigure(changes: Partial<LatencyFigure> = {}): LatencyFigure {
  return { id: "latency0", title: "timer.wakeup", lines: [latencyLine()], ...changes };
}

export function sampleFigure(changes: Partial<SampleFigure> = {}): SampleFigure {
  const samples = Array.from({ length: 12 }, (_, index) => ({
    process: Math.floor(index / 4),
    value: 100 + (index % 3),
    flags: index === 5 ? ["preempted"] : [],
  }));
  return {
    id: "series0",
    name: "os.syscall:call=read",
    unit: "ns",
    stable: true,
    median: 101,
    low: 100,
    high: 102,
    samples,
    ...changes,
  };
}

export function changeRow(changes: Partial<ChangeRow> = {}): ChangeRow {
  return {
    name: "memory.copy:size=64M",
    verdict: "slower",
    better: "higher",
    ratio: 0.48,
    low: 0.47,
    high: 0.49,
    noise_floor: 0.01,
    caveat: false,
    ...changes,
  };
}

export function barFigure(changes: Partial<BarFigure> = {}): BarFigure {
  const bar = { median: 2e9, low: 1.9e9, high: 2.1e9, best: 2.2e9, stable: true, caveat: false, n: 63 };
  return {
    id: "bars0",
    title: "storage.read",
    unit: "B/s",
    rows: ["mode=buffered", "mode=direct"].map((name) => ({
      name,
      bars: [
        { ...bar, style: 0, run: "eMMC" },
        { ...bar, style: 1, run: "SD card", median: 1e9, stable: false },
      ],
    })),
    ...changes,
  };
}

export function gridFigure(changes: Partial<GridFigure> = {}): GridFigure {
  const processes = [2, 4, 8, 16, 32];
  const sizes = [0, 2048, 8192, 32768];
  return {
    id: "grid0",
    title: "Context switches",
    run: "black",
    unit: "ns",
    processes,
    sizes,
    places: processes.flatMap((count) =>
      sizes.map((size) => ({
        processes: count,
        size,
        median: 2000 + (count * size > 32768 ? 9000 : 0),
        low: 1900,
        high: 12000,
        stable: count < 32,
      })),
    ),
    steps: [{ size: 8192, low: 4, high: 8 }],
    caches: [
      { name: "L1d", size: 32768 },
      { name: "L3", size: 1 << 30 },
    ],
    ...changes,
  };
}

export function evidenceFigure(changes: Partial<EvidenceFigure> = {}): EvidenceFigure {
  const samples = sampleFigure();
  return {
    id: "evidence",
    samples,
    strips: [
      { name: "CPU clock", unit: "Hz", values: samples.samples.map((_, index) => (index ? 1.5e9 : null)) },
    ],
    ...changes,
  };
}

export function historyPoint(order: number, median: number): HistoryPoint {
  return {
    order,
    time: Date.UTC(2026, 2, order),
    name: `nightly-${order}`,
    url: `/runs/${order}`,
    median,
    low: median * 0.99,
    high: median * 1.01,
    stable: order !== 2,
    n: 63,
  };
}

export function historyFigure(changes: Partial<HistoryFigure> = {}): HistoryFigure {
  const values = [5.9e9, 5.8e9, 5.9e9, 2.8e9, 2.7e9, 2.8e9];
  return {
    id: "history",
    title: "memory.copy:size=64M",
    unit: "B/s",
    better: "higher",
    by: "order",
    lines: [
      {
        name: "ssh://root@bench-07",
        style: 0,
        points: values.map((value, index) => historyPoint(index + 1, value)),
        levels: [
          { first: 0, last: 2, median: 5.9e9 },
          { first: 3, last: 5, median: 2.8e9 },
        ],
        changes: [{ at: 3, ratio: 0.47, low: 0.46, high: 0.48, verdict: "slower" }],
      },
    ],
    ...changes,
  };
}
