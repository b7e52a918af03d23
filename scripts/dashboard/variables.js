// The variables of a dashboard, and queries with their values, by Grafana's own code of variables.
import { CustomVariable, EmbeddedScene, SceneVariableSet, sceneGraph } from '@grafana/scenes';
import { valuesOf } from './frames.js';

// A value in a regular expression within a string of PromQL. Grafana's data source of Prometheus does so.
const escaped = (value) => String(value).replace(/\\/g, '\\\\\\\\').replace(/[$^*{}[\]+?.()|]/g, '\\\\$&');
const forPrometheus = (value) => (Array.isArray(value) ? (value.length === 1 ? escaped(value[0]) : `(${value.map(escaped).join('|')})`) : escaped(value));

// variable is a choice out of values: what the dashboard says, or all of them by name.
async function variable(definition, values, byName) {
  const v = new CustomVariable({
    name: definition.name,
    isMulti: definition.multi,
    includeAll: definition.includeAll,
    allValue: definition.allValue,
    query: values.map((value) => value.replaceAll(',', '\\,')).join(','),
    value: byName ? values : definition.current.value,
    text: byName ? values : definition.current.text,
  });
  await new Promise((complete, error) => v.validateAndUpdate().subscribe({ complete, error }));
  return v;
}

// Variables are those of a dashboard, with their values in Prometheus.
export class Variables {
  scene = new EmbeddedScene({ $variables: new SceneVariableSet({ variables: [] }), body: undefined });
  values = {};

  // read asks for the values of each, in their order; one may use those before it.
  static async read(dashboard, byName) {
    const all = new Variables();
    for (const definition of dashboard.templating.list) {
      if (definition.type !== 'query') {
        if (definition.type !== 'datasource') throw new Error(`variable ${definition.name}: type ${definition.type} is not known here`);
        continue; // there is one
      }
      const values = await valuesOf(all.interpolate(definition.query.query, {}));
      if (values.length === 0) throw new Error(`variable ${definition.name} has no values`);
      all.values[definition.name] = values;
      const set = all.scene.state.$variables;
      set.setState({ variables: [...set.state.variables, await variable(definition, values, byName)] });
    }
    return all;
  }

  // interpolate fills in a query. Grafana leaves a name that it does not know; here it is a mistake.
  interpolate(query, more) {
    const scoped = Object.fromEntries(Object.entries(more).map(([name, value]) => [name, { text: value, value }]));
    const filled = sceneGraph.interpolate(this.scene, query, scoped, forPrometheus);
    if (/\$\{?\w|\[\[/.test(filled)) throw new Error(`a variable is not known: ${filled}`);
    return filled;
  }
}
