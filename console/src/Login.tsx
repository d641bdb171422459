/** The form that asks for role and password. */
import { useState } from "preact/hooks";
import { login } from "./api";
import { readKept, explain, keep } from "./state";
import { Button } from "./ui/parts";

export function Login() {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const data = new FormData(event.target as HTMLFormElement);
    const user = String(data.get("user"));
    setBusy(true);
    setProblem("");
    try {
      await login(user, String(data.get("password")));
      keep("user", user);
    } catch (error) {
      setProblem(explain(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="login">
      <form onSubmit={submit}>
        <img src="./icon.svg" alt="" width="44" height="44" />
        <h1>gpudb</h1>
        <p class="soft">Log in with a role of the database.</p>
        <label>Role<input name="user" autocomplete="username" required defaultValue={readKept("user", "gpudb")} spellcheck={false} autocapitalize="none" /></label>
        <label>Password<input name="password" type="password" autocomplete="current-password" autofocus /></label>
        {problem && <p class="problem" role="alert">{problem}</p>}
        <Button kind="primary" type="submit" disabled={busy}>{busy ? "Logging in…" : "Log in"}</Button>
      </form>
    </main>
  );
}
