import { defineConfig } from "vite";

// `GPUDB_CONSOLE_SERVER=http://127.0.0.1:PORT npm run dev` serves the sources, and asks that server.
const server = process.env.GPUDB_CONSOLE_SERVER;

export default defineConfig({
  base: "/console/",
  resolve: { alias: { "@duckdb/duckdb-wasm": new URL("src/without-duckdb.ts", import.meta.url).pathname } },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../gpudb/server/http/console/static",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    license: { fileName: "licenses.md" },
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1500,
  },
  server: server
    ? {
        proxy: {
          "/console/api": {
            target: server,
            changeOrigin: true,
            configure: (proxy) => proxy.on("proxyReq", (request) => request.removeHeader("origin")),
          },
        },
      }
    : {},
});
