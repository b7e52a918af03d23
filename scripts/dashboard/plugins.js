// What each type of panel has where the dashboard says nothing. The panels themselves are in Grafana's server; their
// options and those of the fields are in its schema.
import {
  FieldColorModeId,
  PanelPlugin,
  displayNameOverrideProcessor,
  getValueFormats,
  identityOverrideProcessor,
  numberOverrideProcessor,
  standardEditorsRegistry,
  standardFieldConfigEditorRegistry,
  standardTransformers,
  standardTransformersRegistry,
  stringOverrideProcessor,
  thresholdsOverrideProcessor,
  unitOverrideProcessor,
  valueMappingsOverrideProcessor,
} from '@grafana/data';

const standard = (id, process, more = {}) => ({
  id,
  path: id,
  name: id,
  editor: () => null,
  override: () => null,
  process,
  shouldApply: () => true,
  ...more,
});

export const GREEN_TO_80 = { mode: 'absolute', steps: [{ value: -Infinity, color: 'green' }, { value: 80, color: 'red' }] };

export function register() {
  standardEditorsRegistry.setInit(() => ['number', 'text', 'select', 'boolean', 'color', 'unit', 'slider'].map((id) => ({ id, name: id, editor: () => null })));
  standardFieldConfigEditorRegistry.setInit(() => [
    standard('unit', unitOverrideProcessor),
    standard('min', numberOverrideProcessor),
    standard('max', numberOverrideProcessor),
    standard('fieldMinMax', identityOverrideProcessor),
    standard('decimals', numberOverrideProcessor),
    standard('displayName', displayNameOverrideProcessor),
    standard('noValue', stringOverrideProcessor),
    standard('color', identityOverrideProcessor),
    standard('thresholds', thresholdsOverrideProcessor, { defaultValue: GREEN_TO_80 }),
    standard('mappings', valueMappingsOverrideProcessor, { defaultValue: [] }),
    standard('links', identityOverrideProcessor),
  ]);
  standardTransformersRegistry.setInit(() =>
    [...new Map(Object.values(standardTransformers).map((t) => [t.id, t])).values()].map((transformation) => ({ id: transformation.id, name: transformation.name, transformation, editor: () => null }))
  );
}

// plugin has a color mode and the custom fields with their defaults.
function plugin(id, color, custom = {}) {
  const p = new PanelPlugin(() => null);
  p.meta = { id };
  return p.useFieldConfig({
    standardOptions: { color: { defaultValue: { mode: color } } },
    useCustomConfig: (builder) => {
      for (const [path, defaultValue] of Object.entries(custom)) {
        builder.addCustomEditor({ id: path, path, name: path, defaultValue, editor: () => null, override: () => null, process: identityOverrideProcessor, shouldApply: () => true });
      }
    },
  });
}

export const plugins = {
  stat: () => plugin('stat', FieldColorModeId.Thresholds),
  timeseries: () =>
    plugin('timeseries', FieldColorModeId.PaletteClassic, {
      drawStyle: 'line',
      lineInterpolation: 'linear',
      lineWidth: 1,
      fillOpacity: 0,
      gradientMode: 'none',
      spanNulls: false,
      showPoints: 'auto',
      pointSize: 5,
      barAlignment: 0,
      stacking: { mode: 'none', group: 'A' },
      axisPlacement: 'auto',
      axisLabel: '',
      axisSoftMin: undefined,
      axisSoftMax: undefined,
      axisColorMode: 'text',
      axisBorderShow: false,
      scaleDistribution: { type: 'linear' },
      axisCenteredZero: false,
      hideFrom: { tooltip: false, viz: false, legend: false },
      thresholdsStyle: { mode: 'off' },
    }),
  'state-timeline': () =>
    plugin('state-timeline', 'continuous-GrYlRd', { lineWidth: 0, fillOpacity: 70, spanNulls: false, hideFrom: { tooltip: false, viz: false, legend: false } }),
  table: () => plugin('table', FieldColorModeId.Thresholds, { align: 'auto', cellOptions: { type: 'auto' }, inspect: false, filterable: false }),
};

let units;

// knownUnit: Grafana shows a unit that it does not know as a suffix, without a word.
export function knownUnit(id) {
  units ??= new Set(getValueFormats().flatMap((group) => group.submenu.map((unit) => unit.value)));
  return id === undefined || units.has(id);
}
