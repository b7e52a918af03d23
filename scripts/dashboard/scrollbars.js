// The package is CommonJS, which esbuild hands to Grafana's modules as a whole, not as its default.
export { Scrollbars as default } from './node_modules/react-custom-scrollbars-2';
