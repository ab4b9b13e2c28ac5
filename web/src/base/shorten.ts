/**
 * At most `most` characters of a text, the middle left out: both ends of a series' name count, the
 * benchmark and its last parameter.
 */
export function shorten(text: string, most: number): string {
  const characters = Array.from(text);
  if (characters.length <= most) return text;
  const tail = Math.floor((most - 1) / 2);
  return `${characters.slice(0, most - 1 - tail).join("")}…${characters.slice(characters.length - tail).join("")}`;
}
