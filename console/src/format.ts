/** Numbers, times and sizes for people. */
const whole = new Intl.NumberFormat("en-US");

export function formatCount(value: number): string {
  return whole.format(value);
}

/** Three digits: 1.23 ms, 45.6 s. */
export function formatMs(ms: number): string {
  if (ms < 1000) return `${toThreeDigits(ms)} ms`;
  if (ms < 60_000) return `${toThreeDigits(ms / 1000)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`;
  return `${Math.floor(ms / 3_600_000)} h ${Math.floor((ms % 3_600_000) / 60_000)} min`;
}

function toThreeDigits(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

export function formatSize(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  while (bytes >= 1000 && unit < units.length - 1) {
    bytes /= 1000;
    unit++;
  }
  return `${unit === 0 ? bytes : toThreeDigits(bytes)} ${units[unit]}`;
}

/** Bytes in milliseconds as a rate. */
export function formatRate(bytes: number, ms: number): string {
  return `${formatSize(Math.round(bytes / Math.max(ms, 1e-3)) * 1000)}/s`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

const SHORT: [RegExp, string][] = [
  [/^character varying/, "varchar"],
  [/^character(?=\(|$)/, "char"],
  [/^timestamp(\(\d\))? with time zone/, "timestamptz$1"],
  [/ without time zone/, ""],
  [/^double precision/, "float8"],
];

/** PostgreSQL's own short name of a type. */
export function shortenType(type: string): string {
  return SHORT.reduce((text, [pattern, short]) => text.replace(pattern, short), type);
}
