import type {
  ChangeRow,
  CurveFigure,
  CurveLine,
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
