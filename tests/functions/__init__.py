"""Single expressions, evaluated by PostgreSQL and by the embedded engine, must give the same.

`cases/*.sql` hold one expression list a line; `-- zone NAME` sets the time zone of the lines below it.
"""
