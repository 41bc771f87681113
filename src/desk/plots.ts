/** Small bar plots as SVG, rendered without a DOM. A table beside each has the same numbers. */
import { raw } from 'hono/html';
import { type Html, html } from './html.ts';

export interface Bars {
  /** Names the plot for screen readers. */
  title: string;
  /** One bar for each. */
  categories: readonly string[];
  /** Parts of the bars, one upon the other. `values` has one number for each category. */
  series: readonly { name: string; values: readonly number[] }[];
}

const WIDTH = 480;
const BAR_HEIGHT = 34;
const AXIS_HEIGHT = 40;
const LEGEND_HEIGHT = 24;
/** Defined in the stylesheet, for light and dark. */
const INK = 'var(--ink)';
const LINE = 'var(--line)';
const COLORS = ['var(--plot-1)', 'var(--plot-2)', 'var(--plot-3)', 'var(--plot-4)'];

export async function barPlot({ title, categories, series }: Bars): Promise<Html> {
  const echarts = await loaded();
  const top = series.length > 1 ? LEGEND_HEIGHT : 8;
  const height = top + categories.length * BAR_HEIGHT + AXIS_HEIGHT;
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height });
  try {
    chart.setOption({
      animation: false,
      color: COLORS,
      textStyle: { color: INK },
      grid: { left: 8, right: 24, top, bottom: 8 },
      legend: { show: series.length > 1, left: 0, top: 0, itemHeight: 10, textStyle: { color: INK } },
      xAxis: {
        type: 'value',
        minInterval: 1,
        axisLabel: { color: INK },
        splitLine: { lineStyle: { color: LINE } },
      },
      yAxis: {
        type: 'category',
        inverse: true,
        data: [...categories],
        axisLabel: { color: INK },
        axisLine: { lineStyle: { color: LINE } },
        axisTick: { show: false },
      },
      series: series.map(({ name, values }) => ({
        name,
        type: 'bar',
        stack: 'all',
        silent: true,
        barMaxWidth: 20,
        data: [...values],
      })),
    });
    const svg = withoutStyles(chart.renderToSVGString());
    return html`<div class="plot" role="img" aria-label="${title}">${raw(svg)}</div>`;
  } finally {
    chart.dispose();
  }
}

/** Loads the library, which takes a second of CPU time: before the server listens, so that no request waits for it. */
export async function loadPlots(): Promise<void> {
  await loaded();
}

/** Not with this module: a server without a desk does not need the memory. */
async function loaded() {
  const [echarts, { BarChart }, { GridComponent, LegendComponent }, { SVGRenderer }] = await Promise.all([
    import('echarts/core'),
    import('echarts/charts'),
    import('echarts/components'),
    import('echarts/renderers'),
  ]);
  echarts.use([BarChart, GridComponent, LegendComponent, SVGRenderer]);
  return echarts;
}

/**
 * The policy of the pages forbids inline styles. All that ECharts sets with them are presentation attributes of SVG, and
 * rules for hovering.
 */
export function withoutStyles(svg: string): string {
  return svg
    .replace(/<style\b[^>]*>[\s\S]*?<\/style>/g, '')
    .replace(/\sstyle="([^"]*)"/g, (_all, style: string) =>
      style
        .split(';')
        .map((declaration) => /^\s*([a-z-]+)\s*:\s*(.+?)\s*$/.exec(declaration))
        .map((found) => (found ? ` ${found[1]}="${found[2]}"` : ''))
        .join(''),
    );
}
