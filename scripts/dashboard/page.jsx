// The page: reads the dashboard, asks Prometheus, draws each panel, and leaves in window.report what each shows.
import { FieldType, ThemeContext, applyFieldOverrides, createTheme, dateTime, getFieldDisplayName, getPanelOptionsWithDefaults, formattedValueToString, rangeUtil, transformDataFrame } from '@grafana/data';
import { GlobalStyles } from '@grafana/ui';
import { createRoot } from 'react-dom/client';
import { firstValueFrom } from 'rxjs';
import { framesOf } from './frames.js';
import { Panel, place } from './panels.jsx';
import { knownUnit, plugins, register } from './plugins.js';
import { Variables } from './variables.js';

const WIDTH = 1408;
const theme = createTheme({ colors: { mode: 'dark' } });
const timeZone = 'utc';

// stepOf is the interval of the queries of a panel that is so wide, and the range of their rates.
function stepOf(settings, width) {
  const scrape = rangeUtil.intervalToSeconds(settings.scrapeInterval);
  const range = { from: dateTime(settings.from), to: dateTime(settings.to) };
  const step = Math.max(rangeUtil.calculateInterval(range, Math.floor(width), settings.scrapeInterval).intervalMs / 1000, scrape);
  return { step, rate: `${Math.max(step + scrape, 4 * scrape)}s` };
}

// read has the frames of a panel, with its field config applied.
async function read(panel, settings, variables) {
  const { width } = place(panel.gridPos, WIDTH);
  const { step, rate } = stepOf(settings, width);
  const timeRange = { from: dateTime(settings.from), to: dateTime(settings.to) };
  timeRange.raw = { ...timeRange };
  const queried = await Promise.all(
    panel.targets.map((target) => framesOf({ ...target, expr: variables.interpolate(target.expr, { __rate_interval: rate }) }, { from: settings.from / 1000, to: settings.to / 1000, step }))
  );
  const plugin = plugins[panel.type]();
  const { options, fieldConfig } = getPanelOptionsWithDefaults({ plugin, currentOptions: panel.options, currentFieldConfig: panel.fieldConfig, isAfterPluginChange: false });
  const transformed = await firstValueFrom(transformDataFrame(panel.transformations ?? [], queried.flat(), { interpolate: (text) => text }));
  const frames = applyFieldOverrides({ data: transformed, fieldConfig, fieldConfigRegistry: plugin.fieldConfigRegistry, replaceVariables: (text) => text, theme, timeZone });
  return { frames, queried: queried.map((f) => f.length), fieldConfig, options, timeRange, timeZone };
}

const values = (data) => data.frames.flatMap((frame) => frame.fields.filter((f) => f.type !== FieldType.time).flatMap((f) => f.values));

// painted is how many pixels of a panel's canvases have a colour: axes and texts are grey.
const painted = (section) =>
  [...section.querySelectorAll('canvas')].reduce((sum, canvas) => {
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    let n = 0;
    for (let i = 0; i < pixels.length; i += 4) n += pixels[i + 3] > 0 && Math.max(pixels[i], pixels[i + 1], pixels[i + 2]) - Math.min(pixels[i], pixels[i + 1], pixels[i + 2]) > 60;
    return sum + n;
  }, 0);

// seriesOf a panel: name, and the last value as Grafana would write it.
const seriesOf = (data) =>
  data.frames.flatMap((frame) =>
    frame.fields
      .filter((field) => field.type === FieldType.number)
      .map((field) => ({ name: getFieldDisplayName(field, frame, data.frames), last: formattedValueToString(field.display(field.values.at(-1))), points: field.values.length }))
  );

function tell(panel, data, errors) {
  const section = document.querySelector(`[data-panel="${panel.id}"]`);
  const units = [panel.fieldConfig.defaults.unit, ...panel.fieldConfig.overrides.flatMap((o) => o.properties.filter((p) => p.id === 'unit').map((p) => p.value))];
  return {
    id: panel.id,
    type: panel.type,
    title: panel.title,
    errors: [...errors, ...units.filter((unit) => !knownUnit(unit)).map((unit) => `unit ${unit} is not known`)],
    queried: data.queried ?? [],
    numbers: values(data).filter((v) => v !== null && v !== undefined && !Number.isNaN(v)).length,
    series: seriesOf(data),
    painted: painted(section),
    text: section.innerText,
  };
}

const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));

async function json(path) {
  return (await fetch(path)).json();
}

async function main() {
  register();
  const [dashboard, settings] = await Promise.all([json('/dashboard.json'), json('/settings.json')]);
  const variables = await Variables.read(dashboard, false);
  const byName = await Variables.read(dashboard, true);
  const panels = dashboard.panels.filter((p) => p.type !== 'row');
  const data = {};
  const errors = Object.fromEntries(panels.map((p) => [p.id, []]));
  for (const panel of panels) {
    data[panel.id] = { frames: [] };
    try {
      if (!plugins[panel.type]) throw new Error(`type ${panel.type} is not known`);
      data[panel.id] = await read(panel, settings, variables);
      const same = await read(panel, settings, byName);
      const ties = panel.targets.some((target) => target.expr.startsWith('topk(')); // are decided by chance
      if (!ties && String(same.queried) !== String(data[panel.id].queried)) {
        throw new Error(`all of each variable: ${data[panel.id].queried} series; each by name: ${same.queried}`);
      }
    } catch (error) {
      data[panel.id].error = String(error);
      errors[panel.id].push(String(error));
    }
  }
  const bottom = Math.max(...dashboard.panels.map((p) => { const at = place(p.gridPos, WIDTH); return at.top + at.height; }));
  createRoot(document.getElementById('root')).render(
    <ThemeContext.Provider value={theme}>
      <GlobalStyles hackNoBackdropBlur={false} />
      <main style={{ padding: 16, background: theme.colors.background.canvas }}>
        <div style={{ position: 'relative', width: WIDTH, height: bottom }}>
          {dashboard.panels.map((panel) => (
            <Panel key={panel.id} panel={panel} data={data[panel.id] ?? {}} page={WIDTH} onError={(error) => errors[panel.id].push(String(error))} />
          ))}
        </div>
      </main>
    </ThemeContext.Provider>
  );
  await document.fonts.ready;
  for (let n = 0; n < 10; n++) await frame(); // the canvases are drawn after the page
  window.report = { variables: byName.values, panels: panels.map((p) => tell(p, data[p.id], errors[p.id])) };
}

main().catch((error) => {
  console.error(error.stack || String(error));
  window.report = { panels: [] };
});
