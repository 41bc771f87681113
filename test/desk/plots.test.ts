/** The plots of the desk. */
import { describe, expect, test } from 'vitest';
import { barPlot, withoutStyles } from '../../src/desk/plots.ts';

describe('a plot', () => {
  test('has no inline style, and escapes its names', async () => {
    const plot = await barPlot({
      title: 'A "title"',
      categories: ['<script>', 'b'],
      series: [
        { name: 'One', values: [1, 2] },
        { name: '<Two>', values: [0, 3] },
      ],
    });
    const svg = plot.toString();
    expect(svg).toContain('aria-label="A &quot;title&quot;"');
    expect(svg).toContain('var(--plot-2)');
    expect(svg).toContain('font-size="12px"');
    expect(svg).not.toMatch(/\sstyle=|<style|<script|<Two>|CDATA/);
  });

  test('keeps its text when styles become attributes', () => {
    expect(
      withoutStyles('<g><style >a{}</style><text style="font-size:12px;font-family:a b;" x="1">t</text></g>'),
    ).toBe('<g><text font-size="12px" font-family="a b" x="1">t</text></g>');
  });
});
