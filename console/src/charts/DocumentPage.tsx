export default function Later(_: Record<string, unknown>) { return null; }
