/** A minimal SVG writer, for light and dark pages. */

export const WIDTH = 760;
export const HEIGHT = 400;
/** The position of the axes. */
export const FRAME = { left: 78, right: 736, top: 74, bottom: 318 };

/** A background in both color schemes, so that the plot is readable on any page. */
const STYLE = `
  :root { --ground: #ffffff; --ink: #1f2328; --faint: #59636e; --line: #d1d9e0; --one: #0550ae; --two: #bc4c00; --three: #1a7f37; }
  @media (prefers-color-scheme: dark) {
    :root { --ground: #0d1117; --ink: #f0f6fc; --faint: #9198a1; --line: #3d444d; --one: #58a6ff; --two: #f0883e; --three: #3fb950; }
  }
  text { font: 13px system-ui, sans-serif; fill: var(--ink); }
  .title { font-size: 17px; font-weight: 600; }
  .faint { fill: var(--faint); font-size: 12px; }
  .ground { fill: var(--ground); }
  .grid { stroke: var(--line); stroke-width: 1; }
  .limit { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 6 4; fill: none; }
  .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
  .one { stroke: var(--one); } .two { stroke: var(--two); stroke-dasharray: 7 3; } .three { stroke: var(--three); }
  .bar { fill: var(--one); }`;

export type Color = 'one' | 'two' | 'three';

export interface Legend {
  color: Color | 'limit';
  text: string;
}

export interface Drawing {
  title: string;
  /** When and where it was measured. */
  subtitle: string;
  legend: readonly Legend[];
  body: readonly string[];
}

export function drawing({ title, subtitle, legend, body }: Drawing): string {
  const entries = legend.map(({ color, text }, at) => legendEntry(color, text, at, legend.length));
  return svg({ title, style: STYLE, width: WIDTH, height: HEIGHT }, [
    text(FRAME.left, 28, title, { class: 'title' }),
    text(FRAME.left, 50, subtitle, { class: 'faint' }),
    ...body,
    ...entries,
  ]);
}

export interface Page {
  title: string;
  /** With a class `ground` for the background. */
  style: string;
  width: number;
  height: number;
}

export function svg({ title, style, width, height }: Page, body: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">`,
    `<style>${style}\n</style>`,
    `<rect class="ground" width="${width}" height="${height}"/>`,
    ...body,
    '</svg>\n',
  ].join('\n');
}

function legendEntry(color: Legend['color'], label: string, at: number, count: number): string {
  const width = (FRAME.right - FRAME.left) / count;
  const x = FRAME.left + at * width;
  const y = HEIGHT - 20;
  const kind = color === 'limit' ? 'limit' : `line ${color}`;
  return `<path class="${kind}" d="M${x} ${y - 4}h26"/>${text(x + 34, y, label)}`;
}

export function text(x: number, y: number, content: string, attributes: Record<string, string> = {}): string {
  const more = Object.entries(attributes).map(([name, value]) => ` ${name}="${value}"`);
  return `<text x="${short(x)}" y="${short(y)}"${more.join('')}>${escaped(content)}</text>`;
}

export function path(points: readonly (readonly [number, number])[], kind: string): string {
  const steps = points.map(([x, y], at) => `${at === 0 ? 'M' : 'L'}${short(x)} ${short(y)}`);
  return `<path class="${kind}" d="${steps.join('')}"/>`;
}

export function short(value: number): string {
  return `${Number(value.toFixed(1))}`;
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
