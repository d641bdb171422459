/** Fields for the parameters $1, $2, … of the tab's text. */
import { countParameters } from "./statements";
import type { Tab } from "./work";

export function Parameters({ tab }: { tab: Tab }) {
  const count = countParameters(tab.text.value);
  if (!count) return null;
  const set = (index: number, value: string | null) => {
    const values = Array.from({ length: Math.max(count, tab.parameters.value.length) }, (_, at) => tab.parameters.value[at] ?? null);
    values[index] = value;
    tab.parameters.value = values;
  };
  return (
    <fieldset class="parameters">
      <legend class="hidden">Parameters</legend>
      {Array.from({ length: count }, (_, index) => (
        <label key={index}>
          <code>${index + 1}</code>
          <input placeholder="NULL" value={tab.parameters.value[index] ?? ""} onInput={(event) => set(index, event.currentTarget.value)} />
          {tab.parameters.value[index] != null && <button type="button" class="link" onClick={() => set(index, null)}>NULL</button>}
        </label>
      ))}
    </fieldset>
  );
}
