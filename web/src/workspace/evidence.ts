import { askJson } from "../base/answers";
import { okay, type Result } from "../base/result";
import type { Evidence, EvidenceTrack } from "../timeline/evidence";
import type { OpenTrace } from "./opened";

/** Asks what was read during the run that a trace was recorded with; null where it was with none. */
export async function openEvidence({ api, info }: OpenTrace, signal: AbortSignal): Promise<Result<Evidence | null>> {
  const { epoch_offset_ns: epoch } = info.clock;
  const query = new URLSearchParams({ origin: info.origin, ...(epoch === null ? {} : { epoch: String(epoch) }) });
  const answer = await askJson(`${api.replace("/api/", "/")}/evidence.json?${query.toString()}`, signal);
  if (!answer.ok) return answer;
  const { data } = answer.value as { data: { run: string | null; tracks: readonly EvidenceTrack[] } };
  const { run, tracks } = data;
  if (run === null || tracks.length === 0) return okay(null);
  return okay({ title: "Evidence", tracks });
}
