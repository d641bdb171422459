"""Single expressions, evaluated by PostgreSQL and by the embedded engine, which must agree.

`cases/*.sql` hold one expression list a line; `-- zone NAME` sets the time zone of the lines below it.
"""
