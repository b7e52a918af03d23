// The panels of a dashboard, drawn by Grafana's components.
import { BigValue, PanelChrome, Table, TimeSeries, VizRepeater, useTheme2 } from '@grafana/ui';
import { FieldType, applyNullInsertThreshold, getDisplayValueAlignmentFactors, getFieldDisplayValues } from '@grafana/data';
import { VizOrientation } from '@grafana/schema';
import { Component } from 'react';
import { StateTimeline } from './timeline.jsx';

function Stat({ frames, fieldConfig, options, width, height, timeZone }) {
  const theme = useTheme2();
  const getValues = () =>
    getFieldDisplayValues({ fieldConfig, reduceOptions: options.reduceOptions, replaceVariables: (text) => text, theme, data: frames, sparkline: options.graphMode !== 'none', timeZone });
  return (
    <VizRepeater
      getValues={getValues}
      getAlignmentFactors={getDisplayValueAlignmentFactors}
      width={width}
      height={height}
      source={frames}
      itemSpacing={3}
      orientation={VizOrientation.Auto}
      renderValue={({ value, alignmentFactors, width, height, count }) => (
        <BigValue value={value.display} sparkline={value.sparkline} count={count} colorMode={options.colorMode} graphMode={options.graphMode}
          textMode={options.textMode} justifyMode="auto" alignmentFactors={alignmentFactors} width={width} height={height} theme={theme} />
      )}
    />
  );
}

// withGaps has a gap where a sample is missing, or no number. Grafana's panels do so before they draw.
const withGaps = (frames, { from, to }) =>
  frames.map((frame) => {
    const filled = applyNullInsertThreshold({ frame, refFieldPseudoMin: from.valueOf(), refFieldPseudoMax: to.valueOf() });
    const finite = (field) => (field.type === FieldType.number ? { ...field, values: field.values.map((v) => (Number.isFinite(v) ? v : null)) } : field);
    return { ...filled, fields: filled.fields.map(finite) };
  });

const Graph = ({ frames, options, timeRange, ...props }) => (
  <TimeSeries frames={withGaps(frames, timeRange)} legend={options.legend} options={options} timeRange={timeRange} {...props} />
);

const Timeline = ({ frames, timeRange, ...props }) => <StateTimeline frames={withGaps(frames, timeRange)} timeRange={timeRange} {...props} />;

const TablePanel = ({ frames, width, height, timeRange, options }) => (
  <Table data={frames[0]} width={width} height={height} timeRange={timeRange} noHeader={!options.showHeader} enableSharedCrosshair={false} />
);

const views = { stat: Stat, timeseries: Graph, 'state-timeline': Timeline, table: TablePanel };

// A panel that cannot be drawn says so, and the others are drawn.
class Boundary extends Component {
  state = {};
  static getDerivedStateFromError(error) {
    return { error };
  }
  componentDidCatch(error) {
    this.props.onError(error);
  }
  render() {
    return this.state.error ? <p>{String(this.state.error)}</p> : this.props.children;
  }
}

const CELL = 30;
const GAP = 8;

// place is where Grafana's grid puts a panel in a page of some width.
export function place({ x, y, w, h }, page) {
  const column = (page - GAP * 23) / 24;
  return { left: x * (column + GAP), top: y * (CELL + GAP), width: w * (column + GAP) - GAP, height: h * (CELL + GAP) - GAP };
}

export function Panel({ panel, data, page, onError }) {
  const { width, height, ...at } = place(panel.gridPos, page);
  const View = views[panel.type];
  return (
    <section data-panel={panel.id} style={{ position: 'absolute', width, height, ...at }}>
      {panel.type === 'row' ? (
        <h6 style={{ margin: 0, lineHeight: `${CELL}px` }}>⌄ {panel.title}</h6>
      ) : (
        <PanelChrome title={panel.title} description={panel.description} width={width} height={height} statusMessage={data.error}>
          {(inWidth, inHeight) => (
            <Boundary onError={onError}>
              {data.frames.length === 0 ? <p>No data</p> : <View {...data} width={inWidth} height={inHeight} />}
            </Boundary>
          )}
        </PanelChrome>
      )}
    </section>
  );
}
