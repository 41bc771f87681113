/** Links of all pages lead to files and headings, and the code names pages and headings that exist. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { anchorOf, anchorsOf } from '../../scripts/markdown.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const filesOf = (folder: string, ending: RegExp) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name) && !name.includes('node_modules'))
    .map((name) => join(folder, name));

const PAGES = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  ...filesOf('docs', /\.md$/),
  'worlds/README.md',
];
const CODE = ['src', 'scripts', 'deploy', 'worlds', 'simulator', 'chaos', 'fuzz', 'bench'].flatMap((folder) =>
  filesOf(folder, /\.(ts|mjs|ya?ml|json)$/),
);

/** Code blocks show what is typed, and hold no links. */
const textOf = (page: string) => read(page).replaceAll(/^ *```[\s\S]*?^ *```$/gm, '');

function problemOf(target: string, heading: string | undefined): string | undefined {
  if (!existsSync(join(ROOT, target))) return `no file ${target}`;
  if (heading === undefined || !target.endsWith('.md')) return undefined;
  return anchorsOf(textOf(target)).includes(heading) ? undefined : `no heading ${target}#${heading}`;
}

test('finds the pages', () => {
  expect(PAGES.length).toBeGreaterThan(60);
});

test.each(PAGES)('%s links to files and headings that exist', (page) => {
  const links = [...textOf(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)];
  const problems = links.map(([, file = '', heading]) =>
    problemOf(file === '' ? page : normalize(join(dirname(page), file)), heading),
  );
  expect(problems.filter((problem) => problem !== undefined)).toEqual([]);
});

const PATH =
  /`((?:src|test|worlds|simulator|scripts|deploy|chaos|fuzz|bench|demo|examples|schemas)\/[\w./-]+)`/g;

test('pages name paths that exist', () => {
  const named = PAGES.flatMap((page) => [...read(page).matchAll(PATH)].map(([, path = '']) => path));
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test.each(PAGES)('no two headings of %s have the same anchor', (page) => {
  const anchors = anchorsOf(textOf(page));
  expect(anchors.length).toBe(new Set(anchors).size);
});

test('the code names pages and headings that exist', () => {
  const named = CODE.flatMap((file) => {
    const text = read(file);
    const links = [...text.matchAll(/\b(docs\/)?([a-z-]+\.md)#([\w-]+)/g)].map(
      ([, , page, heading]) => [`docs/${page}`, heading] as const,
    );
    const paths = [...text.matchAll(/\b(docs\/[\w/-]+\.md)\b(?:, ([A-Z][a-z]+(?: [a-z]+)*)(?=['")]))?/g)].map(
      ([, page = '', title]) => [page, title === undefined ? undefined : anchorOf(title)] as const,
    );
    return [...links, ...paths];
  });
  expect(named.length).toBeGreaterThan(100);
  const problems = named.map(([page, heading]) => problemOf(page, heading));
  expect([...new Set(problems.filter((problem) => problem !== undefined))]).toEqual([]);
});
