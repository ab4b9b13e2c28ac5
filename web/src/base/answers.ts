import { failed, okay, type Result } from "./result";

/** Whether the page is being left: browsers then break off what is under way, which is no fault. */
let leaving = false;
for (const event of ["beforeunload", "pagehide"]) addEventListener(event, () => { leaving = true; });
addEventListener("pageshow", () => { leaving = false; });

/** What a request that broke off comes to: `fault`, unless nobody wants the answer any more. */
function broken(fault: string, signal?: AbortSignal): Result<never> | Promise<Result<never>> {
  if (signal?.aborted === true) return failed("no longer wanted");
  // Nobody is there any more to be told.
  return leaving ? new Promise(() => undefined) : failed(fault);
}

/** What a request that changes something has to say besides: only pages of ours have it. */
export function csrfHeader(page: Document): Record<string, string> {
  const token = page.querySelector<HTMLMetaElement>('meta[name="csrf-token"]')?.content;
  return token === undefined ? {} : { "X-CSRF-Token": token };
}

/** Asks the server; what it says of an error is the error. */
export async function ask(address: string, signal?: AbortSignal): Promise<Result<Response>> {
  let answer: Response;
  try {
    answer = await fetch(address, signal === undefined ? {} : { signal });
  } catch (error) {
    return broken(`the server does not answer (${String(error)}): is it still running?`, signal);
  }
  return answer.ok ? okay(answer) : failed(await errorOf(answer));
}

export async function askJson(address: string, signal?: AbortSignal): Promise<Result<unknown>> {
  const answer = await ask(address, signal);
  if (!answer.ok) return answer;
  // A body may break off as well as a request.
  let text: string;
  try {
    text = await answer.value.text();
  } catch (error) {
    return broken(`${address}: the answer broke off: ${String(error)}`, signal);
  }
  try {
    return okay(JSON.parse(text));
  } catch (error) {
    return failed(`${address}: the answer is not JSON: ${String(error)}`);
  }
}

export async function askBytes(
  address: string,
  signal?: AbortSignal,
): Promise<Result<ArrayBuffer>> {
  const answer = await ask(address, signal);
  if (!answer.ok) return answer;
  try {
    return okay(await answer.value.arrayBuffer());
  } catch (error) {
    return broken(`${address}: the answer broke off: ${String(error)}`, signal);
  }
}

/** Message and remedy of an error answer, whatever it is made of. */
export async function errorOf(answer: Response): Promise<string> {
  try {
    const { error } = (await answer.json()) as { error: { message: string; remedy: string } };
    return error.remedy === "" ? error.message : `${error.message}: ${error.remedy}`;
  } catch {
    return `the server answers with status ${answer.status}`;
  }
}
