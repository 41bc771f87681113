/** Text in the encodings in which spreadsheets save files, for which Node has decoders only. */

/** The bytes of each character of an encoding with one or two bytes for each. */
function tableOf(encoding: string): ReadonlyMap<string, Buffer> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  const table = new Map<string, Buffer>();
  const add = (...bytes: number[]) => {
    try {
      const text = decoder.decode(Buffer.from(bytes));
      if ([...text].length === 1 && !table.has(text)) table.set(text, Buffer.from(bytes));
    } catch {
      // These bytes are no character.
    }
  };
  for (let first = 0; first < 256; first += 1) {
    add(first);
    if (first >= 0x80) for (let second = 0x40; second < 256; second += 1) add(first, second);
  }
  return table;
}

/** Throws for a character that the encoding lacks. */
export function encoded(text: string, encoding: string): Buffer {
  if (encoding === 'utf-16le') return Buffer.from(text, 'utf16le');
  if (encoding === 'utf-16be') return Buffer.from(text, 'utf16le').swap16();
  if (encoding === 'utf-8') return Buffer.from(text);
  const table = tableOf(encoding);
  return Buffer.concat(
    [...text].map((char) => {
      const bytes = table.get(char);
      if (!bytes) throw new Error(`${encoding} has no ${char}`);
      return bytes;
    }),
  );
}
