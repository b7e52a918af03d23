// From an answer of Prometheus to data frames: what Grafana's server does, and then Grafana's page.
import { createDataFrame, FieldType, renderLegendFormat } from '@grafana/data';

const number = (text) => (text === 'NaN' ? NaN : text === '+Inf' ? Infinity : text === '-Inf' ? -Infinity : Number(text));

// nameOf is the legend of a series.
function nameOf(labels, target) {
  if (target.legendFormat && target.legendFormat !== '__auto') {
    return renderLegendFormat(target.legendFormat, labels);
  }
  const { __name__: name = '', ...others } = labels;
  const pairs = Object.entries(others).map(([key, value]) => `${key}="${value}"`);
  return name || pairs.length ? `${name}${pairs.length ? `{${pairs.join(', ')}}` : ''}` : target.expr;
}

function series(result, target, step) {
  return result.map(({ metric, values }) =>
    createDataFrame({
      refId: target.refId,
      name: nameOf(metric, target),
      fields: [
        { name: 'Time', type: FieldType.time, config: { interval: step * 1000 }, values: values.map(([at]) => at * 1000) },
        {
          name: 'Value',
          type: FieldType.number,
          labels: metric,
          config: { displayNameFromDS: nameOf(metric, target) },
          values: values.map(([, value]) => number(value)),
        },
      ],
    })
  );
}

function table(result, target) {
  const labels = [...new Set(result.flatMap(({ metric }) => Object.keys(metric)))].sort();
  return [
    createDataFrame({
      refId: target.refId,
      fields: [
        { name: 'Time', type: FieldType.time, values: result.map(({ value }) => value[0] * 1000) },
        ...labels.map((label) => ({
          name: label,
          type: FieldType.string,
          config: { filterable: true },
          values: result.map(({ metric }) => metric[label] ?? ''),
        })),
        { name: 'Value', type: FieldType.number, values: result.map(({ value }) => number(value[1])) },
      ],
    }),
  ];
}

async function ask(path, parameters) {
  const response = await fetch(`/api/v1/${path}?${new URLSearchParams(parameters)}`);
  const answer = await response.json();
  if (answer.status !== 'success') {
    throw new Error(answer.error);
  }
  return answer.data;
}

// framesOf are the frames of one query of a panel, over from..to (seconds).
export async function framesOf(target, { from, to, step }) {
  if (target.instant) {
    const { result } = await ask('query', { query: target.expr, time: to });
    return target.format === 'table' ? table(result, target) : series(result.map((r) => ({ ...r, values: [r.value] })), target, step);
  }
  const { result } = await ask('query_range', {
    query: target.expr,
    start: Math.floor(from / step) * step,
    end: Math.floor(to / step) * step,
    step,
  });
  return series(result, target, step);
}

// valuesOf are the values of label_values(SELECTOR, LABEL).
export async function valuesOf(definition) {
  const [, selector, label] = definition.match(/^label_values\((.*), *(\w+)\)$/);
  return ask(`label/${label}/values`, { 'match[]': selector });
}
