/** In the place of DuckDB's build for browsers, which Mosaic can use and this page does not: the server answers. */
const absent = (): never => {
  throw new Error("this page has no database of its own");
};

export { absent as AsyncDuckDB, absent as ConsoleLogger, absent as getJsDelivrBundles, absent as selectBundle, absent as VoidLogger };
