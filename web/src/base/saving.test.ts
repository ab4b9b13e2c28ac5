import { expect, it } from "vitest";

import { csv, fileName } from "./saving";

/** jsdom's blobs cannot read themselves. */
const read = (blob: Blob): Promise<string> => new Promise((resolve) => {
  const reader = new FileReader();
  reader.addEventListener("load", () => { resolve(reader.result as string); });
  reader.readAsText(blob);
});

it("writes cells that every reader takes apart again, and no formula", async () => {
  const text = await read(csv([["a,b", 'say "x"', 5, null, -2.5], ["two\nlines", "=1+1", "-12", "@x", true]]));
  expect(text).toBe('"a,b","say ""x""",5,,-2.5\r\n"two\nlines",\'=1+1,-12,\'@x,true\r\n');
});

it("keeps of a hostile name what is a name", () => {
  expect(["../../etc/passwd", "a b\u0000<c>.csv", "....", "trace.dat events.csv"].map(fileName))
    .toEqual(["etc-passwd", "a-b-c-.csv", "file", "trace.dat-events.csv"]);
});
