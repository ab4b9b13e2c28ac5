import { askJson } from "../base/answers";
import { okay } from "../base/result";
import type { AskTrack, Track, TrackLines } from "../timeline/tracks";

/** More would leave no room for rows. */
export const MOST_TRACKS = 24;

/** Counters as the address has them: `run-queue:0,thermal_temperature.temp`. */
export function readTracks(text: string | null): readonly Track[] {
  return (text === null || text === "" ? [] : text.split(",")).slice(0, MOST_TRACKS).flatMap((word): Track[] => {
    const at = word.lastIndexOf(":");
    const cpu = at < 0 ? null : Number(word.slice(at + 1));
    try {
      const name = decodeURIComponent(at < 0 ? word : word.slice(0, at));
      return name === "" || (cpu !== null && !Number.isInteger(cpu)) ? [] : [{ name, cpu }];
    } catch {
      return [];
    }
  });
}

export function writeTracks(tracks: readonly Track[]): string | null {
  const words = tracks.map(({ name, cpu }) => encodeURIComponent(name) + (cpu === null ? "" : `:${cpu}`));
  return words.length === 0 ? null : words.join(",");
}

export const sameTrack = (a: Track, b: Track): boolean => a.name === b.name && a.cpu === b.cpu;

/** Who has the values of a trace's counters: `GET track`. */
export function trackSource(api: string, tag: string): AskTrack {
  return async ({ name, cpu }, { begin, end }, width, signal) => {
    const query = new URLSearchParams({
      counter: name, begin: String(begin), end: String(end), width: String(width), v: tag,
      ...(cpu === null ? {} : { cpu: String(cpu) }),
    });
    const answer = await askJson(`${api}/track?${query.toString()}`, signal);
    return answer.ok ? okay(answer.value as TrackLines) : answer;
  };
}
