"""httpd 2.4's expression language (ap_expr), and the SSI conditions of 2.2.  Manual: expr.html.

Public: api.{compile_condition, compile_string, CompiledCondition, StringExpr}, ssi.SsiCondition,
view.View, errors.{ExprError, EvalError}.
lexer, lalr, parser and compiler are internal; modules add variables and functions as providers.
Must not import: config, http, engine, modules.
"""
