/** Files that a page makes and the browser saves. */

/** Offers `content` under a name, of which only what every file system takes is kept. */
export function save(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = fileName(name);
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => { URL.revokeObjectURL(link.href); }, 10_000);
}

/** A name without what separates folders or means something to a shell. */
export const fileName = (name: string): string => name.replace(/[^\w.+-]+/g, "-").replace(/^[.-]+/, "").slice(0, 120) || "file";

/** Lines of a CSV file, RFC 4180. Texts that a spreadsheet would run as a formula begin with an apostrophe. */
export function csv(lines: readonly (readonly unknown[])[]): Blob {
  const text = lines.map((cells) => cells.map(cellOf).join(",")).join("\r\n");
  return new Blob([text, "\r\n"], { type: "text/csv;charset=utf-8" });
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const raw = typeof value === "string" ? value : JSON.stringify(value);
  const text = /^[=+\-@\t\r]/.test(raw) && !/^-?\d+(\.\d+)?$/.test(raw) ? `'${raw}` : raw;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
