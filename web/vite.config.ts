import { defineConfig, type Plugin } from 'vite';
import { trimCss } from './build/trim-css.ts';

/** Everything lands in files of its own, named by their content: nothing is inline, as the console's policy wants. */
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  publicDir: 'public',
  plugins: [trimStyleSheets()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // What the page is made of goes along with it, with its licences.
    license: { fileName: '.licences.md' },
  },
});

function trimStyleSheets(): Plugin {
  return {
    name: 'sluice-trim-style-sheets',
    enforce: 'post',
    generateBundle(_, bundle) {
      const files = Object.values(bundle);
      const scripts = files.flatMap((file) => (file.type === 'chunk' ? [file.code] : []));
      const sheets = files.flatMap((file) =>
        file.type === 'asset' && file.fileName.endsWith('.css') ? [file] : [],
      );
      for (const sheet of sheets) {
        // A style sheet of a page that is loaded later may use what the first one declares.
        const others = sheets.filter((each) => each !== sheet).map(({ source }) => String(source));
        sheet.source = trimCss(String(sheet.source), [...scripts, ...others]);
      }
    },
  };
}
