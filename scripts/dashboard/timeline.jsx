// A state timeline. Grafana has not published its own: this one is drawn upon its published GraphNG, with the colours
// and texts of its fields.
import { useTheme2, GraphNG, UPlotConfigBuilder, VizLayout, VizLegend } from '@grafana/ui';
import { FieldType, getFieldDisplayName } from '@grafana/data';
import { AxisPlacement, ScaleDirection, ScaleOrientation } from '@grafana/schema';

// runs of equal values, as [from, to] of indices; the last one lasts until the end.
function runs(values, merge) {
  const all = [];
  values.forEach((value, at) => {
    const last = all.at(-1);
    if (value === null || value === undefined) {
      if (last && last.to === undefined) last.to = at;
    } else if (!last || last.to !== undefined || !merge || values[last.from] !== value) {
      if (last) last.to ??= at;
      all.push({ from: at });
    }
  });
  return all;
}

function drawRow(u, field, box, options, theme, times) {
  const ctx = u.ctx;
  const x = (index) => (index === undefined ? u.bbox.left + u.bbox.width : u.valToPos(times[index], 'x', true));
  for (const { from, to } of runs(field.values, options.mergeValues)) {
    const shown = field.display(field.values[from]);
    const left = Math.max(x(from), u.bbox.left);
    const width = x(to) - left;
    ctx.globalAlpha = field.config.custom.fillOpacity / 100;
    ctx.fillStyle = shown.color;
    ctx.fillRect(left, box.top, width, box.height);
    ctx.globalAlpha = 1;
    ctx.fillStyle = theme.colors.getContrastText(shown.color);
    const text = `${shown.prefix ?? ''}${shown.text}${shown.suffix ?? ''}`;
    if (options.showValue !== 'never' && ctx.measureText(text).width + 8 < width) {
      ctx.fillText(text, left + 4, box.top + box.height / 2);
    }
  }
}

function prepConfig(frame, { theme, timeRange, timeZone, options }) {
  const config = new UPlotConfigBuilder(timeZone);
  const rows = frame.fields.slice(1);
  config.addScale({ scaleKey: 'x', isTime: true, orientation: ScaleOrientation.Horizontal, direction: ScaleDirection.Right, range: () => [timeRange.from.valueOf(), timeRange.to.valueOf()] });
  config.addScale({ scaleKey: 'y', isTime: false, orientation: ScaleOrientation.Vertical, direction: ScaleDirection.Up, range: [0, rows.length] });
  config.addAxis({ scaleKey: 'x', isTime: true, placement: AxisPlacement.Bottom, timeZone, theme, grid: { show: true } });
  const middles = rows.map((_, row) => rows.length - row - 0.5);
  config.addAxis({
    scaleKey: 'y',
    placement: AxisPlacement.Left,
    theme,
    grid: { show: false },
    ticks: { show: false },
    splits: middles,
    values: () => rows.map((field) => getFieldDisplayName(field, frame)),
  });
  rows.forEach(() => config.addSeries({ scaleKey: 'y', pathBuilder: () => null, showPoints: 'never', lineWidth: 0, theme }));
  config.addHook('draw', (u) => {
    const height = u.bbox.height / rows.length;
    u.ctx.save();
    u.ctx.font = `${12 * devicePixelRatio}px ${theme.typography.fontFamily}`;
    u.ctx.textBaseline = 'middle';
    u.ctx.textAlign = 'left';
    rows.forEach((field, row) => {
      const used = height * options.rowHeight;
      drawRow(u, field, { top: u.bbox.top + height * row + (height - used) / 2, height: used }, options, theme, frame.fields[0].values);
    });
    u.ctx.restore();
  });
  config.setPrepData(([aligned]) => aligned.fields.map((field) => field.values));
  return config;
}

// legendOf are the texts that occur, with their colours.
export function legendOf(frames) {
  const items = new Map();
  for (const field of frames.flatMap((frame) => frame.fields.filter((f) => f.type === FieldType.number))) {
    for (const value of field.values.filter((v) => v !== null)) {
      const { text, color } = field.display(value);
      items.set(text, { label: text, color, yAxis: 1 });
    }
  }
  return [...items.values()];
}

export function StateTimeline({ frames, options, width, height, timeRange, timeZone }) {
  const theme = useTheme2();
  const legend = options.legend.showLegend && (
    <VizLayout.Legend placement={options.legend.placement}>
      <VizLegend items={legendOf(frames)} placement={options.legend.placement} displayMode={options.legend.displayMode} />
    </VizLayout.Legend>
  );
  return (
    <GraphNG
      theme={theme}
      frames={frames}
      width={width}
      height={height}
      timeRange={timeRange}
      timeZone={timeZone}
      legend={options.legend}
      renderLegend={() => legend}
      prepConfig={(frame) => prepConfig(frame, { theme, timeRange, timeZone, options })}
    />
  );
}
