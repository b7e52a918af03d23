// Draws a dashboard in headless Chromium with the components that Grafana publishes, and tells what it shows.
//
//   node render.mjs DASHBOARD PROMETHEUS OUT
//
// Leaves OUT/dashboard.png and OUT/report.json. Fails if the page itself had an error; what the panels show is
// for the caller to judge. Takes settings from the environment: CHROMIUM (the program), SCRAPE_INTERVAL (as in
// the data source's settings), FROM and TO (milliseconds since 1970).
import { build } from 'esbuild';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';

const [dashboard, prometheus, out] = process.argv.slice(2);
if (!out) {
  console.error('usage: node render.mjs DASHBOARD PROMETHEUS OUT');
  process.exit(2);
}
const here = path.dirname(fileURLToPath(import.meta.url));
const PATIENCE = 240_000; // on a machine that is busy with other things
const FONTS = '/usr/share/fonts/opentype/inter'; // of Debian's fonts-inter; Grafana has its own copy
const settings = {
  scrapeInterval: process.env.SCRAPE_INTERVAL || '15s',
  from: Number(process.env.FROM || Date.now() - 3600_000),
  to: Number(process.env.TO || Date.now()),
};

// bundle is the page with the code of Grafana that it needs. What Grafana loads only when somebody asks for it
// (editors, maps) has files of its own, and stays unread.
async function bundle() {
  const { outputFiles } = await build({
    entryPoints: [path.join(here, 'page.jsx')],
    bundle: true,
    splitting: true,
    minify: true, // half the time to parse
    write: false,
    outdir: '/',
    format: 'esm',
    jsx: 'automatic',
    logLevel: 'error',
    define: { 'process.env.NODE_ENV': '"production"', global: 'window' },
    alias: { 'react-custom-scrollbars-2': path.join(here, 'scrollbars.js') },
    loader: { '.svg': 'dataurl', '.png': 'dataurl', '.ttf': 'empty', '.woff': 'empty', '.woff2': 'empty' },
  });
  const types = { '.js': 'text/javascript', '.css': 'text/css' };
  return Object.fromEntries(outputFiles.map((file) => [file.path, [types[path.extname(file.path)], file.text]]));
}

const html = `<!doctype html><meta charset="utf-8"><title>dashboard</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="/page.css">
<body><div id="root"></div><script type="module" src="/page.js"></script>`;

// The page and its data have one address, as with Grafana's server.
async function serve() {
  const files = {
    '/page.css': ['text/css', ''],
    ...(await bundle()),
    '/': ['text/html', html],
    '/dashboard.json': ['application/json', await readFile(dashboard, 'utf8')],
    '/settings.json': ['application/json', JSON.stringify(settings)],
  };
  const icons = path.join(here, 'node_modules/@grafana/ui/dist/public/img/icons');
  const answer = async (url) => {
    if (files[url.pathname]) {
      return [200, ...files[url.pathname]];
    }
    if (url.pathname.startsWith('/api/v1/')) {
      const got = await fetch(prometheus + url.pathname + url.search);
      return [got.status, 'application/json', await got.text()];
    }
    const icon = url.pathname.match(/\/icons\/(\w+\/[\w-]+\.svg)$/);
    if (icon) {
      return [200, 'image/svg+xml', await readFile(path.join(icons, icon[1]))];
    }
    const font = url.pathname.match(/\/fonts\/inter\/(Inter-\w+)\.woff2$/);
    if (font) {
      return [200, 'font/otf', await readFile(`${FONTS}/${font[1]}.otf`)]; // the browser looks at what is in it
    }
    return [404, 'text/plain', 'not here'];
  };
  const server = createServer((request, response) => {
    answer(new URL(request.url, 'http://here'))
      .catch((error) => [500, 'text/plain', String(error)])
      .then(([status, type, body]) => response.writeHead(status, { 'content-type': type }).end(body));
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  return server;
}

async function look(url) {
  const browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--force-color-profile=srgb'],
    protocolTimeout: PATIENCE,
    timeout: PATIENCE,
  });
  try {
    const page = await browser.newPage();
    const errors = [];
    page.on('pageerror', (error) => errors.push(String(error)));
    const expected = /^window\.grafanaBootData was not set/; // by Grafana's server, which there is none of
    page.on('console', (said) => said.type() === 'error' && !expected.test(said.text()) && errors.push(said.text()));
    page.on('response', (got) => got.status() >= 400 && errors.push(`${got.status()} ${got.url()}`));
    await page.setViewport({ width: 1440, height: 900 });
    await page.emulateTimezone('UTC');
    await page.goto(url, { timeout: PATIENCE });
    await page.waitForFunction('window.report', { timeout: PATIENCE }).catch((error) => errors.push(String(error)));
    const report = (await page.evaluate('window.report')) || { panels: [] };
    await page.screenshot({ path: path.join(out, 'dashboard.png'), fullPage: true });
    return { ...report, errors };
  } finally {
    await browser.close();
  }
}

const server = await serve();
try {
  const report = await look(`http://127.0.0.1:${server.address().port}/`);
  await writeFile(path.join(out, 'report.json'), JSON.stringify(report, null, 2) + '\n');
  if (report.errors.length > 0) {
    console.error(report.errors.join('\n'));
    process.exitCode = 1;
  }
} finally {
  server.close();
  server.closeAllConnections();
}
