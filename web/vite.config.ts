import { defineConfig } from 'vite';

/** Everything lands in files of its own, named by their content: nothing is inline, as the console's policy wants. */
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  publicDir: 'public',
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    // What the page is made of goes along with it, with its licences.
    license: { fileName: '.licences.md' },
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
