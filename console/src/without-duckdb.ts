/** In the place of DuckDB's build for browsers, which Mosaic can use and this page does not: the server answers. */
export {};
