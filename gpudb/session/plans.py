"""Plans of a session's statements: found once where a statement begins, else bound, then checked and authorised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter

from gpudb.errors import GpudbError, SqlError
from gpudb.functions.carried import LAYOUT, WIDE, bind_in_layout, layout_failure
from gpudb.session.authorization.authorize import authorize_for_cache
from gpudb.session.context import Context, Dispatcher, SessionState
from gpudb.session.execution.binding.binding import bind_statement
from gpudb.session.execution.binding.literal_rows import find_frame, read_literal_rows
from gpudb.session.execution.binding.wide_parameters import wide_parameters
from gpudb.session.execution.queries.constant_checks import check_statement_constants
from gpudb.session.execution.session_calls import has_session_calls
from gpudb.session.plan_cache import Key, Plan, PlanCache
from gpudb.session.results import statement_columns
from gpudb.session.settings.catalog import FRIENDLY
from gpudb.sql.bind.base import Binder
from gpudb.sql.bound import Statement
from gpudb.sql.parse.literal_rows import LiteralRows
from gpudb.sql.parse.parser import RawStatement, parameter_position
from gpudb.sql.traverse import iter_queries
from gpudb.types import CARRIED_SCALE, SqlType
from gpudb.values.datetime_style import follow_settings, parse_style

_MOST_RECENT = 64
"""Plans that a session finds without asking the cache, as long as definitions and settings stay the same."""


class Plans:
    """Finds, binds and checks the plans of a session's statements."""

    def __init__(self, session: SessionState, cache: PlanCache, dispatcher: Dispatcher) -> None:
        self._session, self._cache, self._dispatcher = session, cache, dispatcher
        self._recent: dict[tuple[str, tuple[int, ...]], Plan] = {}
        self._recent_of: tuple[object, ...] = ()

    def find(self, text: str, oids: tuple[int, ...] = ()) -> Plan | None:
        """Returns the plan of a text from the cache, in the layout that is current; None if it has to be bound."""
        session = self._session
        if session.frames:
            return None
        layout = LAYOUT.get()
        scale = CARRIED_SCALE if layout is None else layout.scale
        identity, version = session.identity, session.transactions.catalog.version
        state = version, session.settings.version, identity.definer, scale
        if self._recent_of != state or len(self._recent) > _MOST_RECENT:
            self._recent_of, self._recent = state, {}
        plan = self._recent.get((text, oids))
        if plan is None:
            plan = self._cache.get(self._key(text, oids, scale))
            if plan is not None:
                self._recent[text, oids] = plan
        if plan is None or plan.scale is None or layout is None or layout.tried:
            return plan
        layout.scale = plan.scale
        return self._cache.get(self._key(text, oids, layout.scale))

    def find_for_rows(self, rows: LiteralRows) -> Plan | None:
        """Returns the plan of an INSERT of literal rows, which it reads; None if they have to be bound."""
        plan = self.find(rows.shape)
        follow_settings(self._session.settings)  # dates are read in the session's style
        if plan is None or not read_literal_rows(rows, plan.bound, self._session.settings["timezone"]):
            return None
        return plan

    def find_for_statement(self, statement: RawStatement, oids: tuple[int, ...]) -> Plan | None:
        """Returns the plan of a statement from the cache; None if it has to be bound."""
        if statement.rows is not None and (plan := self.find_for_rows(statement.rows)) is not None:
            return plan
        return self.find(statement.text, oids)

    def get(self, context: Context) -> Plan:
        """Returns the plan of a context's statement, which the current role may run."""
        wide = wide_parameters(context.parameters) if context.parameters else None
        plan = context.plan
        if plan is None or wide or not self._is_current(context, plan):
            plan = self.bind(context, context.parameter_oids, wide)
        return self._check(context, plan)

    def _is_current(self, context: Context, plan: Plan) -> bool:
        """Whether the plan that was found where a statement began is its own, of its catalog now, and of its layout.

        Contexts of statements within it, such as those of a routine's body, are made without its plan.
        """
        if plan.statement.node is not context.statement.node:
            return False
        layout = LAYOUT.get()
        has_layout = layout is None or (plan.scale is None and layout.scale == CARRIED_SCALE)
        return has_layout and plan.catalog_version == context.transaction.catalog.version

    def bind(
        self,
        context: Context,
        oids: tuple[int, ...],
        wide: Mapping[int, SqlType] | None = None,
        *,
        describing: bool = False,
    ) -> Plan:
        """Binds the statement of a context, or returns its plan from the cache; `wide` are types of parameters."""
        session, text = self._session, context.statement.text
        cacheable = self._is_cacheable(context, wide)
        if cacheable and (plan := self.find_for_statement(context.statement, oids)) is not None:
            return plan
        started = perf_counter()
        outer = LAYOUT.get()
        with bind_in_layout() as layout:
            try:
                binder, bound = self._bind(context, oids, wide, describing=describing)
            except GpudbError as error:
                if layout.scale == WIDE or not layout.used or not layout_failure(error):
                    raise
                # A constant has room in the wide form alone
                layout.scale = WIDE
                if outer is not None:
                    outer.scale = WIDE
                binder, bound = self._bind(context, oids, wide, describing=describing)
        if cacheable and binder.reads_files:
            bound = self._cache.reuse(self._key(text, oids, layout.scale), bound)
        drawing = any(has_session_calls(query) for query in iter_queries(bound))
        parameters, columns = binder.get_parameter_types(), statement_columns(bound)
        statement, is_shape = context.statement, find_frame(bound) is not None
        if is_shape and statement.rows is not None:
            text, statement = statement.rows.shape, statement.without_rows()
        plan = Plan(statement, bound, parameters, columns, drawing, accesses=binder.accesses)
        plan.catalog_version = session.transactions.catalog.version
        plan.uses_layout = layout.used
        plan.row_locks = tuple(binder.row_locks or ())
        session.measures["bind"] = session.measures.get("bind", 0.0) + perf_counter() - started
        if cacheable and binder.cacheable:
            self._cache.put(self._key(text, oids, layout.scale), plan)
        return plan

    def _bind(
        self, context: Context, oids: tuple[int, ...], wide: Mapping[int, SqlType] | None, *, describing: bool
    ) -> tuple[Binder, Statement]:
        """Binds the statement of a context by a binder of its own."""
        binder = context.binder(describing=describing)
        binder.declare_parameters(oids, wide)
        binder.row_locks = []
        return binder, bind_statement(binder, context.statement)

    def _is_cacheable(self, context: Context, wide: Mapping[int, SqlType] | None) -> bool:
        statement = context.statement
        # The text of a part is not its own, and that within EXECUTE DIRECT means another statement by itself.
        has_own_text = not statement.part and statement.direct_node is None
        return has_own_text and not self._session.frames and context.arguments is None and not wide

    def _key(self, text: str, oids: tuple[int, ...], scale: int = CARRIED_SCALE) -> Key:
        session = self._session
        catalog, path = session.transactions.catalog, session.search_path()
        if session.temporary_schema not in catalog.schemas:
            # Without temporary tables, sessions share the plan.
            path = path[1:] if path[0] == session.temporary_schema else path
        style = parse_style(session.settings["datestyle"], session.settings["intervalstyle"])
        friendly = session.settings[FRIENDLY] == "on"
        return Key(text, catalog.version, path, session.settings["timezone"], style, oids, scale, friendly)

    def _check(self, context: Context, plan: Plan) -> Plan:
        """Checks a plan against the parameters of a context, and its constants if this is its first run."""
        session = self._session
        if len(plan.parameters) > len(context.parameters):
            number = len(context.parameters) + 1
            error = SqlError.of("undefined_parameter", f"there is no parameter ${number}")
            raise error.at(parameter_position(context.statement.text, number))
        if plan.uses_layout and (layout := LAYOUT.get()) is not None:
            layout.used = True
        if not plan.checked:
            check_statement_constants(context, plan.bound)
            plan.checked = True
        session.transactions.bound_statements += 1
        session.accesses = plan.accesses
        context.transaction.keeps_places |= bool(plan.accesses.addressed)
        # The plan belongs to one version of the catalog, so what a role may do with it does not change
        allowed = self._authorize(context, plan)
        context.session_calls = allowed.session_calls
        if allowed.row_locks and context.statement.kind != "ExplainStmt":
            context.check_writable(f"SELECT {allowed.row_locks[0].clause}")
        return allowed

    def _authorize(self, context: Context, plan: Plan) -> Plan:
        """Returns the plan of a statement that the current role may run, and remembers it; 42501."""
        key = self._session.user, self._session.settings["row_security"]
        known = plan.authorized.get(key)
        if known is not None:
            return known
        bound, cacheable = authorize_for_cache(context, plan.bound, plan.accesses)
        result = plan
        if bound is not plan.bound:
            drawing = any(has_session_calls(query) for query in iter_queries(bound))
            result = replace(plan, bound=bound, session_calls=drawing)
        if cacheable:
            plan.authorized[key] = result
        return result

    def remember_scale(self, context: Context, scale: int) -> None:
        """Lets a statement begin in another layout when it runs again."""
        plan = self._cache.get(self._key(context.statement.text, context.parameter_oids))
        if plan is not None:
            plan.scale = scale if scale != CARRIED_SCALE else None
